//! Work in a repository of a few thousand files: a search, edits of an open and of a closed file, a new file, a command.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::shown::Shown;
use super::{Client, Scene};
use crate::command::program;

const FOLDERS: usize = 60;
const UNITS: usize = 50;

/// The units that call the old function: this one of every second folder.
const CALLER: usize = 7;
const CALLERS: usize = FOLDERS / 2;

/// What the command prints as it goes, each line a while after the one before.
const CHECK: &str = "echo 'looking for calls of legacy_total'\nsleep 0.5\n\
    echo \"units left: $(git grep -l 'legacy_total(' -- src | wc -l | tr -d ' ')\"\nsleep 0.5\n\
    echo \"documents: $(ls docs)\"\n";

const OPEN: &str = "src/part00/unit07.rs";
const CLOSED: &str = "src/part02/unit07.rs";
const NEW: &str = "docs/totals.md";

/// Makes the repository, drives the client through the work in it, and looks at what became of it.
pub(super) fn take(scene: &Scene) -> anyhow::Result<String> {
    let folder = &scene.folder;
    let files = make(folder)?;
    let typed = unit(0, CALLER).replace("legacy_total(7)", "legacy_total(7, typed)");
    let mut task = scene.task(["Get rid of legacy_total."]);
    match scene.client() {
        // It has no files open: what counts is on the disk.
        Client::Acpx => fs::write(folder.join(OPEN), &typed)?,
        Client::Python | Client::TypeScript => {
            task.unsaved.insert(folder.join(OPEN), typed.clone());
        }
    }
    commit(scene)?;
    let shown = scene.drive(&task)?;

    let expected = BTreeMap::from([
        (OPEN, typed.replace("legacy_total(7, typed)", "total(7, typed)")),
        (CLOSED, unit(2, CALLER).replace("legacy_total(", "total(")),
        (NEW, "One unit is done.\n".to_owned()),
    ]);
    check_disk(scene, &expected)?;
    check_asked(folder, &shown.asked, &expected)?;
    check_shown(&shown)?;
    Ok(format!(
        "{files} files, 3 of them changed, through {} requests for the client's files",
        shown.asked.len()
    ))
}

/// The text of a unit.
fn unit(folder: usize, unit: usize) -> String {
    let is_caller = folder.is_multiple_of(2) && unit == CALLER;
    let function = if is_caller { "legacy_total" } else { "total" };
    format!(
        "//! Unit {unit} of part {folder}.\n\n/// Its own number, and what was before.\n\
         pub fn sum(before: u32) -> u32 {{\n    {function}({unit}) + {function}(before)\n}}\n"
    )
}

/// Writes the files and gives their number.
fn make(folder: &Path) -> anyhow::Result<usize> {
    for part in 0..FOLDERS {
        let sources = folder.join(format!("src/part{part:02}"));
        fs::create_dir_all(&sources)?;
        for number in 0..UNITS {
            fs::write(sources.join(format!("unit{number:02}.rs")), unit(part, number))?;
        }
    }
    // What is ignored is not searched.
    let generated = folder.join("src/generated");
    fs::create_dir(&generated)?;
    for number in 0..UNITS {
        fs::write(generated.join(format!("unit{number:02}.rs")), unit(0, CALLER))?;
    }
    fs::write(folder.join(".gitignore"), "generated/\n")?;
    fs::write(folder.join("check.sh"), CHECK)?;
    Ok((FOLDERS + 1) * UNITS + 2)
}

/// Runs git in the repository, apart from any settings of the user's, and gives what it prints.
fn git(scene: &Scene, arguments: &[&str]) -> anyhow::Result<String> {
    let mut git = program("git");
    git.arg("-C").arg(&scene.folder);
    git.args(["-c", "user.name=weft", "-c", "user.email=weft@localhost"]);
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    scene.capture(git.args(arguments))
}

fn commit(scene: &Scene) -> anyhow::Result<()> {
    git(scene, &["init", "--quiet"])?;
    git(scene, &["add", "--all"])?;
    git(scene, &["commit", "--quiet", "--message", "Begin"])?;
    Ok(())
}

/// These files have changed, and hold what they should; no other has.
fn check_disk(scene: &Scene, expected: &BTreeMap<&str, String>) -> anyhow::Result<()> {
    for (name, text) in expected {
        let found = fs::read_to_string(scene.folder.join(name)).with_context(|| format!("failed to read {name}"))?;
        ensure!(found == *text, "{name} holds {found:?}, expected {text:?}");
    }
    let status = git(scene, &["status", "--porcelain", "--untracked-files=all"])?;
    let mut changed: Vec<_> = status.lines().filter_map(|line| line.get(3..)).collect();
    changed.sort_unstable();
    let names: Vec<_> = expected.keys().copied().collect();
    ensure!(changed == names, "{changed:?} have changed, expected {names:?}");
    Ok(())
}

/// The client was asked for what the files hold, and each was written through it, once.
fn check_asked(folder: &Path, asked: &[(String, Value)], expected: &BTreeMap<&str, String>) -> anyhow::Result<()> {
    let of = |method: &str| {
        let params = asked
            .iter()
            .filter(move |(of, _)| of == method)
            .map(|(_, params)| params);
        params.collect::<Vec<_>>()
    };
    for name in [OPEN, CLOSED] {
        let path = json!(folder.join(name));
        let read = of("fs/read_text_file").iter().any(|params| params["path"] == path);
        ensure!(read, "the client was not asked for {name}");
    }
    let written = of("fs/write_text_file");
    ensure!(written.len() == expected.len(), "the client was to write {written:?}");
    for (name, text) in expected {
        let wanted = (json!(folder.join(name)), json!(text));
        let found = written
            .iter()
            .any(|params| (&params["path"], &params["content"]) == (&wanted.0, &wanted.1));
        ensure!(
            found,
            "the client was not asked to write {name}; it was to write {written:?}"
        );
    }
    Ok(())
}

/// The cards show what was found, what is typed and not saved, and the command's output as it came.
fn check_shown(shown: &Shown) -> anyhow::Result<()> {
    ensure!(shown.stops == ["end_turn"], "the turn ended with {:?}", shown.stops);
    let found = shown.card("search")?.completed()?;
    let callers = found.matches("/unit07.rs").count();
    ensure!(
        callers == CALLERS && !found.contains("generated"),
        "the search found {callers} units, expected {CALLERS}: {found}"
    );
    let names = shown.card("names")?.completed()?.matches("/unit07.rs").count();
    ensure!(names == 10, "{names} files have the name, expected 10");
    let read = shown.card("read-open")?.completed()?;
    ensure!(
        read.contains("legacy_total(7, typed)"),
        "what is typed is not read: {read}"
    );
    for id in ["read-closed", "edit-open", "edit-closed", "write"] {
        shown.card(id)?.completed()?;
    }
    let command = shown.card("check")?;
    let left = format!("units left: {}", CALLERS - 1);
    let live = |text: &String| text.contains("looking for") && !text.contains("units left");
    ensure!(
        command.running.iter().any(live),
        "the first line was not shown before the second"
    );
    let nearly = |text: &String| text.contains(&left) && !text.contains("documents");
    ensure!(
        command.running.iter().any(nearly),
        "the second line was not shown before the third"
    );
    let end = command.completed()?;
    ensure!(
        end.contains(&left) && end.contains("documents: totals.md"),
        "the command printed {end}"
    );
    let answer = format!("There are {} units left.", CALLERS - 1);
    ensure!(shown.said.ends_with(&answer), "the model was not told: {}", shown.said);
    ensure!(shown.cards() == 8, "there are {} cards, expected 8", shown.cards());
    Ok(())
}
