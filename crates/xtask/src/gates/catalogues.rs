//! The generated parts of the documentation, and whether they are fresh.
//!
//! Settings and tools are printed by the program itself; events and observations are read from the doc
//! comments of the types that are their vocabulary.

mod vocabulary;

use anyhow::{Context, bail};

use crate::command::program;
use crate::workspace::Workspace;

/// Fails if a generated document is not what would be generated today.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for (file, text) in generate(workspace)? {
        let committed = std::fs::read_to_string(workspace.root.join(file)).unwrap_or_default();
        if committed != text {
            stale.push(file);
        }
    }
    if !stale.is_empty() {
        bail!("{} out of date; run `cargo xtask catalogues-write`", stale.join(", "));
    }
    Ok(())
}

/// Writes them anew.
pub(crate) fn write(workspace: &Workspace) -> anyhow::Result<()> {
    for (file, text) in generate(workspace)? {
        let path = workspace.root.join(file);
        std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

fn generate(workspace: &Workspace) -> anyhow::Result<Vec<(&'static str, String)>> {
    let weft = workspace.built("weft");
    let printed = |part: &str| workspace.capture(program(&weft).args(["docs", part]));
    Ok(vec![
        ("docs/configuration.md", printed("configuration")?),
        ("docs/tools.md", printed("tools")?),
        ("docs/events.md", vocabulary::events(workspace)?),
    ])
}
