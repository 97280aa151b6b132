use super::*;

#[track_caller]
fn refuses(change: impl FnOnce(&mut EngineConfig), expected: &str) {
    let mut config = EngineConfig::default();
    change(&mut config);
    let error = config.validate().expect_err("the setting is out of range");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_defaults_are_valid() {
    EngineConfig::default().validate().expect("defaults are in range");
}

#[test]
fn a_setting_out_of_range_is_named_with_what_is_allowed() {
    refuses(
        |c| c.max_concurrent_agents = 0,
        "workflow setting max_concurrent_agents is 0, expected 1 to 1024",
    );
    refuses(
        |c| c.max_slice = Duration::from_millis(1),
        "workflow setting max_slice is 1ms, expected 10ms to 3600s",
    );
    refuses(
        |c| c.provider = " spawn".into(),
        "workflow setting provider is \" spawn\", expected a name without surrounding blanks",
    );
    refuses(
        |c| c.worker.program = PathBuf::new(),
        "workflow setting worker is an empty program, expected a path",
    );
    refuses(
        |c| c.max_address_space_bytes = 1,
        &format!(
            "workflow setting max_address_space_bytes is 1, expected 268435456 to {}",
            usize::MAX
        ),
    );
}

#[test]
fn limits_that_depend_on_each_other_are_tested_together() {
    refuses(
        |c| c.max_calls_in_flight = 15,
        "workflow setting max_calls_in_flight is 15, expected 16 to 4096",
    );
    refuses(
        |c| c.max_result_bytes = 10 * MIB,
        "workflow setting max_frame_bytes is 16777216, expected 20971520 to 268435456",
    );
}

#[test]
fn zero_means_without_limit_where_it_is_allowed() {
    let config = EngineConfig {
        max_run_time: Duration::ZERO,
        max_agent_time: Duration::ZERO,
        max_address_space_bytes: 0,
        dispose_grace: Duration::ZERO,
        cancel_grace: Duration::ZERO,
        ..EngineConfig::default()
    };
    assert_eq!(config.validate(), Ok(()));
}
