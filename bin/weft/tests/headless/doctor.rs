//! `weft doctor`: what is in order, and for everything that is not, how to mend it.

use serde_json::{Value, json};

use crate::support::{Ran, World};

const HELLO: &str = "[[reply]]\ntext = \"ok\"\n";
const CHAT: &str = "model = \"a/b\"\n[providers.a]\nkind = \"openai-chat\"\n";

fn doctor(world: &World, args: &[&str]) -> Ran {
    let mut command = world.command(&[&["doctor"][..], args].concat());
    command
        .env("XDG_CONFIG_HOME", world.path("xdg"))
        .env("HOME", world.path("user"));
    command.env_remove("WEFT_TEST_KEY");
    Ran::of(command.output().expect("weft runs"))
}

/// Whether the finding and its mend stand in two lines, one below the other.
#[track_caller]
fn says(ran: &Ran, finding: &str, mend: &str) {
    let lines: Vec<_> = ran.out.lines().collect();
    let at = lines.iter().position(|line| line.contains(finding));
    let at = at.unwrap_or_else(|| panic!("{finding}: {ran:?}"));
    let below = lines.get(at + 1).copied().unwrap_or_default();
    assert!(
        below.trim_start().starts_with("mend: ") && below.contains(mend),
        "{mend}: {ran:?}"
    );
}

#[test]
fn where_all_is_well_every_check_says_what_it_found() {
    let world = World::new(HELLO);
    let ran = doctor(&world, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let home = world.home();
    for line in [
        format!("ok    configuration  {}/config.toml", home.display()),
        "ok    trust          nothing in the project needs it".to_owned(),
        format!("ok    home           {}/sessions can be written", home.display()),
        "ok    sessions       0 sessions".to_owned(),
        "ok    model          scripted/test; weft doctor --online asks it".to_owned(),
        "ok    editor         no settings of Zed or JetBrains found; weft setup EDITOR prints the entry of each"
            .to_owned(),
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line}: {ran:?}");
    }
    assert!(!ran.out.contains("fail"), "{ran:?}");
}

#[test]
fn json_says_the_same() {
    let world = World::new(HELLO);
    let ran = doctor(&world, &["--json"]);
    let found: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &found["ok"]), (0, &json!(true)), "{ran:?}");
    let trust = found["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|check| check["check"] == "trust");
    assert_eq!(
        trust.expect("one"),
        &json!({"check": "trust", "status": "ok", "found": "nothing in the project needs it", "mend": null})
    );
}

#[test]
fn a_configuration_that_cannot_be_used_is_named_with_its_place() {
    let world = World::new(HELLO);
    world.write("home/config.toml", "mode = \"yolo\"\n");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "config.toml:1:8: mode: found \"yolo\"", "correct that place");
    let world = World::new(HELLO);
    world.write("project/.weft/config.toml", "agent = 3\n");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, ".weft/config.toml:1:9: agent", "correct that place");
}

#[test]
fn settings_that_contradict_each_other_are_found() {
    let world = World::new(HELLO);
    let config = world.read("home/config.toml");
    world.write("home/config.toml", &format!("bash.timeout = \"1h\"\n{config}"));
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "expected at most bash.max_timeout", "correct that place");
}

#[test]
fn a_model_that_is_not_configured_says_what_to_set() {
    let world = World::new(HELLO);
    world.write("home/config.toml", "");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "no model is configured", "[providers.NAME]");
    world.write("home/config.toml", "model = \"a/b\"\n");
    says(&doctor(&world, &[]), "needs a provider \"a\"", "[providers.NAME]");
}

#[test]
fn a_key_that_is_missing_or_goes_in_the_clear_is_found() {
    let world = World::new(HELLO);
    let config = format!("{CHAT}base_url = \"http://example.com/v1\"\napi_key_env = \"WEFT_TEST_KEY\"\n");
    world.write("home/config.toml", &config);
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "WEFT_TEST_KEY is not set here", "under env");
    says(&ran, "goes to example.com without encryption", "https://");
    world.write("home/config.toml", &config.replace("example.com", "127.0.0.1:9"));
    assert!(!doctor(&world, &[]).out.contains("without encryption"));
}

#[test]
fn the_key_of_a_provider_that_is_not_chosen_is_only_a_warning() {
    let world = World::new(HELLO);
    let config = world.read("home/config.toml");
    let other = "[providers.other]\nkind = \"anthropic\"\nbase_url = \"https://x\"\napi_key_env = \"WEFT_TEST_KEY\"\n";
    world.write("home/config.toml", &format!("{config}{other}"));
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    says(&ran, "the provider other has no key", "[providers.other]");
}

#[test]
fn online_asks_the_model() {
    let ran = doctor(&World::new(HELLO), &["--online"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("scripted/test answers\n"), "{ran:?}");
    for (kind, mend) in [
        ("auth", "check the key"),
        ("network", "check base_url"),
        ("protocol", "check kind"),
    ] {
        let world = World::new(&format!(
            "[[reply]]\nerror = {{ kind = \"{kind}\", message = \"no luck\" }}\n"
        ));
        let ran = doctor(&world, &["--online"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        says(&ran, "scripted/test does not answer: no luck", mend);
    }
}

#[test]
fn what_a_project_sets_without_trust_is_found() {
    let world = World::new(HELLO);
    world.write("project/.weft/config.toml", "permissions.allow = [\"bash\"]\n");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    says(&ran, "1 of the project's settings are left aside", "weft trust ");
    world.write("home/trust.json", "{");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "trust.json", "move it away");
}

#[test]
fn rules_that_cannot_be_read_are_found() {
    let world = World::new(HELLO);
    assert!(doctor(&world, &[]).out.contains("ok    permissions    mode ask\n"));
    world.write("home/permissions.toml", "projects = \n");
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "permissions.toml", "delete permissions.toml");
}

#[test]
fn instructions_and_skills_are_listed_with_what_is_left_out() {
    let world = World::new(HELLO);
    let ran = doctor(&world, &[]);
    for line in [
        "ok    instructions   no AGENTS.md of yours or of the project says anything",
        "ok    skills         none of yours or of the project",
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line}: {ran:?}");
    }
    let config = world.read("home/config.toml");
    world.write(
        "home/config.toml",
        &format!("{config}[context]\ninstructions_bytes = 1024\n"),
    );
    let skill = "---\nname: review\ndescription: Finds bugs.\n---\nLook twice.\n";
    world.write("home/AGENTS.md", &"x".repeat(100));
    world.write("project/AGENTS.md", &"y".repeat(1000));
    world.write("home/skills/review/SKILL.md", skill);
    world.write("project/.weft/skills/mine/SKILL.md", skill);
    world.write("project/.weft/skills/broken/SKILL.md", "Look twice.\n");
    let ran = doctor(&world, &[]);
    let (home, project) = (world.home(), world.project());
    let (home, project) = (home.display(), project.display());
    for line in [
        format!("ok    instructions   {project}/AGENTS.md, 1000 bytes"),
        format!(
            "ok    skills         review: {project}/.weft/skills/mine/SKILL.md, {} bytes",
            skill.len()
        ),
        format!("ok    skills         review: {home}/skills/review/SKILL.md does not count, a nearer one has its name"),
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line}: {ran:?}");
    }
    let cut = format!("{home}/AGENTS.md, 100 bytes, of which 24 are told");
    says(&ran, &cut, "shorten it, or raise context.instructions_bytes");
    let broken =
        format!("The skill in {project}/.weft/skills/broken is left out: SKILL.md does not begin with front matter");
    says(&ran, &broken, "mend what is named");
}

#[test]
fn a_damaged_session_is_counted() {
    let world = World::new(HELLO);
    let made = world.weft(&["exec", "--json", "Hi"]).result();
    let log = format!("home/sessions/{}/log.jsonl", made["session"].as_str().expect("an id"));
    let sound = world.read(&log);
    assert!(doctor(&world, &[]).out.contains("1 sessions\n"));
    world.write(&log, &sound.replacen("turn/start", "turn/stort", 1));
    std::fs::remove_file(world.path("home/sessions/index")).ok();
    let ran = doctor(&world, &[]);
    says(&ran, "1 of 1 sessions are damaged", "weft sessions verify");
}

#[cfg(target_os = "linux")]
#[test]
fn a_home_that_cannot_be_written_is_found() {
    let world = World::new(HELLO);
    let mut command = world.command(&["doctor"]);
    let ran = Ran::of(command.env("WEFT_HOME", "/proc/weft").output().expect("weft runs"));
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "/proc cannot be written", "WEFT_HOME");
}

#[test]
fn programs_that_are_missing_are_found() {
    let world = World::new(HELLO);
    let mut command = world.command(&["doctor"]);
    let ran = Ran::of(command.env("PATH", world.home()).output().expect("weft runs"));
    assert_eq!(ran.code, 1, "{ran:?}");
    says(&ran, "neither bash nor sh in PATH", "install bash");
    says(&ran, "no git in PATH", "install git");
}

#[test]
fn an_editor_that_does_not_know_weft_is_found_until_it_does() {
    let world = World::new(HELLO);
    world.write("xdg/zed/settings.json", "{\"theme\": \"One\"}");
    says(&doctor(&world, &[]), "does not name weft", "weft setup zed");
    let mut setup = world.command(&["setup", "zed", "--write"]);
    setup
        .env("XDG_CONFIG_HOME", world.path("xdg"))
        .env("HOME", world.path("user"));
    let ran = Ran::of(setup.output().expect("weft runs"));
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("settings.json.before-weft-1"), "{ran:?}");
    assert!(doctor(&world, &[]).out.contains("zed/settings.json names weft\n"));
}

#[test]
fn an_entry_is_printed_and_what_cannot_be_written_is_refused() {
    let world = World::new(HELLO);
    let ran = world.weft(&["setup", "zed"]);
    let entry: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(entry["agent_servers"]["weft"]["args"], json!(["acp"]), "{ran:?}");
    let lua = world.weft(&["setup", "codecompanion", "--write"]);
    assert_eq!((lua.code, lua.out.as_str()), (2, ""), "{lua:?}");
    world.write("xdg/zed/settings.json", "// mine\n{}");
    let mut command = world.command(&["setup", "zed", "--write"]);
    let ran = Ran::of(
        command
            .env("XDG_CONFIG_HOME", world.path("xdg"))
            .output()
            .expect("weft runs"),
    );
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("agent_servers") && ran.err.contains("was left as it is: it has comments"),
        "{ran:?}"
    );
    assert_eq!(world.read("xdg/zed/settings.json"), "// mine\n{}");
}

#[test]
fn completions_name_the_commands() {
    let ran = World::new(HELLO).weft(&["completions", "bash"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for word in ["exec", "doctor", "--output-schema"] {
        assert!(ran.out.contains(word), "{word}");
    }
}

/// A server with one tool, for whoever has a shell.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
  *'"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A world with a server that works, one that does not and one that is switched off.
fn with_servers() -> World {
    let world = World::new(HELLO);
    world.write("home/server.sh", SERVER);
    let servers = format!(
        "[mcp.good]\ncommand = \"sh\"\nargs = [\"{}\"]\n[mcp.bad]\ncommand = \"/no/such/program\"\n\
         [mcp.off]\ncommand = \"/no/such/program\"\nenabled = false\n",
        world.path("home/server.sh").display()
    );
    let config = world.read("home/config.toml");
    world.write("home/config.toml", &format!("{config}{servers}"));
    world
}

#[test]
fn every_mcp_server_is_tried() {
    let world = with_servers();
    let ran = doctor(&world, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("ok    mcp            good: 1 tool\n"), "{ran:?}");
    says(&ran, "fail  mcp            bad: ", "give its whole path");
    assert!(!ran.out.contains("off: "), "{ran:?}");
}

#[test]
fn the_status_of_a_session_tells_its_mcp_servers() {
    let ran = with_servers().weft(&["exec", "--json", "/status"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in ["MCP server \\\"good\\\": 1 tool", "MCP server \\\"bad\\\": left out: "] {
        assert!(ran.out.contains(line), "{line}: {ran:?}");
    }
}
