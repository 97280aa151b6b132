//! What must not stand in a tracked file, whatever its kind.

use std::path::Path;

use super::none_found;
use crate::workspace::Workspace;

/// Unfinished or switched-off code; each in two halves, so that this file does not find itself.
const UNFINISHED: [&str; 6] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("#[", "ignore]"),
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
];

/// Folders that exist on one person's machine only.
const MACHINE_FOLDERS: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Hosts that packages come from: which one is in use is a setting of the machine.
const REGISTRY_HOSTS: [&str; 5] = [
    concat!("registry.npm", "js.org"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
];

/// Looks at every line of every text file.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let root = format!("{}/", workspace.root.display());
    let mut findings = Vec::new();
    let mut read = 0;
    for file in workspace.files()? {
        let Some(text) = workspace.text(&file)? else { continue };
        read += 1;
        let found = findings_of(&file, &text, &root);
        findings.extend(found.into_iter().map(|finding| format!("{}:{finding}", file.display())));
    }
    println!("{read} text files");
    none_found("lines must not stay as they are", &findings)
}

/// The findings of one file, each as `line: what`; `root` is where this checkout lies.
fn findings_of(file: &Path, text: &str, root: &str) -> Vec<String> {
    let is_code = file.extension().is_some_and(|extension| {
        ["rs", "ts", "tsx", "py", "mjs", "js"]
            .iter()
            .any(|code| extension == *code)
    });
    // The files a scenario starts with are data: they may be of any form.
    let is_data = file.starts_with("fixtures") && file.iter().any(|part| part == "workspace");
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut report = |what: String| findings.push(format!("{}: {what}", index + 1));
        if line.contains('\t') && !is_data {
            report("a tab".into());
        }
        if line.contains(root) {
            report("the path of this checkout".into());
        }
        for folder in MACHINE_FOLDERS.into_iter().filter(|folder| names_folder(line, folder)) {
            report(format!("a path of one machine, {folder}"));
        }
        for host in REGISTRY_HOSTS.into_iter().filter(|host| line.contains(host)) {
            report(format!("the host of a package registry, {host}"));
        }
        if is_code {
            let left = UNFINISHED.into_iter().filter(|mark| line.contains(mark));
            left.for_each(|mark| report(format!("unfinished or switched off, {mark}")));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') && !is_data {
        findings.push(format!("{}: no newline at the end", text.lines().count()));
    }
    findings
}

/// Whether the line has the folder as the beginning of an absolute path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"_.-~}".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: &[&str]) {
        assert_eq!(findings_of(Path::new(file), text, "/somewhere/weft/"), expected);
    }

    #[test]
    fn unfinished_code_is_found_in_code_only() {
        let line = format!("fn a() {{ {}) }}\n", concat!("todo", "!("));
        check("a.rs", &line, &[concat!("1: unfinished or switched off, todo", "!(")]);
        check("a.md", &line, &[]);
        check("a.rs", "#[ignore = \"needs a terminal\"]\n", &[]);
    }

    #[test]
    fn paths_of_one_machine_are_found_and_relative_ones_are_not() {
        check(
            "a.md",
            concat!("see /ho", "me/me/x\n"),
            &[concat!("1: a path of one machine, /ho", "me/")],
        );
        check("a.md", concat!("see crates/ho", "me/x and ~/ho", "me/x\n"), &[]);
        check("a.md", "in /somewhere/weft/target\n", &["1: the path of this checkout"]);
    }

    #[test]
    fn registry_hosts_are_found() {
        check(
            "package-lock.json",
            concat!("https://registry.npm", "js.org/x\n"),
            &[concat!("1: the host of a package registry, registry.npm", "js.org")],
        );
    }

    #[test]
    fn tabs_and_a_missing_final_newline_are_found_but_not_in_the_files_of_a_scenario() {
        check("a.toml", "a\n\tb", &["2: a tab", "2: no newline at the end"]);
        check("fixtures/s/workspace/Makefile", "a\n\tb", &[]);
        check("a.toml", "", &[]);
    }
}
