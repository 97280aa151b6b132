//! `weft workflow list`.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{UNTRUSTED, surroundings};
use crate::args::WorkflowListArgs;
use crate::terminal::one_line;
use crate::workflows::{Found, Standing};

pub(super) fn run(args: &WorkflowListArgs) -> anyhow::Result<ExitCode> {
    let (_, workflows) = surroundings(Path::new("."))?;
    let all = workflows.all();
    let mut out = io::stdout().lock();
    if args.json {
        let all: Vec<Value> = all.iter().map(document).collect();
        writeln!(out, "{}", json!({ "workflows": all }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = all.iter().map(|found| found.name.len()).max().unwrap_or_default();
    for found in &all {
        let Found { name, owner, .. } = found;
        let (state, text) = told(found);
        let state = if state == "usable" {
            String::new()
        } else {
            format!("{state}: ")
        };
        writeln!(out, "{name:width$}  {owner:7}  {state}{}", one_line(&text))?;
    }
    if all.is_empty() {
        let _unread = writeln!(
            io::stderr(),
            "no saved workflows; weft workflow --help says where they lie"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A state's word, and what there is to say of it.
fn told(found: &Found) -> (&'static str, String) {
    match &found.standing {
        Standing::Usable(meta) => ("usable", meta.description.clone()),
        Standing::Untrusted(_) => ("untrusted", UNTRUSTED.to_owned()),
        Standing::Broken(reason) => ("broken", format!("{reason} ({})", found.path.display())),
        Standing::Hidden(by) => (
            "hidden",
            format!("{} goes before {}", by.display(), found.path.display()),
        ),
    }
}

fn document(found: &Found) -> Value {
    let (state, text) = told(found);
    let mut document = json!({
        "name": found.name,
        "owner": found.owner.to_string(),
        "path": found.path,
        "state": state,
    });
    match &found.standing {
        Standing::Usable(meta) | Standing::Untrusted(meta) => document["description"] = json!(meta.description),
        Standing::Broken(_) | Standing::Hidden(_) => {}
    }
    if state != "usable" {
        document["reason"] = json!(text);
    }
    document
}
