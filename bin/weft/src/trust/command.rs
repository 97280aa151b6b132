//! `/trust`: what the project of a session wants of the user.

use std::path::{Path, PathBuf};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_agent::{ProjectTrust, ProjectWish};

use super::{Powers, Trust, TrustState};
use crate::config::{Config, project_file};
use crate::terminal::one_line;

/// The project of one session.
#[derive(Clone, Debug)]
pub(crate) struct TrustCommand {
    trust: Trust,
    cwd: PathBuf,
}

impl TrustCommand {
    /// The project in `cwd`, for the user whose own folder is `home`.
    pub(crate) fn new(home: &Path, cwd: &Path) -> Self {
        Self {
            trust: Trust::below(home),
            cwd: cwd.to_owned(),
        }
    }

    /// Blocks on the disk.
    fn look(self) -> Result<ProjectWish, String> {
        let powers = Config::powers_of(&self.cwd).map_err(|error| error.to_string())?;
        let file = one_line(&project_file(&self.cwd).to_string_lossy());
        match self.trust.of(&self.cwd, &powers) {
            TrustState::NotNeeded => Ok(ProjectWish::Nothing(format!("Nothing in {file} needs trust."))),
            TrustState::Trusted => Ok(ProjectWish::Nothing(format!(
                "All that {file} sets is trusted already."
            ))),
            TrustState::Unknown { reason, .. } => Err(reason),
            TrustState::Untrusted(_) | TrustState::Changed(_) => Ok(ProjectWish::Trust {
                settings: format!("{file} sets:\n{}", shown(&powers)),
                grant: Box::new(move || in_background(move || self.grant(&powers))),
            }),
        }
    }

    fn grant(&self, powers: &Powers) -> Result<String, String> {
        self.trust.grant(&self.cwd, powers).map_err(|error| error.to_string())?;
        Ok("The project is trusted with exactly these settings, from the next session in its folder on.".to_owned())
    }
}

impl ProjectTrust for TrustCommand {
    fn wish(&self) -> BoxFuture<'static, Result<ProjectWish, String>> {
        let this = self.clone();
        in_background(move || this.look())
    }
}

/// All of it, a line each: what is not seen is not agreed to.
fn shown(powers: &Powers) -> String {
    let lines: Vec<String> = powers.lines().map(|line| format!("  {}", one_line(line))).collect();
    lines.join("\n")
}

fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    let done = tokio::task::spawn_blocking(work);
    done.map(|done| done.unwrap_or_else(|error| Err(error.to_string())))
        .boxed()
}
