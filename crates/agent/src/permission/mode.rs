//! The four modes.

use std::fmt;

use weft_tools::{Access, Decision, ProposedCall};

use super::rules::Ruling;

/// What becomes of calls that [carry a risk](Access::is_risky) and of which no rule says anything. All others are
/// allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// The agent looks and plans: the user is asked about looking outside of the session's folders and about fetching,
    /// all else is denied, whatever is allowed by rules.
    Plan,
    /// The user is asked.
    #[default]
    Ask,
    /// Changes of files in the session's folders are allowed, the user is asked about the rest.
    AcceptEdits,
    /// They are allowed, and nothing is asked. Only rules that deny hold.
    Full,
}

impl PermissionMode {
    /// Every mode, from the strictest to the most lenient.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::AcceptEdits, Self::Full];

    /// The mode's name in configuration, logs and protocols.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Full => "full",
        }
    }

    /// The mode of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// What becomes of a call of which the rules say this.
    pub(super) fn decide(self, call: &ProposedCall<'_>, ruling: &Ruling) -> Decision {
        if let Ruling::Denied(rule) = ruling {
            let reason = format!("the rule `{rule}` denies it");
            return Decision::Deny { reason };
        }
        if call.is_approved {
            // The mode is a word about calls in general, the user's answer one about this very call.
            return Decision::Allow;
        }
        match (self, ruling) {
            (Self::Plan, _) if is_for_doing(call.access) => Decision::Deny {
                reason: format!("{} is not for planning; the user chose the mode plan", call.name),
            },
            (_, Ruling::Unclear) => Decision::Ask,
            (Self::Full, _) => Decision::Allow,
            (_, Ruling::Asked) => Decision::Ask,
            _ if call.access.caution().is_some() => Decision::Ask,
            (_, Ruling::Allowed) => Decision::Allow,
            _ if !call.access.is_risky() => Decision::Allow,
            (Self::AcceptEdits, _) if stays_inside(call.access) => Decision::Allow,
            _ => Decision::Ask,
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the call is for more than looking.
fn is_for_doing(access: &Access) -> bool {
    match access {
        // What a script starts has the mode that it was started in.
        Access::Harmless | Access::Read(_) | Access::Fetch { .. } | Access::Script(_) => false,
        Access::Edit(_) | Access::Execute(_) | Access::Other => true,
    }
}

/// Whether it changes files of the session's folders and no others.
fn stays_inside(access: &Access) -> bool {
    matches!(access, Access::Edit(places) if places.iter().all(|place| place.is_inside))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use weft_tools::{AccessCommand, AccessPath, AccessScript};

    use super::*;

    fn place(is_inside: bool, caution: bool) -> Vec<AccessPath> {
        vec![AccessPath {
            path: "/x".into(),
            shown: "x".into(),
            is_inside,
            caution: caution.then(|| "git runs it".to_owned()),
        }]
    }

    fn script() -> Access {
        Access::Script(AccessScript {
            name: "demo".into(),
            about: Vec::new(),
            text: "return 1".into(),
            digest: "sha256:0".into(),
        })
    }

    fn command(caution: bool) -> Access {
        Access::Execute(AccessCommand {
            text: "ls".into(),
            parts: None,
            caution: caution.then(|| "it changes a file that git runs".to_owned()),
        })
    }

    fn word(mode: PermissionMode, access: &Access, ruling: &Ruling, is_approved: bool) -> char {
        let call = ProposedCall {
            name: "tool",
            arguments: &Value::Null,
            access,
            is_approved,
        };
        match mode.decide(&call, ruling) {
            Decision::Allow => '+',
            Decision::Ask => '?',
            Decision::Deny { .. } => '-',
        }
    }

    /// What the modes plan, ask, accept-edits and full make of it, one letter each.
    #[track_caller]
    fn check(access: &Access, ruling: &Ruling, expected: &str) {
        let words: String = (PermissionMode::ALL.iter())
            .map(|mode| word(*mode, access, ruling, false))
            .collect();
        assert_eq!(words, expected, "{access:?} {ruling:?}");
    }

    #[test]
    fn every_mode_has_its_word_on_every_access() {
        let open = &Ruling::Open;
        check(&Access::Harmless, open, "++++");
        check(&Access::Read(place(true, false)), open, "++++");
        check(&Access::Read(place(false, false)), open, "???+");
        check(&Access::Read(place(true, true)), open, "???+");
        check(&Access::Edit(place(true, false)), open, "-?++");
        check(&Access::Edit(place(false, false)), open, "-??+");
        check(
            &Access::Execute(AccessCommand {
                text: "ls".into(),
                parts: None,
                caution: None,
            }),
            open,
            "-??+",
        );
        check(
            &Access::Fetch {
                url: "https://x/".into(),
            },
            open,
            "???+",
        );
        check(&Access::Other, open, "-??+");
        check(&script(), open, "???+");
    }

    #[test]
    fn sec06_what_needs_caution_is_asked_about_in_every_mode_that_asks_rules_or_not() {
        for ruling in [&Ruling::Open, &Ruling::Allowed, &Ruling::Asked] {
            check(&Access::Edit(place(true, true)), ruling, "-??+");
            check(&command(true), ruling, "-??+");
        }
    }

    #[test]
    fn rules_are_stricter_than_modes_or_more_lenient() {
        let denied = Ruling::Denied("bash".into());
        for access in [
            Access::Harmless,
            Access::Read(place(true, false)),
            command(false),
            Access::Other,
        ] {
            check(&access, &denied, "----");
        }
        check(&Access::Harmless, &Ruling::Asked, "???+");
        check(&Access::Edit(place(true, false)), &Ruling::Asked, "-??+");
        check(&command(false), &Ruling::Allowed, "-+++");
        check(&script(), &Ruling::Allowed, "++++");
        check(&Access::Read(place(false, false)), &Ruling::Allowed, "++++");
        check(&command(false), &Ruling::Unclear, "-???");
    }

    #[test]
    fn a_call_that_the_user_has_allowed_is_stopped_by_a_denial_only() {
        for mode in PermissionMode::ALL {
            assert_eq!(word(mode, &command(true), &Ruling::Asked, true), '+');
            assert_eq!(word(mode, &command(false), &Ruling::Denied("bash".into()), true), '-');
        }
    }
}
