//! Which editors would start weft.

use std::path::Path;

use super::{Finding, Patient};
use crate::args::Editor;
use crate::commands::setup;

/// Every editor whose settings are found.
pub(super) fn check(_patient: &Patient) -> Vec<Finding> {
    let found: Vec<_> = [(Editor::Zed, "zed"), (Editor::Jetbrains, "jetbrains")]
        .into_iter()
        .filter_map(|(editor, name)| looked_at(&setup::settings_of(editor)?, name))
        .collect();
    if found.is_empty() {
        return vec![Finding::ok(
            "no settings of Zed or JetBrains found; weft setup EDITOR prints the entry of each",
        )];
    }
    found
}

fn looked_at(settings: &Path, name: &str) -> Option<Finding> {
    let text = std::fs::read_to_string(settings).ok()?;
    let shown = settings.display();
    // Settings may hold comments, so that this is a look and no reading.
    Some(if text.contains("agent_servers") && text.contains("\"weft\"") {
        Finding::ok(format!("{shown} names weft"))
    } else {
        Finding::warn(
            format!("{shown} does not name weft"),
            format!("weft setup {name} prints its entry"),
        )
    })
}
