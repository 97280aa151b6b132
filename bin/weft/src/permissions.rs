//! What sessions may do: the rules of the configuration, and those that the user gave for a project in answers.

mod project;

use std::path::Path;
use std::sync::Arc;

use weft_agent::{PermissionMode, Permissions, RuleFolders, Rules};
use weft_types::RuleEffect;

use crate::config::{Config, settings};
use project::ProjectFile;

/// The permissions of a session that works in `cwd`, under its configuration.
pub(crate) fn open(config: &Config, cwd: &Path) -> anyhow::Result<Permissions> {
    let mut rules = Rules::new(RuleFolders {
        cwd: cwd.to_owned(),
        home: std::env::home_dir(),
    });
    let lists = [
        (RuleEffect::Allow, &settings::ALLOW),
        (RuleEffect::Ask, &settings::ASK),
        (RuleEffect::Deny, &settings::DENY),
    ];
    for (effect, setting) in lists {
        for rule in config.rules(setting) {
            rules.add(effect, rule)?;
        }
    }
    let file = ProjectFile::of(config.home(), cwd);
    for (effect, rule) in file.read()? {
        rules.add(effect, &rule)?;
    }
    let mode = config.text(&settings::MODE).and_then(PermissionMode::parse);
    Ok(Permissions::with_rules(mode.unwrap_or_default(), rules).kept_in(Arc::new(file)))
}
