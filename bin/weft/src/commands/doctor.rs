//! `weft doctor`: what is in order, what is not, and how to mend it.
//!
//! Each check runs on a thread of its own within a time limit, so that one that hangs or panics is itself a finding and
//! keeps no other from being made. Nothing is changed but a file that is made and deleted to see whether that works, and
//! MCP servers and agents of others are started and ended again.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use crate::args::DoctorArgs;
use crate::config::{Config, ConfigError, Home, Overrides, settings};
use crate::models::Providers;
use crate::terminal::{Palette, is_live, one_line};

mod agents;
mod configuration;
mod editors;
mod mcp;
mod model;
mod storage;
mod surroundings;
mod told;
mod worker;

/// How long one check may take.
const TIME: Duration = Duration::from_secs(10);
/// How long one may that starts MCP servers: each has a limit of its own, which is shorter.
const SERVERS_TIME: Duration = Duration::from_secs(30);
/// How long one may that starts agents: each has a limit of its own, which is usually shorter.
const AGENTS_TIME: Duration = Duration::from_secs(90);
/// How long one may that asks a model.
const ONLINE_TIME: Duration = Duration::from_secs(60);

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ok,
    /// weft works, but not as well as it could.
    Warn,
    /// Something does not work.
    Fail,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    status: Status,
    found: String,
    /// What to do about it.
    mend: Option<String>,
}

impl Finding {
    fn ok(found: impl Into<String>) -> Self {
        Self {
            status: Status::Ok,
            found: found.into(),
            mend: None,
        }
    }

    fn warn(found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            status: Status::Warn,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }

    fn fail(found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            status: Status::Fail,
            ..Self::warn(found, mend)
        }
    }
}

/// What all checks look at.
struct Patient {
    home: Result<Home, ConfigError>,
    /// The user's configuration; absent where it cannot be used.
    config: Option<Config>,
    /// Why it cannot be used.
    broken: Option<ConfigError>,
    providers: Option<Result<Providers, String>>,
    project: PathBuf,
    online: bool,
}

impl Patient {
    fn new(args: &DoctorArgs) -> anyhow::Result<Self> {
        let project = (args.dir.canonicalize())
            .with_context(|| format!("failed to find the project's folder {}", args.dir.display()))?;
        let home = Home::find();
        let loaded = home.as_ref().ok().map(|home| Config::load(&home.config, &overrides()));
        let (config, broken) = match loaded {
            Some(Ok(config)) => (Some(config), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let in_project = config.as_ref().map(|config| config.for_project(&project));
        let effective = in_project.and_then(Result::ok).or_else(|| config.clone());
        let providers = effective
            .as_ref()
            .map(|config| Providers::new(config).map_err(|error| format!("{error:#}")));
        Ok(Self {
            home,
            config,
            broken,
            providers,
            project,
            online: args.online,
        })
    }

    /// The configuration as sessions in the project have it, as far as it can be used.
    fn effective(&self) -> Option<Config> {
        let config = self.config.as_ref()?;
        Some(config.for_project(&self.project).unwrap_or_else(|_| config.clone()))
    }
}

/// What the environment says, as for `weft acp`.
fn overrides() -> Overrides {
    let given = [(&settings::MODEL, "WEFT_MODEL"), (&settings::MODE, "WEFT_MODE")];
    let values = given.into_iter().filter_map(|(setting, variable)| {
        let value = std::env::var(variable).ok().filter(|value| !value.is_empty())?;
        Some((setting, variable, value))
    });
    Overrides {
        values: values.collect(),
    }
}

type Check = fn(&Patient) -> Vec<Finding>;

/// Every check with what it looks at, in the order in which they are told.
const CHECKS: &[(&str, Check)] = &[
    ("configuration", configuration::check),
    ("trust", configuration::trust),
    ("permissions", configuration::permissions),
    ("home", storage::home),
    ("sessions", storage::sessions),
    ("model", model::check),
    ("instructions", told::instructions),
    ("skills", told::skills),
    ("tools", surroundings::tools),
    ("mcp", mcp::check),
    ("agents", agents::check),
    ("sandbox", surroundings::sandbox),
    ("workflows", worker::check),
    ("processes", surroundings::processes),
    ("limits", surroundings::limits),
    ("editor", editors::check),
];

/// Makes every check and tells what it found.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let patient = Arc::new(Patient::new(args)?);
    let mut out = io::stdout().lock();
    let mut all = Vec::new();
    for (area, check) in CHECKS {
        let time = match *area {
            "agents" => AGENTS_TIME,
            _ if patient.online => ONLINE_TIME,
            "mcp" => SERVERS_TIME,
            _ => TIME,
        };
        for finding in contained(&patient, *check, time) {
            if !args.json {
                tell(&mut out, area, &finding)?;
            }
            all.push((*area, finding));
        }
    }
    let failed = all.iter().any(|(_, finding)| finding.status == Status::Fail);
    if args.json {
        let checks: Vec<_> = all.iter().map(|(area, finding)| as_json(area, finding)).collect();
        writeln!(out, "{}", json!({"ok": !failed, "checks": checks}))?;
    }
    out.flush()?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What a check finds, or that it does not end well.
fn contained(patient: &Arc<Patient>, check: Check, time: Duration) -> Vec<Finding> {
    let (done, result) = mpsc::sync_channel(1);
    let patient = Arc::clone(patient);
    // One that hangs ends with the process.
    std::thread::spawn(move || {
        let _nobody_waits = done.send(check(&patient));
    });
    match result.recv_timeout(time) {
        Ok(findings) => findings,
        Err(mpsc::RecvTimeoutError::Timeout) => vec![Finding::fail(
            format!("the check was not done within {}", time.as_secs()) + " s",
            "look whether a disk or a network file system hangs",
        )],
        Err(mpsc::RecvTimeoutError::Disconnected) => vec![Finding::fail(
            "the check failed by a defect of weft",
            "please report it with what stands above",
        )],
    }
}

/// One line, and one more with what to do.
fn tell(out: &mut impl Write, area: &str, finding: &Finding) -> io::Result<()> {
    let ink = if is_live() { Palette::COLOURED } else { Palette::PLAIN };
    let (colour, word) = match finding.status {
        Status::Ok => (ink.green, "ok"),
        Status::Warn => (ink.yellow, "warn"),
        Status::Fail => (ink.red, "fail"),
    };
    let reset = ink.reset;
    writeln!(
        out,
        "{colour}{word:<4}{reset}  {area:<13}  {}",
        one_line(&finding.found)
    )?;
    if let Some(mend) = &finding.mend {
        writeln!(out, "{:21}mend: {}", "", one_line(mend))?;
    }
    Ok(())
}

fn as_json(area: &str, finding: &Finding) -> serde_json::Value {
    let status = match finding.status {
        Status::Ok => "ok",
        Status::Warn => "warn",
        Status::Fail => "fail",
    };
    json!({"check": area, "status": status, "found": finding.found, "mend": finding.mend})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patient() -> Arc<Patient> {
        Arc::new(Patient {
            home: Err(ConfigError::NoHome("none".to_owned())),
            config: None,
            broken: None,
            providers: None,
            project: PathBuf::from("/"),
            online: false,
        })
    }

    #[test]
    fn a_check_that_hangs_or_panics_is_a_finding() {
        let hung = contained(
            &patient(),
            |_| {
                std::thread::park();
                Vec::new()
            },
            Duration::from_millis(1),
        );
        assert_eq!(hung[0].status, Status::Fail);
        let panicked = contained(&patient(), |_| panic!("a defect"), TIME);
        assert_eq!(panicked[0].found, "the check failed by a defect of weft");
    }
}
