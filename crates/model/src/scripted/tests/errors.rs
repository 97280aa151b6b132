//! Scripts that cannot be used.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    match ScriptedModel::from_toml(text, Path::new("")) {
        Ok(_) => panic!("the script was accepted, expected {expected}"),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

/// Checks a script of one reply whose lines follow `[[reply]]`.
#[track_caller]
fn reply(lines: &str, expected: &str) {
    check(&format!("[[reply]]\n{lines}\n"), expected);
}

#[test]
fn what_is_no_script_is_refused() {
    check(
        "[[reply]]\ntext = \n",
        "model.toml:2:8: found no TOML: string values must be quoted, expected literal string",
    );
    check(
        "",
        "model.toml:1:1: script: found no reply, expected at least one table [[reply]]",
    );
    check(
        "[reply]\ntext = \"a\"\n",
        "model.toml:1:1: script: reply: found a table, expected a list of tables",
    );
    check("reply = [1]\n", "model.toml:1:10: reply 1: found 1, expected a table");
    check(
        "[[replies]]\n",
        "model.toml:1:3: script: unknown key `replies`, expected one of reply",
    );
}

#[test]
fn an_unknown_key_is_named_with_those_there_are() {
    reply(
        "txt = \"a\"",
        "model.toml:2:1: reply 1: unknown key `txt`, expected one of role, label, prompt, turn, step, times, gate, \
         gate_after, delay_ms, chunk_delay_ms, reasoning, text, tool_call, usage, stop, error, hang",
    );
    reply(
        "text = \"a\"\n[reply.usage]\ntokens = 1",
        "model.toml:4:1: reply 1: usage: unknown key `tokens`, expected one of input_tokens, output_tokens, \
         cached_input_tokens, reasoning_tokens",
    );
    reply(
        "[[reply.tool_call]]\nnam = \"a\"",
        "model.toml:3:1: reply 1: tool_call 1: unknown key `nam`, expected one of id, name, arguments, \
         arguments_text, arguments_file",
    );
}

#[test]
fn a_bad_value_is_shown_with_what_is_allowed() {
    let cases = [
        (
            "role = \"both\"",
            "2:8: reply 1: role: found \"both\", expected one of \"main\", \"subagent\"",
        ),
        (
            "role = 1",
            "2:8: reply 1: role: found 1, expected one of \"main\", \"subagent\"",
        ),
        ("label = true", "2:9: reply 1: label: found true, expected a text"),
        (
            "turn = 0",
            "2:8: reply 1: turn: found 0, expected a whole number of at least 1",
        ),
        (
            "turn = 4294967296",
            "2:8: reply 1: turn: found 4294967296, expected a number that fits in 32 bits",
        ),
        (
            "step = -1",
            "2:8: reply 1: step: found -1, expected a whole number of at least 1",
        ),
        (
            "times = 0",
            "2:9: reply 1: times: found 0, expected a whole number of at least 1, or \"any\"",
        ),
        (
            "times = \"all\"",
            "2:9: reply 1: times: found \"all\", expected a whole number of at least 1, or \"any\"",
        ),
        ("gate = \"\"", "2:8: reply 1: gate: found \"\", expected a name"),
        (
            "delay_ms = 1.5",
            "2:12: reply 1: delay_ms: found 1.5, expected a whole number of at least 0",
        ),
        (
            "text = [\"a\", 1]",
            "2:14: reply 1: text: found 1, expected a text or a list of texts",
        ),
        (
            "hang = \"yes\"",
            "2:8: reply 1: hang: found \"yes\", expected true or false",
        ),
        (
            "stop = \"stop\"",
            "2:8: reply 1: stop: found \"stop\", expected one of \"end_turn\", \"tool_use\", \"max_tokens\", \"refusal\"",
        ),
        (
            "error = { message = \"x\" }",
            "2:9: reply 1: error: found no kind, expected the kind of the failure, such as \"rate_limited\"",
        ),
        (
            "error = { kind = \"busy\" }",
            "2:18: reply 1: error: kind: found \"busy\", expected one of \"not_configured\", \"auth\", \
             \"rate_limited\", \"overloaded\", \"network\", \"incomplete\", \"invalid_request\", \
             \"context_overflow\", \"protocol\", \"scripted\"",
        ),
        (
            "prompt = \"(\"",
            "2:10: reply 1: prompt: found \"(\" (unclosed group), expected a regular expression",
        ),
        (
            "text = \"{{fromRequest:x}}\"",
            "2:8: reply 1: text: found `{{fromRequest:x}}`, expected a regular expression with a capture group",
        ),
    ];
    for (line, expected) in cases {
        reply(line, &format!("model.toml:{expected}"));
    }
}

#[test]
fn a_reply_without_an_answer_or_with_two_ends_is_refused() {
    reply(
        "prompt = \"x\"",
        "model.toml:1:1: reply 1: found no answer, expected text, reasoning, tool_call, error or hang",
    );
    let two = "model.toml:1:1: reply 1: found several of error, hang and stop, expected at most one";
    reply("hang = true\nstop = \"end_turn\"", two);
    reply("hang = true\nerror = { kind = \"auth\" }", two);
    reply("stop = \"end_turn\"\nerror = { kind = \"auth\" }", two);
}

#[test]
fn a_bad_tool_call_is_refused() {
    let cases = [
        (
            "id = \"a\"",
            "2:1: reply 1: tool_call 1: found no name, expected a tool's name",
        ),
        (
            "name = \"a\"\narguments = {}\narguments_text = \"\"",
            "2:1: reply 1: tool_call 1: found several of arguments, arguments_text and arguments_file, \
             expected at most one",
        ),
        (
            "name = \"a\"\narguments = \"{}\"",
            "4:13: reply 1: tool_call 1: arguments: found \"{}\", expected a table",
        ),
        (
            "name = \"a\"\narguments = { at = 2026-01-01 }",
            "4:20: reply 1: tool_call 1: arguments.at: found a datetime, expected a text, since JSON has no dates",
        ),
        (
            "name = \"a\"\narguments = { n = [1, nan] }",
            "4:23: reply 1: tool_call 1: arguments.n[1]: found nan, expected a number that JSON has",
        ),
        (
            "name = \"a\"\nid = \"x\"\n[[reply.tool_call]]\nname = \"b\"\nid = \"x\"",
            "5:1: reply 1: tool_call 2: has the id of another call of this reply, expected one of its own",
        ),
    ];
    for (lines, expected) in cases {
        reply(
            &format!("[[reply.tool_call]]\n{lines}"),
            &format!("model.toml:{expected}"),
        );
    }
}

#[test]
fn replies_with_the_same_keys_are_refused_at_load() {
    check(
        "[[reply]]\nprompt = \"x\"\nstep = 1\ntext = \"a\"\n\n[[reply]]\nstep = 1\nprompt = \"x\"\ntext = \"b\"\n",
        "model.toml:6:1: reply 2: has the keys of reply 1 (model.toml:1) (prompt /x/, step 1), \
         expected keys that tell them apart",
    );
    check(
        "[[reply]]\ntext = \"a\"\n[[reply]]\ntext = \"b\"\n",
        "model.toml:3:1: reply 2: has the keys of reply 1 (model.toml:1) (any request), \
         expected keys that tell them apart",
    );
}

#[test]
fn a_missing_file_is_named_with_the_key_that_asks_for_it() {
    let call = "[[reply]]\n[[reply.tool_call]]\nname = \"workflow\"\n";
    let read = |_: &str| Err(std::io::Error::other("gone"));
    let error = |text: &str| {
        ScriptedModel::from_parts(Path::new("m.toml"), text, read)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(&format!("{call}arguments = {{ script = {{ file = \"a.js\" }} }}\n")),
        "m.toml:4:33: reply 1: tool_call 1: arguments.script.file: cannot read \"a.js\" (gone), \
         expected a file beside the script"
    );
    assert_eq!(
        error(&format!("{call}arguments_file = \"a.json\"\n")),
        "m.toml:4:18: reply 1: tool_call 1: arguments_file: cannot read \"a.json\" (gone), \
         expected a file beside the script"
    );
}

#[test]
fn a_file_beyond_the_limit_is_refused() {
    let text = "[[reply]]\n[[reply.tool_call]]\nname = \"a\"\narguments_file = \"big\"\n";
    let read = |_: &str| Ok("x".repeat((4 << 20) + 1));
    let error = ScriptedModel::from_parts(Path::new("m.toml"), text, read).unwrap_err();
    assert_eq!(
        error.to_string(),
        "m.toml:4:18: reply 1: tool_call 1: arguments_file: \"big\" has 4194305 bytes, expected at most 4194304"
    );
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let error = ScriptedModel::load(Path::new("no-such-folder/model.toml")).unwrap_err();
    assert_eq!(error.to_string(), "failed to read the script no-such-folder/model.toml");
    // Whoever shows the whole chain says it once.
    assert!(std::error::Error::source(&error).is_some());
}
