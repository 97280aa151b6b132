//! Order, bound and merging, without threads.

use super::*;

const BOUND: usize = 100;

fn run(message: &str, reasoning: bool) -> TextRun {
    TextRun {
        session: "s".into(),
        message: message.into(),
        reasoning,
    }
}

/// Pushes a progress line of 40 bytes, `name:report`.
fn push(queue: &mut Queue, (session, call): (&str, &str), name: &str, report: u32) {
    let line = format!("{:<39}\n", format!("{name}:{report}"));
    queue.push_progress(&session.into(), &call.into(), line.as_bytes());
}

fn drain(queue: &mut Queue) -> Vec<String> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while !queue.is_empty() {
        batch.clear();
        queue.take(&mut batch);
        all.extend_from_slice(&batch);
    }
    assert_eq!(queue.bytes(), 0);
    assert!(queue.newest.is_empty());
    let all = String::from_utf8(all).unwrap();
    all.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn below_the_bound_nothing_is_merged() {
    let mut queue = Queue::new(BOUND);
    push(&mut queue, ("s", "a"), "a", 1);
    push(&mut queue, ("s", "a"), "a", 2);
    queue.push_text(&run("m", false), "x", b"text x\n");
    queue.push_text(&run("m", false), "y", b"text y\n");
    assert_eq!(drain(&mut queue), ["a:1", "a:2", "text x", "text y"]);
}

#[test]
fn g88_above_the_bound_a_call_has_one_progress_line_and_the_newest_wins() {
    let mut queue = Queue::new(BOUND);
    queue.push_lines(b"call a\n");
    push(&mut queue, ("s", "a"), "a", 1);
    push(&mut queue, ("s", "a"), "a", 2);
    push(&mut queue, ("s", "b"), "b", 1);
    queue.push_lines(b"response\n");
    for report in 3..1000 {
        push(&mut queue, ("s", "a"), "a", report);
    }
    assert_eq!(queue.bytes(), 7 + 4 * 40 + 9);
    queue.push_lines(b"final a\n");
    assert_eq!(
        drain(&mut queue),
        ["call a", "a:1", "a:2", "b:1", "response", "a:999", "final a"]
    );
}

#[test]
fn calls_of_one_id_in_two_sessions_do_not_replace_each_other() {
    let mut queue = Queue::new(BOUND);
    queue.push_lines(&[b'x'; BOUND]);
    queue.push_lines(b"\n");
    for report in 1..5 {
        push(&mut queue, ("s", "c"), "s", report);
        push(&mut queue, ("t", "c"), "t", report);
    }
    assert_eq!(drain(&mut queue)[1..], ["s:4", "t:4"]);
}

#[test]
fn what_has_left_is_not_replaced() {
    let mut queue = Queue::new(BOUND);
    let full = vec![b'x'; BATCH_BYTES - 1];
    push(&mut queue, ("s", "a"), "a", 1);
    queue.push_lines(&full);
    queue.push_lines(b"\n");
    push(&mut queue, ("s", "a"), "a", 2);
    let mut batch = Vec::new();
    queue.take(&mut batch);
    assert!(batch.starts_with(b"a:"), "the first batch ends before the full one");
    assert_eq!(batch.len(), 40);
    push(&mut queue, ("s", "a"), "a", 3);
    push(&mut queue, ("s", "b"), "b", 1);
    assert_eq!(drain(&mut queue)[1..], ["a:3", "b:1"]);
    queue.push_lines(&full);
    push(&mut queue, ("s", "a"), "a", 4);
    assert_eq!(drain(&mut queue).len(), 1);
}

#[test]
fn above_the_bound_text_of_one_message_is_joined() {
    let mut queue = Queue::new(0);
    for text in ["a\n", "é", "\"c\""] {
        queue.push_text(&run("m", false), text, b"not used\n");
    }
    queue.push_text(&run("m", true), "thought", b"not used\n");
    queue.push_text(&run("n", false), "other", b"not used\n");
    queue.push_lines(b"call\n");
    queue.push_text(&run("n", false), "after", b"not used\n");
    let lines = drain(&mut queue);
    assert_eq!(
        lines[0],
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\né\"c\""},"messageId":"m"}}}"#
    );
    assert!(lines[1].contains("agent_thought_chunk") && lines[1].contains("thought"));
    assert!(lines[2].contains("other") && !lines[2].contains("after"));
    assert_eq!((&*lines[3], lines.len()), ("call", 5));
    assert!(lines[4].contains("after"));
}

#[test]
fn a_batch_holds_whole_segments_and_at_least_one() {
    let mut queue = Queue::new(usize::MAX);
    let long = vec![b'x'; 3 * BATCH_BYTES];
    queue.push_lines(b"first\n");
    queue.push_lines(&long);
    queue.push_lines(b"last\n");
    let mut batch = Vec::new();
    for expected in [6, 3 * BATCH_BYTES, 5] {
        batch.clear();
        queue.take(&mut batch);
        assert_eq!(batch.len(), expected);
    }
    assert!(
        queue.spare.capacity() <= 2 * BATCH_BYTES,
        "a long line's memory is given back"
    );
}

#[test]
fn g88_a_report_never_overtakes_an_older_one_of_its_call() {
    let mut queue = Queue::new(BATCH_BYTES);
    queue.push_lines(&vec![b'x'; BATCH_BYTES - 1]);
    queue.push_lines(b"\n");
    push(&mut queue, ("s", "a"), "a", 1);
    // Room again, while the first report still waits.
    queue.take(&mut Vec::new());
    push(&mut queue, ("s", "a"), "a", 2);
    queue.push_lines(&vec![b'y'; BATCH_BYTES]);
    queue.push_lines(b"\n");
    push(&mut queue, ("s", "a"), "a", 3);
    let reports: Vec<String> = drain(&mut queue)
        .into_iter()
        .filter(|line| line.starts_with("a:"))
        .collect();
    assert_eq!(reports, ["a:1", "a:2", "a:3"]);
}
