use weft_providers::Thinking;

use super::*;

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = Layer::parse(Path::new("config.toml"), text, Owner::User).expect_err("must be refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn defaults_hold_where_no_layer_speaks() {
    let home = tempfile::tempdir().expect("a temp folder");
    let config = Config::load(home.path(), &Overrides::default()).expect("no file is fine");
    assert_eq!(config.span(&settings::MIN_INTERVAL), Duration::from_millis(50));
    assert_eq!(config.count(&settings::WORKFLOW_CONCURRENT), 16);
    assert_eq!(config.text(&settings::MODE), Some("ask"));
    assert_eq!(config.text(&settings::MODEL), None);
}

#[test]
fn later_layers_win() {
    let home = tempfile::tempdir().expect("a temp folder");
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".weft")).expect("made");
    std::fs::write(
        home.path().join("config.toml"),
        "model = \"a/1\"\n[agent]\nmax_steps = 7\n",
    )
    .expect("written");
    std::fs::write(project.join(".weft/config.toml"), "model = \"a/2\"\n").expect("written");
    let user = Config::load(home.path(), &Overrides::default()).expect("sound");
    assert_eq!(user.text(&settings::MODEL), Some("a/1"));
    let merged = user.for_project(&project).expect("sound");
    assert_eq!(
        (merged.text(&settings::MODEL), merged.count(&settings::MAX_STEPS)),
        (Some("a/2"), 7)
    );
    let flags = Overrides {
        values: vec![(&settings::MODEL, "--model", "a/3".to_owned())],
    };
    let flagged = Config::load(home.path(), &flags).expect("sound");
    assert_eq!(
        flagged.for_project(&project).expect("sound").text(&settings::MODEL),
        Some("a/3")
    );
}

#[test]
fn a_project_adds_rules_that_hold_back_to_those_of_the_user() {
    let home = tempfile::tempdir().expect("a temp folder");
    let project = home.path().join("project");
    std::fs::create_dir_all(project.join(".weft")).expect("made");
    let own = "[permissions]\nallow = [\"bash(ls *)\"]\ndeny = [\"read(~/.ssh/**)\"]\n";
    std::fs::write(home.path().join("config.toml"), own).expect("written");
    let theirs = "[permissions]\nask = [\"fetch\"]\ndeny = [\"bash(rm *)\"]\n";
    std::fs::write(project.join(".weft/config.toml"), theirs).expect("written");
    let user = Config::load(home.path(), &Overrides::default()).expect("sound");
    let merged = user.for_project(&project).expect("sound");
    assert_eq!(merged.rules(&settings::ALLOW), ["bash(ls *)"]);
    assert_eq!(merged.rules(&settings::ASK), ["fetch"]);
    assert_eq!(merged.rules(&settings::DENY), ["read(~/.ssh/**)", "bash(rm *)"]);
    assert_eq!(user.rules(&settings::DENY), ["read(~/.ssh/**)"]);
}

#[test]
fn a_bad_rule_is_refused_with_its_place_and_what_was_expected() {
    refused(
        "[permissions]\nallow = [\"bash\", \"bash(git\"]\n",
        "config.toml:2:18: permissions.allow: failed to read the rule `bash(git`: the pattern must end with `)`, \
         and nothing may follow it",
    );
    refused(
        "permissions.deny = \"bash\"\n",
        "config.toml:1:20: permissions.deny: found a value of type string, expected a list of rules, such as [\"bash(git status)\"]",
    );
    refused(
        "permissions.ask = [1]\n",
        "config.toml:1:20: permissions.ask: found a value of type integer, expected a list of rules, such as [\"bash(git status)\"]",
    );
}

#[test]
fn g32_a_bad_interval_is_refused_with_its_place_and_range() {
    refused(
        "[acp.progress]\nmin_interval = \"9s\"\n",
        "config.toml:2:16: acp.progress.min_interval: found \"9s\", expected a duration from \"0ms\" to \"5s\"",
    );
    refused(
        "acp.progress.min_interval = 50\n",
        "config.toml:1:29: acp.progress.min_interval: found 50, expected a duration from \"0ms\" to \"5s\"",
    );
}

#[test]
fn an_unknown_key_names_the_known_ones() {
    refused(
        "[acp.progress]\nmin_intervall = \"9s\"\n",
        "config.toml:2:1: acp.progress.min_intervall: unknown key, expected one of min_interval",
    );
    let error = Layer::parse(Path::new("config.toml"), "modell = \"x\"\n", Owner::User).expect_err("must be refused");
    let error = error.to_string();
    let expected = "config.toml:1:1: modell: unknown key, expected one of model, mode, permissions, agent, ";
    assert!(
        error.starts_with(expected) && error.ends_with(", providers, models, agents"),
        "{error}"
    );
    refused(
        "agent = 3\n",
        "config.toml:1:9: agent: found a value of type integer, expected a table",
    );
}

#[test]
fn a_value_out_of_range_or_of_another_type_names_the_range() {
    refused(
        "[workflow]\nmax_concurrent_agents = 0\n",
        "config.toml:2:25: workflow.max_concurrent_agents: found 0, expected a whole number from 1 to 256",
    );
    refused(
        "[agent]\nmax_steps = true\n",
        "config.toml:2:13: agent.max_steps: found a value of type boolean, expected a whole number from 1 to 10000",
    );
    refused(
        "mode = \"yolo\"\n",
        "config.toml:1:8: mode: found \"yolo\", expected \"plan\" or \"ask\" or \"accept-edits\" or \"full\"",
    );
}

#[test]
fn a_list_takes_texts_and_nothing_else() {
    let read = |text: &str| Layer::parse(Path::new("config.toml"), text, Owner::User).map(|layer| layer.values);
    let values = read("environment.pass = [\"A\", \"B\"]\n").expect("a list of texts");
    let expected = Value::Texts(vec!["A".to_owned(), "B".to_owned()]);
    assert_eq!(values["environment.pass"], expected);
    refused(
        "environment.pass = [\"A\", 3]\n",
        "config.toml:1:20: environment.pass: found a list in which something is no text or empty, expected a list of texts",
    );
    refused(
        "environment.pass = \"A\"\n",
        "config.toml:1:20: environment.pass: found \"A\", expected a list of texts",
    );
    refused(
        "agent.max_steps = [3]\n",
        "config.toml:1:19: agent.max_steps: found a list, expected a whole number from 1 to 10000",
    );
}

#[test]
fn a_bad_provider_is_refused_with_its_place() {
    refused(
        "[providers.x]\nkind = \"openai\"\n",
        "config.toml:2:8: providers.x.kind: found \"openai\", expected \"openai-chat\", \"openai-responses\", \"anthropic\" or \"scripted\"",
    );
    refused(
        "[providers.x]\nkind = \"openai-chat\"\n",
        "config.toml:1:12: providers.x.base_url is missing, expected a URL that starts with http:// or https://",
    );
    refused(
        "[providers.x]\nkind = \"openai-chat\"\nbase_url = \"ftp://x\"\n",
        "config.toml:3:12: providers.x.base_url: found \"ftp://x\", expected a URL that starts with http:// or https://",
    );
    refused(
        "[providers.x]\nkind = \"scripted\"\nscript = \"x\"\nbase_url = \"http://x\"\n",
        "config.toml:4:1: providers.x.base_url: unknown key for this kind, expected one of kind, script",
    );
    refused(
        "[providers.x]\nkind = \"openai-chat\"\nbase_url = \"http://x\"\nidle_timeout = \"0s\"\n",
        "config.toml:4:16: providers.x.idle_timeout: found \"0s\", expected a duration from \"1s\" to \"1h\"",
    );
}

#[test]
fn what_anthropic_takes_beside_its_endpoint_is_checked() {
    const HEAD: &str = "[providers.x]\nkind = \"anthropic\"\nbase_url = \"https://x\"\n";
    let read = |more: &str| {
        let text = format!("{HEAD}{more}");
        let layer = Layer::parse(Path::new("config.toml"), &text, Owner::User).expect("a good provider");
        match &layer.providers["x"].kind {
            ProviderKind::Anthropic { endpoint, thinking } => (endpoint.max_tokens, *thinking),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(""), (None, Thinking::Unsaid));
    assert_eq!(read("max_tokens = 0x1000\n"), (Some(4_096), Thinking::Unsaid));
    assert_eq!(read("thinking = \"adaptive\"\n"), (None, Thinking::Adaptive));
    assert_eq!(
        read("max_tokens = 2_000\nthinking = 1_999\n"),
        (Some(2_000), Thinking::Budget(1_999))
    );
    let bad = |more: &str, expected: &str| refused(&format!("{HEAD}{more}"), expected);
    bad(
        "max_tokens = 0\n",
        "config.toml:4:14: providers.x.max_tokens: found 0, expected a whole number from 1 to 1000000",
    );
    bad(
        "max_tokens = \"many\"\n",
        "config.toml:4:14: providers.x.max_tokens: found \"many\", expected a whole number from 1 to 1000000",
    );
    bad(
        "thinking = 32000\n",
        "config.toml:4:12: providers.x.thinking: found 32000, expected \"adaptive\", or a whole number from 1024 to 31999, \
         which is below max_tokens",
    );
    bad(
        "thinking = true\n",
        "config.toml:4:12: providers.x.thinking: found a value of type boolean, expected \"adaptive\", or a whole number \
         from 1024 to 31999, which is below max_tokens",
    );
    refused(
        "[providers.x]\nkind = \"openai-chat\"\nbase_url = \"https://x\"\nthinking = 1\n",
        "config.toml:4:1: providers.x.thinking: unknown key for this kind, expected one of kind, base_url, api_key_env, \
         api_key_command, headers, connect_timeout, idle_timeout, max_tokens, list_models",
    );
}

#[test]
fn what_responses_takes_beside_its_endpoint_is_checked() {
    const HEAD: &str = "[providers.x]\nkind = \"openai-responses\"\nbase_url = \"https://x\"\n";
    let read = |more: &str| {
        let text = format!("{HEAD}{more}");
        let layer = Layer::parse(Path::new("config.toml"), &text, Owner::User).expect("a good provider");
        match &layer.providers["x"].kind {
            ProviderKind::OpenAiResponses { reasoning_effort, .. } => reasoning_effort.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(""), None);
    assert_eq!(read("reasoning_effort = \"high\"\n").as_deref(), Some("high"));
    refused(
        &format!("{HEAD}reasoning_effort = \"Very high\"\n"),
        "config.toml:4:20: providers.x.reasoning_effort: found \"Very high\", expected one word of lower-case letters, such \
         as \"high\"",
    );
}

#[test]
fn a_project_may_not_set_endpoints_permissions_or_the_process() {
    for (text, key) in [
        ("[providers.x]\nkind = \"scripted\"\nscript = \"x\"\n", "providers"),
        ("mode = \"full\"\n", "mode"),
        ("[acp]\noutbox_bytes = 65536\n", "acp.outbox_bytes"),
        ("[store]\npage_events = 1\n", "store.page_events"),
    ] {
        let error = Layer::parse(Path::new("p.toml"), text, Owner::Project)
            .expect_err("must be refused")
            .to_string();
        assert!(
            error.contains(&format!("{key}: a project's file may not set this")),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn only_a_file_of_sensible_size_is_read() {
    let project = tempfile::tempdir().expect("a temp folder");
    let path = project.path().join("config.toml");
    let refused = || {
        let error = Layer::read(&path, Owner::Project).expect_err("must be refused");
        error.to_string()
    };
    std::os::unix::fs::symlink("/dev/null", &path).expect("a link");
    assert_eq!(
        refused(),
        format!("failed to read {}: it is not a file", path.display())
    );
    std::fs::remove_file(&path).expect("removed");
    std::fs::write(&path, "#".repeat(2 << 20)).expect("written");
    let error = refused();
    assert!(error.ends_with(": it has more than 1048576 bytes"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_says_why_once() {
    let home = tempfile::tempdir().expect("a temp folder");
    std::fs::create_dir(home.path().join("config.toml")).expect("made");
    let error = anyhow::Error::new(Config::load(home.path(), &Overrides::default()).expect_err("must be refused"));
    let text = format!("{error:#}");
    assert_eq!(text.matches("not a file").count(), 1, "{text}");
}

#[test]
fn text_that_is_no_toml_names_line_and_column() {
    let error = Layer::parse(Path::new("config.toml"), "model = \n", Owner::User).expect_err("must be refused");
    assert!(error.to_string().starts_with("config.toml:1:"), "{error}");
}

#[test]
fn a_switch_takes_true_and_false_and_only_of_the_user() {
    let layer = |text: &str, owner| Layer::parse(Path::new("config.toml"), text, owner);
    let on = layer("fetch.enabled = true\n", Owner::User).expect("sound");
    assert_eq!(on.values["fetch.enabled"], Value::Switch(true));
    refused(
        "fetch.enabled = \"true\"\n",
        "config.toml:1:17: fetch.enabled: found \"true\", expected true or false",
    );
    refused(
        "fetch.enabled = 1\n",
        "config.toml:1:17: fetch.enabled: found 1, expected true or false",
    );
    for owner in [Owner::Project, Owner::TrustedProject] {
        let error = layer("fetch.enabled = true\n", owner).expect_err("must be refused");
        let expected =
            "config.toml:1:7: fetch.enabled: a project's file may not set this; set it in your own config.toml";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_bad_flag_names_itself() {
    let home = tempfile::tempdir().expect("a temp folder");
    let flags = Overrides {
        values: vec![(&settings::MODE, "--mode", "yolo".to_owned())],
    };
    let error = Config::load(home.path(), &flags)
        .expect_err("must be refused")
        .to_string();
    assert_eq!(
        error,
        "--mode: found \"yolo\", expected \"plan\" or \"ask\" or \"accept-edits\" or \"full\""
    );
}

#[test]
fn every_default_is_within_its_own_range_and_keys_are_unique() {
    let mut seen = std::collections::BTreeSet::new();
    for setting in settings::SETTINGS {
        assert!(seen.insert(setting.key), "{} stands twice", setting.key);
        let default = setting.kind.default_text();
        if let Kind::Texts { default } = setting.kind {
            let texts = default.iter().map(|text| (*text).to_owned()).collect();
            assert!(setting.kind.parse_texts(texts).is_some(), "{}", setting.key);
        } else if default != "none" {
            let value = setting.kind.parse_text(default.trim_matches('"'));
            assert!(value.is_some(), "{}: default {default} is out of range", setting.key);
        }
    }
}

#[test]
fn a_key_comes_from_the_environment_or_from_a_command() {
    const HEAD: &str = "[providers.x]\nkind = \"openai-chat\"\nbase_url = \"https://x\"\n";
    let text = format!("{HEAD}api_key_command = [\"pass\", \"show\", \"x\"]\nlist_models = false\nmax_tokens = 9\n");
    let layer = Layer::parse(Path::new("config.toml"), &text, Owner::User).expect("a good provider");
    let ProviderKind::OpenAiChat(endpoint) = &layer.providers["x"].kind else {
        panic!("{layer:?}")
    };
    let command = ["pass", "show", "x"].map(str::to_owned).to_vec();
    assert_eq!(endpoint.api_key_command, Some(command));
    assert_eq!((endpoint.max_tokens, endpoint.list_models), (Some(9), false));
    let check = |more: &str, expected: &str| refused(&format!("{HEAD}{more}"), expected);
    check(
        "api_key_command = \"pass\"\n",
        "config.toml:4:19: providers.x.api_key_command: found \"pass\", expected a list of texts, a program and its \
         arguments",
    );
    check(
        "api_key_command = []\n",
        "config.toml:4:19: providers.x.api_key_command: found a list without a program, or with something else than texts, \
         expected a list of texts, a program and its arguments",
    );
    check(
        "api_key_env = \"K\"\napi_key_command = [\"p\"]\n",
        "config.toml:5:19: providers.x.api_key_command: found api_key_env as well, expected one of both",
    );
    check(
        "list_models = 1\n",
        "config.toml:4:15: providers.x.list_models: found 1, expected true or false",
    );
}

#[test]
fn what_the_user_tells_of_models_is_checked() {
    let text = "[models.\"a/b/c\"]\ncontext_window = 8_192\nimages = false\ninput_price = 1\noutput_price = 2.5\n";
    let layer = Layer::parse(Path::new("config.toml"), text, Owner::User).expect("good tables");
    let facts = &layer.models["a/b/c"];
    assert_eq!((facts.context_window, facts.images), (Some(8_192), Some(false)));
    assert_eq!((facts.input_price, facts.output_price), (Some(1.0), Some(2.5)));
    let check = |text: &str, expected: &str| refused(text, &format!("config.toml:{expected}"));
    check(
        "[models.x]\n",
        "1:9: models.x: found a name without a provider, expected tables such as [models.\"deepseek/deepseek-chat\"]",
    );
    check(
        "models = 1\n",
        "1:10: models: expected tables such as [models.\"deepseek/deepseek-chat\"]",
    );
    check(
        "[models.\"a/b\"]\nwindow = 1\n",
        "2:1: models.\"a/b\".window: unknown key, expected one of name, context_window, max_output, images, tools, \
         input_price, output_price, cached_input_price",
    );
    check(
        "[models.\"a/b\"]\ncontext_window = 0\n",
        "2:18: models.\"a/b\".context_window: found 0, expected a whole number from 1 to 100000000",
    );
    check(
        "[models.\"a/b\"]\ninput_price = -0.5\noutput_price = 1\n",
        "2:15: models.\"a/b\".input_price: found -0.5, expected a number from 0 to 10000",
    );
    check(
        "[models.\"a/b\"]\ninput_price = 1\n",
        "1:9: models.\"a/b\".output_price is missing, expected it with the other prices",
    );
    let project = Layer::parse(Path::new("config.toml"), text, Owner::Project).expect_err("the user's alone");
    assert_eq!(
        project.to_string(),
        "config.toml:1:2: models: a project's file may not set this; set it in your own config.toml"
    );
}
