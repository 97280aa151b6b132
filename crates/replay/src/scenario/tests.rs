//! What a script may say, and how a mistake is named.

use serde_json::{Value, json};

use super::*;

fn parse(text: &str) -> Result<Script, ScenarioError> {
    Script::parse(Path::new("client.toml"), text)
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(parse(text).map(drop).unwrap_err().to_string(), expected);
}

const OPEN: &str = "[[step]]\nnew_session = { as = \"a\" }\n";

#[test]
fn a_script_keeps_its_steps_in_order_with_their_lines() {
    let script = parse(&format!(
        "{OPEN}\n[[step]]\nprompt = {{ session = \"a\", text = \"hi\", as = \"p\" }}\n\n[[step]]\nawait = {{ response = \"p\" }}\n"
    ))
    .unwrap();
    let steps: Vec<_> = script
        .steps
        .iter()
        .map(|step| (step.line, step.action.name()))
        .collect();
    assert_eq!(steps, [(1, "new_session"), (4, "prompt"), (7, "await")]);
}

#[test]
fn a_mistake_is_named_with_file_line_key_and_what_was_expected() {
    refused(
        "[[step]]\nnew_session = { as = \"a\", cwd = \".\" }\n",
        "client.toml:2: unknown field `cwd`, expected `as` or `folders`",
    );
    refused(
        "[[step]]\nsleep = {}\n",
        "client.toml:2: unknown variant `sleep`, expected one of `initialize`, `new_session`, `set_mode`, `set_option`, `prompt`, `request`, `await`, `expect_error`, `wait_update`, `wait_permission`, `answer_permission`, `cancel`, `close_session`, `load_session`, `resume_session`, `list_sessions`, `delete_session`, `open_gate`, `wait_gate`, `write_file`, `open_file`, `signal`, `close_stdin`, `wait_exit`, `restart`",
    );
    refused(
        "shape = 1\nstep = []\n",
        "client.toml:1: unknown field `shape`, expected `show_header` or `step`",
    );
    refused(
        "[[step]]\nanswer_permission = { with = [\"yes\"] }\n",
        "client.toml:2: unknown variant `yes`, expected one of `allow_once`, `allow_always`, `reject_once`, `reject_always`, `cancelled`, `hold`",
    );
    refused(
        &format!("{OPEN}[[step]]\nwait_update = {{ session = \"a\", title = \"(\" }}\n"),
        "client.toml:4: found \"(\" (unclosed group), expected a regular expression",
    );
    refused("[[step\n", "client.toml:1: unclosed array table, expected `]]`");
}

#[test]
fn a_name_must_be_defined_before_and_once() {
    refused(
        "[[step]]\ncancel = { session = \"a\" }\n",
        "client.toml:1: found the session \"a\", expected a step before that defines a session",
    );
    refused(
        &format!("{OPEN}[[step]]\ncancel = {{ session = \"b\" }}\n"),
        "client.toml:3: found the session \"b\", expected one of a",
    );
    refused(
        &format!("{OPEN}{OPEN}"),
        "client.toml:3: found a second session \"a\", expected a name of its own",
    );
    let twice = "[[step]]\nrequest = { method = \"m\", as = \"r\" }\n[[step]]\nawait = { response = \"r\" }\n[[step]]\nexpect_error = { response = \"r\", code = 1 }\n";
    refused(
        twice,
        "client.toml:5: found the response \"r\", expected a step before that defines a response",
    );
}

#[test]
fn nothing_is_written_after_the_input_was_closed() {
    let closed = format!("{OPEN}[[step]]\nclose_stdin = {{}}\n");
    refused(
        &format!("{closed}[[step]]\ncancel = {{ session = \"a\" }}\n"),
        "client.toml:5: found a step that writes after close_stdin, expected one that only reads",
    );
    parse(&format!("{closed}[[step]]\nwait_exit = {{ signal = 9 }}\n")).unwrap();
    refused(
        "[[step]]\nwait_exit = { code = 1, signal = 9 }\n",
        "client.toml:1: found both code and signal, expected one of them",
    );
}

#[test]
fn the_next_agent_has_an_open_input_and_the_sessions_but_no_answers_of_the_last_one() {
    let prompt = "[[step]]\nprompt = { session = \"a\", text = \"x\", as = \"p\" }\n";
    let begin = format!("{OPEN}{prompt}[[step]]\nclose_stdin = {{}}\n[[step]]\nrestart = {{ kill = true }}\n");
    parse(&format!(
        "{begin}[[step]]\nload_session = {{ session = \"a\" }}\n{prompt}"
    ))
    .unwrap();
    refused(
        &format!("{begin}[[step]]\nawait = {{ response = \"p\" }}\n"),
        "client.toml:9: found the response \"p\", expected a step before that defines a response",
    );
    refused(
        &format!("{OPEN}[[step]]\nlist_sessions = {{ sessions = [\"a\", \"b\"] }}\n"),
        "client.toml:3: found the session \"b\", expected one of a",
    );
}

#[test]
fn the_capabilities_are_those_of_the_last_client() {
    let initialize = |name: &str| format!("[[step]]\ninitialize = {{ capabilities = {{ {name} = true }} }}\n");
    let script = parse(&format!("{}{}", initialize("x"), initialize("y"))).unwrap();
    assert_eq!(Value::from(script.capabilities()), json!({"y": true}));
}

#[test]
fn a_file_is_written_into_the_workspace_itself() {
    parse("[[step]]\nwrite_file = { name = \"go\" }\n").unwrap();
    refused(
        "[[step]]\nwrite_file = { name = \"../go\" }\n",
        "client.toml:1: found the file name \"../go\", expected one without a folder",
    );
    refused(
        "[[step]]\nopen_file = { name = \"a/b\", text = \"\" }\n",
        "client.toml:1: found the file name \"a/b\", expected one without a folder",
    );
}

#[track_caller]
fn fits(keys: &str, update: &Value, expected: bool) {
    let wait: WaitUpdate = toml::from_str(&format!("session = \"a\"\n{keys}")).unwrap();
    assert_eq!(wait.fits(update), expected, "{keys}");
}

#[test]
fn an_update_fits_when_every_key_does() {
    let card = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress", "title": "workflow: demo – Scan",
        "content": [
            {"type": "content", "content": {"type": "text", "text": "Phase: Scan"}},
            {"type": "terminal", "terminalId": "c"},
            {"type": "content", "content": {"type": "text", "text": "Running (1): a"}},
        ],
    });
    let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}});
    fits("", &card, true);
    fits(
        "kind = 'tool_call_update'\ncall = 'c'\nstatus = 'in_progress'",
        &card,
        true,
    );
    fits("kind = 'tool_call'", &card, false);
    fits("call = 'd'", &card, false);
    fits("status = 'completed'", &card, false);
    fits("title = 'Scan$'", &card, true);
    fits("title = 'Review'", &card, false);
    fits("title = 'x'", &chunk, false);
    fits(r"content = 'Scan\nRunning \(1\)'", &card, true);
    fits("content = '^hello$'", &chunk, true);
}

#[test]
fn a_wait_is_described_by_its_keys() {
    let wait: WaitUpdate = toml::from_str("session = 'a'\nkind = 'tool_call'\ntitle = '^x'").unwrap();
    assert_eq!(
        wait.describe(),
        r#"an update of session "a" kind "tool_call" title "^x""#
    );
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn a_folder_needs_both_scripts() {
    let dir = folder(&[("client.toml", "step = []")]);
    let error = Scenario::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("model.toml"), "{error}");
    let dir = folder(&[("model.toml", "")]);
    let error = Scenario::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("client.toml"), "{error}");
}

#[test]
fn a_folder_may_have_a_configuration() {
    let dir = folder(&[("model.toml", ""), ("client.toml", "step = []")]);
    assert!(Scenario::load(dir.path()).unwrap().config.is_empty());
    std::fs::write(dir.path().join("config.toml"), "mode = \"full\"\n").unwrap();
    assert_eq!(
        Scenario::load(dir.path()).unwrap().config["mode"].as_str(),
        Some("full")
    );
    std::fs::write(dir.path().join("config.toml"), "\nmode =\n").unwrap();
    let error = Scenario::load(dir.path()).unwrap_err().to_string();
    assert!(error.contains("config.toml:2: "), "{error}");
}

#[test]
fn every_committed_scenario_can_be_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let read: Vec<_> = folders
        .map(|folder| Scenario::load(&folder).unwrap_or_else(|error| panic!("{error}")).name)
        .collect();
    assert!(!read.is_empty());
}
