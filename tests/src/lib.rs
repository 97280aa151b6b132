//! Helpers of the end-to-end tests.

use std::path::{Path, PathBuf};

/// The program under test, built beside the tests.
///
/// # Panics
///
/// If it has not been built.
pub fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("a test knows itself");
    let folder = tests
        .parent()
        .and_then(Path::parent)
        .expect("tests are built into deps/");
    let program = folder.join("weft");
    assert!(
        program.exists(),
        "{} is missing: run `cargo build -p weft` first",
        program.display()
    );
    program
}

/// The folders of the committed scenarios, sorted.
///
/// # Panics
///
/// If there are none.
pub fn scenarios() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let entries = std::fs::read_dir(&fixtures).expect("there are fixtures");
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    folders.retain(|folder| folder.join("client.toml").exists());
    folders.sort();
    assert!(!folders.is_empty(), "{} holds no scenario", fixtures.display());
    folders
}
