//! What the engine may be told, and how far a script may go.

use std::ffi::OsString;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::SandboxMode;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// How a worker process is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; it has to end up in [`crate::run_worker`].
    pub args: Vec<OsString>,
}

impl Default for WorkerCommand {
    /// This very program with the argument `worker`.
    ///
    /// On Linux it is named by `/proc/self/exe`, so that an upgraded binary on disk can never meet a daemon
    /// that still speaks the protocol of the old one.
    fn default() -> Self {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().unwrap_or_else(|_| PathBuf::from("weft"))
        };
        Self {
            program,
            args: vec!["worker".into()],
        }
    }
}

/// The engine's settings. [`EngineConfig::default`] suits a coding agent on a developer's machine.
///
/// Sizes are in bytes of UTF-8 unless their name says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// How workers are started.
    pub worker: WorkerCommand,
    /// When workers are shut in by the kernel.
    pub sandbox: SandboxMode,
    /// The subagent provider of members for which neither the request nor the script names one.
    pub provider: String,
    /// How many members of one run are at work at once; further calls of `agent()` wait in line. 1 to 1,024. A request may
    /// lower it.
    pub max_concurrent_agents: usize,
    /// How many calls of `agent()` one run may make. 1 to 100,000. A request may lower it.
    pub max_total_agents: u64,
    /// How many tokens the members of one run may use before no further one is started; 0 for no limit. A request may
    /// lower it.
    pub max_tokens: u64,
    /// How many US cents they may cost before no further one is started, as far as prices are known; 0 for no limit. A
    /// request may lower it.
    pub max_cost_cents: u64,
    /// How many calls of `agent()` are handed to the host at once; the rest waits in the worker. From
    /// `max_concurrent_agents` to 4,096.
    pub max_calls_in_flight: usize,
    /// How many items one call of `parallel()` or `pipeline()` takes. 1 to 1,000,000.
    pub max_items_per_call: usize,
    /// The longest script. 1 to 4 MiB.
    pub max_script_bytes: usize,
    /// The largest `args`, as JSON. 2 to 8 MiB.
    pub max_args_bytes: usize,
    /// The largest message between the engine and a worker. 1 MiB to 256 MiB, and at least twice the sizes above
    /// and below.
    pub max_frame_bytes: usize,
    /// The longest log line; a longer one is cut. 64 to 1 MiB.
    pub max_log_bytes: usize,
    /// The longest phase in characters; a longer one is cut. 8 to 4,096.
    pub max_phase_chars: usize,
    /// How many phases and log lines of one run are passed on in a second, and in one burst. What comes faster is
    /// left out but for the newest. 1 to 1,000,000.
    pub max_narration_per_second: u32,
    /// The longest prompt. 1 to 8 MiB.
    pub max_prompt_bytes: usize,
    /// The largest options of one call of `agent()`, schema included, as JSON. 64 to 8 MiB.
    pub max_options_bytes: usize,
    /// The largest return value, as JSON; a larger one is cut. 64 to 64 MiB.
    pub max_result_bytes: usize,
    /// The script's heap. 1 MiB to 4 GiB.
    pub max_heap_bytes: usize,
    /// The script's stack. 64 KiB to 4 MiB.
    pub max_stack_bytes: usize,
    /// The worker's address space, enforced by the operating system where it can; 0 for no limit, else at least
    /// 256 MiB.
    pub max_address_space_bytes: usize,
    /// How much CPU time a script may use without pausing for a member. 10 ms to 1 h.
    pub max_slice: Duration,
    /// How much CPU time a worker may use in all, enforced by the operating system in whole seconds. 1 s to 24 h.
    pub max_cpu: Duration,
    /// How long a run may take; zero for no limit, else up to 30 days. A request may lower it.
    pub max_run_time: Duration,
    /// How long a member may take to start, and then to answer, after which it counts as failed and the run goes on;
    /// zero for no limit, else up to 30 days.
    pub max_agent_time: Duration,
    /// How long a cancelled script may take to notice before its worker is killed. 0 to 1 min.
    pub cancel_grace: Duration,
    /// How long a run waits for its members to end once it is over, and a disposal for everything of the run. 0 to
    /// 10 min.
    pub dispose_grace: Duration,
    /// By how much a worker's priority is lowered. 0 to 19.
    pub niceness: u8,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            worker: WorkerCommand::default(),
            sandbox: SandboxMode::default(),
            provider: "spawn".into(),
            max_concurrent_agents: 16,
            max_total_agents: 1_000,
            max_tokens: 0,
            max_cost_cents: 0,
            max_calls_in_flight: 64,
            max_items_per_call: 4_096,
            max_script_bytes: 256 * KIB,
            max_args_bytes: 4 * MIB,
            max_frame_bytes: 16 * MIB,
            max_log_bytes: 8 * KIB,
            max_phase_chars: 256,
            max_narration_per_second: 100,
            max_prompt_bytes: MIB,
            max_options_bytes: 256 * KIB,
            max_result_bytes: MIB,
            max_heap_bytes: 128 * MIB,
            max_stack_bytes: MIB,
            max_address_space_bytes: 1024 * MIB,
            max_slice: Duration::from_secs(5),
            max_cpu: Duration::from_secs(600),
            max_run_time: Duration::from_secs(6 * 3600),
            max_agent_time: Duration::from_secs(6 * 3600),
            cancel_grace: Duration::from_millis(500),
            dispose_grace: Duration::from_secs(5),
            niceness: 5,
        }
    }
}

/// A setting out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow setting {key} is {found}, expected {expected}")]
pub struct ConfigError {
    key: &'static str,
    found: String,
    expected: String,
}

impl ConfigError {
    /// The name of the setting.
    pub fn key(&self) -> &'static str {
        self.key
    }
}

impl EngineConfig {
    /// Tests every setting.
    ///
    /// # Errors
    ///
    /// The first setting out of range, with what was found and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.worker.program.as_os_str().is_empty() {
            return Err(refused("worker", "an empty program", "a path"));
        }
        if self.provider.is_empty() || self.provider.trim() != self.provider {
            let found = format!("{:?}", self.provider);
            return Err(refused("provider", found, "a name without surrounding blanks"));
        }
        self.validate_counts()?;
        self.validate_sizes()?;
        self.validate_times()
    }

    fn validate_counts(&self) -> Result<(), ConfigError> {
        let concurrent = self.max_concurrent_agents;
        within("max_concurrent_agents", concurrent, 1..=1_024)?;
        within("max_total_agents", self.max_total_agents, 1..=100_000)?;
        within("max_calls_in_flight", self.max_calls_in_flight, concurrent..=4_096)?;
        within("max_items_per_call", self.max_items_per_call, 1..=1_000_000)?;
        within("max_phase_chars", self.max_phase_chars, 8..=4_096)?;
        within("max_narration_per_second", self.max_narration_per_second, 1..=1_000_000)?;
        within("niceness", self.niceness, 0..=19)
    }

    fn validate_sizes(&self) -> Result<(), ConfigError> {
        let carried = [
            ("max_script_bytes", self.max_script_bytes, 1..=4 * MIB),
            ("max_args_bytes", self.max_args_bytes, 2..=8 * MIB),
            ("max_log_bytes", self.max_log_bytes, 64..=MIB),
            ("max_prompt_bytes", self.max_prompt_bytes, 1..=8 * MIB),
            ("max_options_bytes", self.max_options_bytes, 64..=8 * MIB),
            ("max_result_bytes", self.max_result_bytes, 64..=64 * MIB),
        ];
        for (key, size, range) in &carried {
            within(key, *size, range.clone())?;
        }
        let largest = carried.iter().map(|(_, size, _)| *size).max().unwrap_or(0);
        let least = MIB.max(2 * largest);
        within("max_frame_bytes", self.max_frame_bytes, least..=256 * MIB)?;
        within("max_heap_bytes", self.max_heap_bytes, MIB..=4096 * MIB)?;
        within("max_stack_bytes", self.max_stack_bytes, 64 * KIB..=4 * MIB)?;
        match self.max_address_space_bytes {
            0 => Ok(()),
            size => within("max_address_space_bytes", size, 256 * MIB..=usize::MAX),
        }
    }

    fn validate_times(&self) -> Result<(), ConfigError> {
        let ms = Duration::from_millis;
        let (minute, hour, month) = (ms(60_000), ms(3_600_000), ms(30 * 24 * 3_600_000));
        within_time("max_slice", self.max_slice, ms(10)..=hour)?;
        within_time("max_cpu", self.max_cpu, ms(1_000)..=24 * hour)?;
        within_time("max_run_time", self.max_run_time, Duration::ZERO..=month)?;
        within_time("max_agent_time", self.max_agent_time, Duration::ZERO..=month)?;
        within_time("cancel_grace", self.cancel_grace, Duration::ZERO..=minute)?;
        within_time("dispose_grace", self.dispose_grace, Duration::ZERO..=10 * minute)
    }
}

fn within<T: PartialOrd + fmt::Display>(
    key: &'static str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("{} to {}", range.start(), range.end());
    Err(refused(key, found, expected))
}

fn within_time(key: &'static str, found: Duration, range: RangeInclusive<Duration>) -> Result<(), ConfigError> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("{:?} to {:?}", range.start(), range.end());
    Err(refused(key, format!("{found:?}"), expected))
}

fn refused(key: &'static str, found: impl fmt::Display, expected: impl Into<String>) -> ConfigError {
    ConfigError {
        key,
        found: found.to_string(),
        expected: expected.into(),
    }
}

#[cfg(test)]
mod tests;
