//! The documents' word on the code: the drawn graph, and the paths they name.
//!
//! `docs/architecture.md` has one fenced block with the info string `graph`, a line for each crate:
//! `acp -> agent, tools, types`. Crates are called by their folder, the binary `weft`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Graph;
use crate::workspace::Workspace;

/// Files of the projects that people work on with weft, not of this one.
const USERS: [&str; 2] = ["AGENTS.md", "SKILL.md"];

const ARCHITECTURE: &str = "docs/architecture.md";

/// Where the documents and the code differ.
pub(super) fn differences(workspace: &Workspace, graph: &Graph) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut drawn = None;
    for file in workspace.files()?.into_iter().filter(|file| is_document(file)) {
        let text = workspace.text(&file)?.unwrap_or_default();
        let missing = paths(&text)
            .filter(|path| !USERS.contains(path))
            .filter(|path| !workspace.root.join(in_full(path)).exists());
        found.extend(missing.map(|path| format!("{} names {path}, which does not exist", file.display())));
        if file == Path::new(ARCHITECTURE) {
            drawn = graph_block(&text);
        }
    }
    let Some(drawn) = drawn else {
        found.push(format!("{ARCHITECTURE} has no fenced block `graph`"));
        return Ok(found);
    };
    let real = edges(graph);
    for name in real.keys().chain(drawn.keys()).collect::<BTreeSet<_>>() {
        let (drawn, real) = (line(name, drawn.get(name)), line(name, real.get(name)));
        if drawn != real {
            found.push(format!("{ARCHITECTURE} draws `{drawn}`, but it is `{real}`"));
        }
    }
    Ok(found)
}

/// The documents that are kept true: the README and what is in `docs/`, but not the history.
fn is_document(file: &Path) -> bool {
    let markdown = file.extension().is_some_and(|extension| extension == "md");
    markdown && (file.starts_with("docs") || file == Path::new("README.md"))
}

type Edges = BTreeMap<String, BTreeSet<String>>;

/// The edges between members of the workspace, by short name.
fn edges(graph: &Graph) -> Edges {
    let of = |name: &str| {
        graph
            .direct(name)
            .filter(|to| graph.members.contains(*to))
            .map(short)
            .collect()
    };
    graph.members.iter().map(|name| (short(name), of(name))).collect()
}

fn short(package: &str) -> String {
    package.strip_prefix("weft-").unwrap_or(package).to_owned()
}

/// A line of the drawing; nothing for a crate that is not in it.
fn line(name: &str, to: Option<&BTreeSet<String>>) -> String {
    let Some(to) = to else { return String::new() };
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    format!("{name} -> {}", to.join(", ")).trim_end().to_owned()
}

/// The graph a document draws; lines that are no edges make it another graph.
fn graph_block(text: &str) -> Option<Edges> {
    let block = text.split_once("```graph\n")?.1.split_once("\n```")?.0;
    let lines = block.lines().filter(|line| !line.trim().is_empty());
    Some(
        lines
            .map(|line| {
                let (from, to) = line.split_once("->").unwrap_or((line, ""));
                let to = to.split(',').map(str::trim).filter(|name| !name.is_empty());
                (from.trim().to_owned(), to.map(str::to_owned).collect())
            })
            .collect(),
    )
}

/// What stands in backticks and looks like a path of this repository.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| looks_like_a_path(span))
}

/// The sources of a crate may be named from the crate's folder on: `acp/src/outbox.rs`.
fn in_full(path: &str) -> PathBuf {
    let is_short = names_sources(path) && !path.starts_with("crates/") && !path.starts_with("bin/");
    Path::new(if is_short { "crates" } else { "" }).join(path)
}

fn names_sources(path: &str) -> bool {
    path.contains("/src/")
}

fn looks_like_a_path(span: &str) -> bool {
    let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let path = PathBuf::from(span);
    let first = path.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
    let in_repository = ["crates", "bin", "tests", "fixtures", "docs", ".ci", ".cargo"].contains(&first);
    let file_of_root = path.iter().count() == 1
        && path
            .extension()
            .is_some_and(|extension| extension == "md" || extension == "toml" || extension == "lock")
        && first.starts_with(|c: char| c.is_ascii_uppercase());
    plain && ((in_repository && span.contains('/')) || names_sources(span) || file_of_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_is_compared_edge_by_edge() {
        let graph = Graph::of(&[
            ("weft", &["weft-acp", "clap"]),
            ("weft-acp", &["weft-types", "weft-agent"]),
            ("weft-agent", &["weft-types"]),
            ("weft-types", &["serde"]),
        ]);
        let text = "# A\n\n```graph\nweft -> acp\nacp -> types, agent\nagent ->\n```\n";
        let (real, drawn) = (edges(&graph), graph_block(text).expect("there is a block"));
        assert_eq!(
            (real.get("weft"), real.get("acp")),
            (drawn.get("weft"), drawn.get("acp"))
        );
        assert_eq!(line("agent", drawn.get("agent")), "agent ->");
        assert_eq!(line("agent", real.get("agent")), "agent -> types");
        assert_eq!(line("types", drawn.get("types")), "");
        assert_eq!(graph_block("# A\n"), None);
    }

    #[test]
    fn paths_are_told_from_methods_and_types() {
        let text = "`crates/acp/src/lib.rs`, `session/update`, `Cargo.toml`, `config.toml`, `crates/<name>`, `docs/`\n";
        assert_eq!(
            paths(text).collect::<Vec<_>>(),
            ["crates/acp/src/lib.rs", "Cargo.toml", "docs/"]
        );
        assert_eq!(
            paths("in `acp/src/outbox.rs`\n").collect::<Vec<_>>(),
            ["acp/src/outbox.rs"]
        );
        assert_eq!(in_full("acp/src/outbox.rs"), Path::new("crates/acp/src/outbox.rs"));
        assert_eq!(in_full("bin/weft/src/main.rs"), Path::new("bin/weft/src/main.rs"));
    }
}
