//! Which crate depends on which: against the rules, and against the drawing in the documents.

mod document;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::Deserialize;

use super::none_found;
use crate::command::cargo;
use crate::workspace::Workspace;

/// What cargo resolved, by package name; versions do not matter here.
///
/// Dependencies of tests are left out: a test may cross the borders it checks.
struct Graph {
    /// Every package with what it depends on directly.
    edges: BTreeMap<String, BTreeSet<String>>,
    /// The packages of the workspace.
    members: BTreeSet<String>,
}

impl Graph {
    fn resolve(workspace: &Workspace) -> anyhow::Result<Self> {
        let text = workspace.capture(&mut cargo(&["metadata", "--format-version=1", "--locked"]))?;
        Self::parse(&text).context("failed to read the output of cargo metadata")
    }

    fn parse(text: &str) -> serde_json::Result<Self> {
        let metadata: Metadata = serde_json::from_str(text)?;
        let names: BTreeMap<&str, &str> = metadata
            .packages
            .iter()
            .map(|package| (&*package.id, &*package.name))
            .collect();
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
        for node in &metadata.resolve.nodes {
            let lasting = node
                .deps
                .iter()
                .filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev")));
            edges
                .entry(name(&node.id))
                .or_default()
                .extend(lasting.map(|dep| name(&dep.pkg)));
        }
        let members = metadata.workspace_members.iter().map(|id| name(id)).collect();
        Ok(Self { edges, members })
    }

    fn direct(&self, package: &str) -> impl Iterator<Item = &str> {
        self.edges.get(package).into_iter().flatten().map(String::as_str)
    }

    /// The shortest way from a package to another, both included, if there is one.
    fn path(&self, from: &str, to: &str) -> Option<Vec<String>> {
        let mut paths = vec![vec![from.to_owned()]];
        let mut seen = BTreeSet::from([from.to_owned()]);
        while !paths.is_empty() {
            let mut longer = Vec::new();
            for path in paths {
                let last = path.last().expect("a path has its start");
                for next in self.direct(last) {
                    let mut path = path.clone();
                    path.push(next.to_owned());
                    if next == to {
                        return Some(path);
                    }
                    if seen.insert(next.to_owned()) {
                        longer.push(path);
                    }
                }
            }
            paths = longer;
        }
        None
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

/// Checks the rules, then the documents.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let graph = Graph::resolve(workspace)?;
    let mut findings = rules::violations(&graph);
    findings.extend(document::differences(workspace, &graph)?);
    println!("{} crates", graph.members.len());
    none_found("dependencies or names are not as they should be", &findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Graph {
        /// A graph of members with their dependencies; what is no member is an outside package.
        pub(super) fn of(members: &[(&str, &[&str])]) -> Self {
            let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            Self {
                edges: members
                    .iter()
                    .map(|(name, deps)| ((*name).to_owned(), set(deps)))
                    .collect(),
                members: members.iter().map(|(name, _)| (*name).to_owned()).collect(),
            }
        }
    }

    #[test]
    fn a_path_goes_through_other_packages() {
        let graph = Graph::of(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["b"]), ("d", &[])]);
        assert_eq!(graph.path("a", "d").expect("a needs d by way of b"), ["a", "b", "d"]);
        assert!(graph.path("d", "a").is_none());
    }

    #[test]
    fn g51_the_types_of_records_depend_on_no_host() {
        let workspace = Workspace::open().expect("the tests run in the workspace");
        let graph = Graph::resolve(&workspace).expect("cargo resolves the workspace");
        let direct: Vec<&str> = graph.direct("weft-types").collect();
        assert_eq!(direct, ["serde", "serde_json", "thiserror"]);
    }

    #[test]
    fn dependencies_of_tests_are_left_out() {
        let text = r#"{"packages":[{"id":"1","name":"a"},{"id":"2","name":"b"},{"id":"3","name":"c"}],"workspace_members":["1"],
            "resolve":{"nodes":[{"id":"1","deps":[{"pkg":"2","dep_kinds":[{"kind":"dev"}]},
            {"pkg":"3","dep_kinds":[{"kind":"dev"},{"kind":null}]}]}]}}"#;
        let graph = Graph::parse(text).expect("the text is as cargo writes it");
        assert_eq!(graph.direct("a").collect::<Vec<_>>(), ["c"]);
    }
}
