//! When a member can be opened.

use super::*;
use crate::Origin;

fn member(status: RunStatus) -> MemberView {
    MemberView {
        seq: 1,
        label: "l".into(),
        child_id: "child".into(),
        status,
    }
}

fn row() -> ListedSession {
    ListedSession {
        id: "child".into(),
        parent: Some("parent".into()),
        origin: Origin::Subagent,
        running: true,
    }
}

#[track_caller]
fn check(member: &MemberView, row: Option<&ListedSession>, expected: bool) {
    assert_eq!(member.is_link(&"parent".into(), row), expected, "{member:?} {row:?}");
}

#[test]
fn g58_a_running_member_is_a_link_while_its_row_says_it_runs_for_this_session() {
    check(&member(Running), Some(&row()), true);
}

#[test]
fn g58_without_a_row_in_the_list_it_is_none() {
    check(&member(Running), None, false);
}

#[test]
fn g58_the_row_of_another_session_does_not_count() {
    let id = "other".into();
    check(&member(Running), Some(&ListedSession { id, ..row() }), false);
}

#[test]
fn g58_a_row_of_another_origin_does_not_count() {
    let origin = Origin::User;
    check(&member(Running), Some(&ListedSession { origin, ..row() }), false);
}

#[test]
fn g58_a_row_under_another_parent_or_none_does_not_count() {
    for parent in [None, Some("child".into()), Some("other".into())] {
        check(&member(Running), Some(&ListedSession { parent, ..row() }), false);
    }
}

#[test]
fn g58_a_row_that_does_not_run_does_not_count() {
    let running = false;
    check(&member(Running), Some(&ListedSession { running, ..row() }), false);
}

#[test]
fn g58_a_settled_member_is_none() {
    for status in [Completed, Failed, Cancelled, Interrupted] {
        check(&member(status), Some(&row()), false);
    }
}
