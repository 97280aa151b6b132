//! `weft trust`: says yes to what a project's own settings may run.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::args::TrustArgs;
use crate::config::{Config, Home, project_file};
use crate::terminal::one_line;
use crate::trust::{Powers, Trust};

/// Does what was asked for.
pub(crate) fn run(args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let trust = Trust::below(&Home::find()?.config);
    if args.list {
        return list(&trust);
    }
    if args.revoke {
        return revoke(&trust, &args.dir);
    }
    grant(&trust, args)
}

fn grant(trust: &Trust, args: &TrustArgs) -> anyhow::Result<ExitCode> {
    let folder = (args.dir.canonicalize())
        .with_context(|| format!("failed to find the project's folder {}", args.dir.display()))?;
    // What is shown is what is remembered, whatever happens to the file meanwhile.
    let powers = Config::powers_of(&folder)?;
    let file = project_file(&folder);
    if powers.is_empty() {
        return said(format_args!("Nothing in {} needs trust.", shown(&file)));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{} sets:", shown(&file))?;
    write_lines(&mut out, &powers)?;
    out.flush()?;
    Trust::check_asked()?;
    if !args.yes && !confirmed(&folder)? {
        return Ok(ExitCode::FAILURE);
    }
    trust.grant(&folder, &powers)?;
    said(format_args!(
        "{} is trusted with this, from the next session on; if the file sets anything else, it asks again.",
        shown(&folder)
    ))
}

/// Asks on the terminal. Where there is none, nobody has said yes.
fn confirmed(folder: &Path) -> io::Result<bool> {
    let mut err = io::stderr().lock();
    if !io::stdin().is_terminal() {
        let hint = "hint: run it in a terminal, or with --yes if you know what the project sets";
        writeln!(err, "weft: nobody can be asked here, so nothing is trusted\n{hint}")?;
        return Ok(false);
    }
    write!(
        err,
        "Let it run programs and allow calls with your rights in {}? [y/N] ",
        shown(folder)
    )?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !yes {
        writeln!(err, "nothing is trusted")?;
    }
    Ok(yes)
}

fn revoke(trust: &Trust, folder: &Path) -> anyhow::Result<ExitCode> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    if trust.revoke(&folder)? {
        said(format_args!("{} is no longer trusted.", shown(&folder)))
    } else {
        said(format_args!("{} was not trusted.", shown(&folder)))
    }
}

fn list(trust: &Trust) -> anyhow::Result<ExitCode> {
    let mut out = io::stdout().lock();
    for (folder, powers) in trust.list()? {
        writeln!(out, "{}", one_line(&folder))?;
        write_lines(&mut out, &powers)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_lines(out: &mut impl Write, powers: &Powers) -> io::Result<()> {
    powers
        .lines()
        .try_for_each(|line| writeln!(out, "  {}", one_line(line)))
}

fn said(text: std::fmt::Arguments<'_>) -> anyhow::Result<ExitCode> {
    writeln!(io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
