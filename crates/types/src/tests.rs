//! What the crate is made of.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// Records, observations and runs can be read without the parts that make them: no crate of the workspace stands
/// below this one, for tests and generated files neither, and what does only knows how data are written.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells what a crate depends on, and is waited for"
)]
fn g51_the_vocabulary_depends_on_no_agent_engine_or_registry() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version=1",
            "--manifest-path",
            manifest,
        ])
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let this = packages
        .iter()
        .find(|package| package["name"] == "weft-types")
        .expect("this crate");
    let dependencies = this["dependencies"].as_array().expect("dependencies");
    let built_in: BTreeSet<_> = dependencies
        .iter()
        .filter(|dependency| dependency["kind"].is_null() && dependency["optional"] == false)
        .filter_map(|dependency| dependency["name"].as_str())
        .collect();
    assert_eq!(built_in, BTreeSet::from(["serde", "serde_json", "thiserror"]));
    let own: Vec<_> = dependencies
        .iter()
        .filter(|dependency| dependency.get("path").is_some())
        .collect();
    assert!(own.is_empty(), "a crate of the workspace: {own:?}");
}
