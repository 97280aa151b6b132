//! The runner against an agent that is a shell script.

use std::fs;

use tempfile::TempDir;

use super::*;

const START: &str = "[[step]]\ninitialize = {}\n[[step]]\nnew_session = { as = \"a\" }\n";

/// A scenario that gives one prompt and awaits its end.
fn one_prompt(text: &str) -> String {
    format!(
        "{START}[[step]]\nprompt = {{ session = \"a\", text = \"{text}\", as = \"p\" }}\n[[step]]\nawait = {{ response = \"p\" }}\n"
    )
}

/// A scenario folder; names of `workspace` files come without that folder.
fn scenario(client: &str, workspace: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("model.toml"), "").unwrap();
    fs::write(dir.path().join("client.toml"), client).unwrap();
    fs::create_dir(dir.path().join("workspace")).unwrap();
    for (name, text) in workspace {
        fs::write(dir.path().join("workspace").join(name), text).unwrap();
    }
    dir
}

async fn played(dir: &TempDir, compare: Compare) -> Report {
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent/weft");
    run(&agent, dir.path(), compare, false).await
}

/// The failures of a scenario that is blessed, which must then have written nothing.
async fn failures(dir: &TempDir) -> Vec<String> {
    let report = played(dir, Compare::Bless).await;
    assert!(report.written.is_empty() && !dir.path().join("transcript.jsonl").exists());
    report.failures.iter().map(Failure::to_string).collect()
}

#[tokio::test]
async fn what_is_blessed_is_normalised_and_then_found_again() {
    let dir = scenario(&one_prompt("hello"), &[]);
    let blessed = played(&dir, Compare::Bless).await;
    assert!(blessed.is_ok(), "{:?}", blessed.failures);
    let names: Vec<_> = blessed.written.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["transcript.jsonl", "log.jsonl"]);
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    let lines: Vec<_> = transcript.lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[1],
        r#"{"dir":"<","line":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake","version":"{version}"}}}}"#
    );
    assert!(lines[2].contains(r#""params":{"cwd":"{cwd}","mcpServers":[]}"#));
    assert!(lines[5].contains(r#""sessionId":"{session:1}""#) && lines[5].contains("in {cwd}"));
    assert_eq!(lines[9], r#"{"exit":{"code":0}}"#);
    assert_eq!(
        fs::read_to_string(dir.path().join("log.jsonl")).unwrap(),
        "{\"version\":1,\"id\":\"{session:1}\",\"createdAt\":0,\"cwd\":\"{cwd}\"}\n"
    );
    assert!(played(&dir, Compare::Expect).await.is_ok());
    assert!(played(&dir, Compare::Bless).await.written.is_empty());
}

#[tokio::test]
async fn another_outcome_is_shown_as_a_diff_and_nothing_is_written() {
    let dir = scenario(&one_prompt("hello"), &[]);
    let missing = played(&dir, Compare::Expect).await;
    assert!(matches!(
        missing.failures[..],
        [Failure::Missing { .. }, Failure::Missing { .. }]
    ));
    played(&dir, Compare::Bless).await;
    let path = dir.path().join("transcript.jsonl");
    let changed = fs::read_to_string(&path).unwrap().replace("in {cwd}", "elsewhere");
    fs::write(&path, &changed).unwrap();
    let report = played(&dir, Compare::Expect).await;
    let [Failure::Differs { diff, .. }] = &report.failures[..] else {
        panic!("{:?}", report.failures)
    };
    let changes: Vec<_> = diff.lines().filter(|line| line.starts_with(['+', '-'])).collect();
    assert_eq!(changes.len(), 4, "{diff}");
    assert!(changes[2].contains("elsewhere") && changes[3].contains("in {cwd}"));
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
}

#[tokio::test]
async fn the_final_newline_counts() {
    let dir = scenario(&one_prompt("hello"), &[]);
    played(&dir, Compare::Bless).await;
    let path = dir.path().join("log.jsonl");
    let cut = fs::read_to_string(&path).unwrap().trim_end().to_owned();
    fs::write(&path, cut).unwrap();
    assert!(!played(&dir, Compare::Expect).await.is_ok());
}

#[tokio::test]
async fn nothing_is_blessed_in_ci() {
    let dir = scenario(&one_prompt("hello"), &[]);
    let report = run(Path::new("weft"), dir.path(), Compare::Bless, true).await;
    assert!(matches!(report.failures[..], [Failure::BlessInCi]));
}

#[tokio::test]
async fn the_workspace_is_copied_and_the_folder_left_alone() {
    let dir = scenario(&one_prompt("list"), &[("b.txt", "b")]);
    assert!(played(&dir, Compare::Bless).await.is_ok());
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    assert!(transcript.contains(r#""text":"b.txt""#), "{transcript}");
}

#[tokio::test]
async fn the_agents_environment_is_its_own() {
    let dir = scenario(&one_prompt("environment"), &[]);
    assert!(played(&dir, Compare::Bless).await.is_ok());
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    assert!(
        transcript.contains("WEFT_HOME") && transcript.contains("PATH"),
        "{transcript}"
    );
    // Cargo sets some for every test.
    assert!(!transcript.contains("CARGO"), "{transcript}");
}

#[tokio::test]
async fn a_file_that_a_step_writes_is_there_whole_and_alone() {
    let client = one_prompt("list").replace(
        "[[step]]\nprompt",
        "[[step]]\nwrite_file = { name = \"go\", text = \"x\" }\n[[step]]\nprompt",
    );
    let dir = scenario(&client, &[]);
    assert!(played(&dir, Compare::Bless).await.is_ok());
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    assert!(transcript.contains(r#""text":"go""#), "{transcript}");
}

#[tokio::test]
async fn a_step_that_cannot_be_done_is_named_with_the_end_of_the_transcript() {
    let dir = scenario(&one_prompt("crash"), &[]);
    let found = failures(&dir).await;
    let lines: Vec<_> = found[0].lines().collect();
    assert_eq!(found.len(), 1);
    assert_eq!(
        lines[..2],
        [
            "step 4 (client.toml:7, await): the agent closed its output while waiting for the response to session/prompt; its stderr ends:",
            "the agent crashes",
        ]
    );
    assert!(lines[6].contains("session/prompt"), "{}", found[0]);
}

#[tokio::test]
async fn an_unexpected_answer_fails_the_step() {
    let client = |last: &str| {
        let prompt = one_prompt("refuse");
        format!("{}[[step]]\n{last}\n", &prompt[..prompt.rfind("[[step]]").unwrap()])
    };
    let check = async |last: &str, expected: &str| {
        let found = failures(&scenario(&client(last), &[])).await;
        assert!(found[0].lines().next().unwrap().ends_with(expected), "{found:?}");
    };
    check(
        "await = { response = \"p\" }",
        "(client.toml:7, await): found the error no such session (-32602), expected a result",
    )
    .await;
    check(
        "expect_error = { response = \"p\", code = 1 }",
        "found the error no such session (-32602), expected the code 1",
    )
    .await;
    check(
        "expect_error = { response = \"p\", code = -32602, message = \"^x\" }",
        "found the error no such session (-32602), expected a message with \"^x\"",
    )
    .await;
    let good = client("expect_error = { response = \"p\", code = -32602, message = \"such\" }");
    assert!(played(&scenario(&good, &[]), Compare::Bless).await.is_ok());
}

#[tokio::test]
async fn another_stop_reason_fails_the_step() {
    let client = one_prompt("hello").replace("response = \"p\"", "response = \"p\", stop = \"cancelled\"");
    let found = failures(&scenario(&client, &[])).await;
    assert!(
        found[0].contains(r#"found the result {"stopReason":"end_turn"}, expected the stop reason "cancelled""#),
        "{found:?}"
    );
}

#[tokio::test]
async fn what_the_scripted_model_missed_fails_the_scenario() {
    let report = r#"{"unused":["reply 2 (model.toml:9)"],"unknown":[],"unmatchedGates":["gate x"]}"#;
    let found = failures(&scenario(&one_prompt("hello"), &[("report.json", report)])).await;
    assert_eq!(
        found,
        [
            "the scripted model has replies that were not used:\n  reply 2 (model.toml:9)",
            "the scripted model has gates without their counterpart:\n  gate x",
        ]
    );
}

#[tokio::test]
async fn a_transcript_that_breaks_t_check_fails_the_scenario() {
    let found = failures(&scenario(&one_prompt("late"), &[])).await;
    assert_eq!(
        found,
        [
            "the transcript breaks a rule: row 8: WithinPrompt: session 0190aaaa-0000-7000-8000-000000000001: agent_message_chunk came while no prompt was open"
        ]
    );
}

#[tokio::test]
async fn the_exit_must_be_the_expected_one() {
    let dir = scenario(&one_prompt("hello"), &[("exit-code", "4")]);
    let found = failures(&dir).await;
    assert!(
        found[0].starts_with("the agent ended with exit code 4, expected exit code 0"),
        "{found:?}"
    );
    let expected = format!("{}[[step]]\nwait_exit = {{ code = 4 }}\n", one_prompt("hello"));
    assert!(
        played(&scenario(&expected, &[("exit-code", "4")]), Compare::Bless)
            .await
            .is_ok()
    );
    let killed = format!(
        "{START}[[step]]\nsignal = {{ target = \"agent\", name = \"SIGKILL\" }}\n[[step]]\nwait_exit = {{ signal = 9 }}\n"
    );
    assert!(played(&scenario(&killed, &[]), Compare::Bless).await.is_ok());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_is_found_and_signalled() {
    let worker = r#"mkfifo hold
said="{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"$1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"working\"}}}}"
printf '%s\n' "$said" >>"$2"
printf '%s\n' "$said"
read -r line <hold
"#;
    let kill = "[[step]]\nwait_update = { session = \"a\", content = \"working\" }\n[[step]]\nsignal = { target = \"worker\", name = \"SIGKILL\" }\n";
    let client = one_prompt("work");
    let at = client.rfind("[[step]]").unwrap();
    let dir = scenario(
        &format!("{}{kill}{}", &client[..at], &client[at..]),
        &[("worker", worker)],
    );
    let report = played(&dir, Compare::Bless).await;
    assert!(report.is_ok(), "{:?}", report.failures);
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    assert!(transcript.contains("worker ended with 137"), "{transcript}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_signal_without_a_worker_fails_the_step() {
    let client = format!("{START}[[step]]\nsignal = {{ target = \"worker\", name = \"SIGTERM\" }}\n");
    let found = failures(&scenario(&client, &[])).await;
    assert!(
        found[0].contains("could not signal the worker: none runs; wait for something that it does first"),
        "{found:?}"
    );
}

#[tokio::test]
async fn parameters_of_a_request_are_filled_and_extra_steps_reach_the_wire() {
    let client = format!(
        "{START}[[step]]\nrequest = {{ method = \"_weft/scripted/x\", params = {{ a = [\"${{cwd}}/f\"], b = \"${{session.a}}\" }}, as = \"r\" }}\n[[step]]\nawait = {{ response = \"r\" }}\n[[step]]\nopen_gate = {{ gate = \"g\" }}\n[[step]]\nwait_gate = {{ gate = \"g\", count = 2 }}\n[[step]]\ncancel = {{ session = \"a\" }}\n"
    );
    let dir = scenario(&client, &[]);
    let report = played(&dir, Compare::Bless).await;
    assert!(report.is_ok(), "{:?}", report.failures);
    let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
    for part in [
        r#""method":"_weft/scripted/x","params":{"a":["{cwd}/f"],"b":"{session:1}"}"#,
        r#""method":"_weft/scripted/gate/open","params":{"gate":"g"}"#,
        r#""method":"_weft/scripted/gate/wait","params":{"gate":"g","count":2}"#,
        r#""method":"session/cancel","params":{"sessionId":"{session:1}"}"#,
    ] {
        assert!(transcript.contains(part), "{part} is not in\n{transcript}");
    }
}

/// The steps of a client that begins with `START`, each with its name alone in short.
fn steps(steps: &[&str]) -> String {
    let steps = steps.iter().map(|step| format!("[[step]]\n{step}\n"));
    format!("{START}{}", steps.collect::<String>())
}

const SAY: [&str; 2] = [
    "prompt = { session = \"a\", text = \"hello\", as = \"p\" }",
    "await = { response = \"p\" }",
];

#[tokio::test]
async fn an_agent_is_replaced_and_the_next_one_knows_its_sessions() {
    let all = |kill: bool, load: &str| {
        let restart = format!("restart = {{ kill = {kill} }}");
        let more = [
            "initialize = {}",
            load,
            "list_sessions = { sessions = [\"a\"] }",
            SAY[0],
            SAY[1],
        ];
        steps(&[&SAY[..], &[&restart], &more].concat())
    };
    for (kill, how) in [(false, "load"), (true, "load"), (true, "resume")] {
        let dir = scenario(&all(kill, &format!("{how}_session = {{ session = \"a\" }}")), &[]);
        let report = played(&dir, Compare::Bless).await;
        assert!(report.is_ok(), "{:?}", report.failures);
        let transcript = fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap();
        let lines: Vec<_> = transcript.lines().collect();
        let exit = lines.iter().position(|line| line.starts_with("{\"exit\"")).unwrap();
        let expected = if kill {
            r#"{"exit":{"signal":9}}"#
        } else {
            r#"{"exit":{"code":0}}"#
        };
        assert_eq!(lines[exit], expected);
        assert!(lines[exit + 1].contains(r#""id":1,"method":"initialize""#));
        assert!(lines[exit + 3].contains(&format!(r#""method":"session/{how}""#)));
        assert_eq!(*lines.last().unwrap(), r#"{"exit":{"code":0}}"#);
    }
}

#[tokio::test]
async fn another_list_of_sessions_fails_the_step() {
    let found = failures(&scenario(&steps(&["list_sessions = { sessions = [] }"]), &[])).await;
    assert!(found[0].contains("expected the sessions []"), "{found:?}");
}

#[tokio::test]
async fn a_session_that_was_deleted_has_no_log_and_is_not_loaded() {
    let client = steps(&[&SAY[..], &["delete_session = { session = \"a\" }"]].concat());
    let dir = scenario(&client, &[("unloadable", "")]);
    assert!(played(&dir, Compare::Bless).await.is_ok());
    assert_eq!(fs::read_to_string(dir.path().join("log.jsonl")).unwrap(), "");
}

#[tokio::test]
async fn g14_a_load_that_shows_something_else_fails_the_scenario() {
    let found = failures(&scenario(&one_prompt("hello"), &[("replay", "more")])).await;
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("session 1, loaded by a new agent: item 2: live") && found[0].contains("more"),
        "{found:?}"
    );
    let found = failures(&scenario(&one_prompt("hello"), &[("unloadable", "")])).await;
    let refused = "session 1, loaded by a new agent: it is refused: it is gone (-32602)";
    assert_eq!(found[..2], [refused, refused]);
}

#[tokio::test]
async fn a_load_that_writes_into_a_log_fails_the_scenario() {
    let found = failures(&scenario(&one_prompt("hello"), &[("rewrite", "")])).await;
    let wrote = |found: &String| found.starts_with("a load has changed ") && found.ends_with("log.jsonl");
    assert!(found.len() == 2 && found.iter().all(wrote), "{found:?}");
}

#[tokio::test]
async fn a_log_that_is_not_sound_fails_the_scenario() {
    let found = failures(&scenario(&one_prompt("hello"), &[("sound", "false")])).await;
    assert_eq!(
        found,
        ["verifying the logs failed: session 0190aaaa-0000-7000-8000-000000000001 is not sound: {}"]
    );
}

#[test]
fn the_configuration_is_generated_with_the_scenarios_own_on_top() {
    let dir = scenario("step = []", &[]);
    fs::write(
        dir.path().join("config.toml"),
        "mode = \"full\"\n[acp.progress]\nmax = 1\n[tools]\nx = 2\n",
    )
    .unwrap();
    let scenario = Scenario::load(dir.path()).unwrap();
    let config: toml::Table = home::configuration(&scenario).parse().unwrap();
    let script = scenario.dir.join("model.toml").display().to_string();
    let expected: toml::Table = format!(
        "model = 'scripted/scripted'\nmode = 'full'\n[providers.scripted]\nkind = 'scripted'\nscript = '{script}'\n[acp.progress]\nmin_interval = '0ms'\nmax = 1\n[tools]\nx = 2\n"
    )
    .parse()
    .unwrap();
    assert_eq!(config, expected);
}
