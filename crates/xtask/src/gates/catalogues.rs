//! What is generated and committed, and whether it is fresh: parts of the documentation, and the TypeScript and JSON
//! Schema of the types.
//!
//! Settings and tools are printed by the program itself; events and observations are read from the doc
//! comments of the types that are their vocabulary. The bindings are written by tests of the types' own, which compare
//! them unless they are told to write.

mod vocabulary;

use anyhow::{Context, bail};

use crate::command::{cargo, program};
use crate::workspace::Workspace;

/// Set, it has the tests of the bindings write them.
const WRITE_BINDINGS: &str = "WEFT_WRITE_BINDINGS";

/// Fails if something generated is not what would be generated today.
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
    bindings(workspace, false).context("the types' bindings may be out of date; run `cargo xtask catalogues-write`")
}

/// Writes all of it anew.
pub(crate) fn write(workspace: &Workspace) -> anyhow::Result<()> {
    for (file, text) in generate(workspace)? {
        let path = workspace.root.join(file);
        std::fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    bindings(workspace, true)
}

fn bindings(workspace: &Workspace, write: bool) -> anyhow::Result<()> {
    let mut test = cargo(&[
        "test",
        "--locked",
        "-p",
        "weft-types",
        "--features",
        "bindings",
        "--lib",
    ]);
    test.args(["--", "bindings::"]);
    if write {
        test.env(WRITE_BINDINGS, "1");
    } else {
        test.env_remove(WRITE_BINDINGS);
    }
    workspace.run(&mut test)
}

fn generate(workspace: &Workspace) -> anyhow::Result<Vec<(&'static str, String)>> {
    let weft = workspace.built("weft");
    let printed = |part: &str| workspace.capture(program(&weft).args(["docs", part]));
    Ok(vec![
        ("docs/configuration.md", printed("configuration")?),
        ("docs/tools.md", printed("tools")?),
        ("docs/workflow-script.md", printed("script")?),
        ("docs/events.md", vocabulary::events(workspace)?),
    ])
}
