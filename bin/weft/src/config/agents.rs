//! The `[agents.NAME]` tables.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeTable;
use weft_acp::PeerLimits;

use super::error::{ConfigError, Source};
use super::section::Section;

/// One program of the user's file that can be an agent's subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherAgent {
    /// The program and its arguments; at least the program.
    pub(crate) command: Vec<String>,
    /// The variables that it gets beside what every program gets.
    pub(crate) env: Vec<String>,
    /// Where it works; absent for the session's folder.
    pub(crate) cwd: Option<PathBuf>,
    /// The method to authenticate with.
    pub(crate) auth: Option<String>,
    pub(crate) enabled: bool,
    /// Its bounds, but for the longest line.
    pub(crate) limits: PeerLimits,
}

/// The keys of an agent's table: name, what it takes.
pub(crate) const AGENT_KEYS: &[(&str, &str)] = &[
    (
        "command",
        "the program and its arguments, a list of texts, such as `[\"ssh\", \"host\", \"weft\", \"acp\"]`",
    ),
    (
        "env",
        "a list of names of environment variables that it gets beside what every program gets, such as that of its key",
    ),
    (
        "cwd",
        "the absolute folder that it is told to work in, on the machine it runs on; the session's by default",
    ),
    (
        "auth",
        "the id of one of its own methods to authenticate with before each session; none by default",
    ),
    ("enabled", "`false` leaves the agent out"),
    (
        "startup_timeout",
        "how long it may take from its start until it has made a session, `\"1s\"` to `\"10m\"`; `\"1m\"` by default",
    ),
    (
        "idle_timeout",
        "how long it may give no sign of life while nobody is asked anything, `\"1s\"` to `\"1day\"`, or `\"0s\"` for as long \
         as it likes; `\"30m\"` by default",
    ),
    (
        "cancel_grace",
        "how long it may take to end its turn after a cancel before its process is ended, `\"0s\"` to `\"10s\"`; `\"3s\"` by \
         default",
    ),
    (
        "max_processes",
        "how many processes of it run at a time, each a subagent, 1 to 64; further ones wait; 4 by default",
    ),
    (
        "max_output_bytes",
        "the most bytes of text that are kept of one of its calls, 1024 to 1048576; 65536 by default",
    ),
    (
        "max_buffer_bytes",
        "the most bytes it may say while its calls keep it from being heard, 65536 to 268435456; 8388608 by default",
    ),
];

/// The longest name: it stands in those of its calls, of which none is longer than 64.
const NAME_CHARS: usize = 50;

const STARTUP: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const IDLE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(24 * 3_600);
const GRACE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(10);

/// Reads one agent's table, which begins at `at`.
pub(super) fn parse_agent(
    source: Source<'_>,
    name: &str,
    at: usize,
    table: &DeTable<'_>,
) -> Result<OtherAgent, ConfigError> {
    let is_named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(is_named) {
        let message =
            format!("agents.{name}: an agent's name has 1 to {NAME_CHARS} letters, digits, `-` and `_`, and no others");
        return Err(source.error(at, message));
    }
    let section = Section {
        source,
        prefix: format!("agents.{name}"),
        table,
        at,
    };
    let known: Vec<&str> = AGENT_KEYS.iter().map(|(key, _)| *key).collect();
    section.only(&known, "")?;
    let usual = PeerLimits::default();
    let cwd = section.text("cwd")?.map(PathBuf::from);
    if cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
        return Err(section.bad("cwd", "a relative path", "an absolute one"));
    }
    Ok(OtherAgent {
        command: command(&section)?,
        env: variables(&section)?,
        cwd,
        auth: section.text("auth")?,
        enabled: section.flag("enabled")?.unwrap_or(true),
        limits: PeerLimits {
            startup: section.span("startup_timeout", &STARTUP)?.unwrap_or(usual.startup),
            idle: match section.span("idle_timeout", &IDLE)? {
                Some(idle) => (!idle.is_zero()).then_some(idle),
                None => usual.idle,
            },
            cancel_grace: section.span("cancel_grace", &GRACE)?.unwrap_or(usual.cancel_grace),
            max_processes: size(&section, "max_processes", &(1..=64))?.unwrap_or(usual.max_processes),
            output_bytes: size(&section, "max_output_bytes", &(1 << 10..=1 << 20))?.unwrap_or(usual.output_bytes),
            buffer_bytes: size(&section, "max_buffer_bytes", &(64 << 10..=256 << 20))?.unwrap_or(usual.buffer_bytes),
            line: usual.line,
        },
    })
}

fn command(section: &Section<'_, '_>) -> Result<Vec<String>, ConfigError> {
    const EXPECTED: &str = "a list of texts, the first of them the program";
    let command = section
        .texts("command")?
        .ok_or_else(|| section.missing("command", EXPECTED))?;
    match command.first() {
        Some(program) if !program.trim().is_empty() => Ok(command),
        Some(_) => Err(section.bad("command", "a list that begins with an empty text", EXPECTED)),
        None => Err(section.bad("command", "an empty list", EXPECTED)),
    }
}

fn size(section: &Section<'_, '_>, key: &str, allowed: &RangeInclusive<u64>) -> Result<Option<usize>, ConfigError> {
    let size = section.number(key, allowed)?;
    Ok(size.and_then(|size| usize::try_from(size).ok()))
}

fn variables(section: &Section<'_, '_>) -> Result<Vec<String>, ConfigError> {
    let env = section.texts("env")?.unwrap_or_default();
    match env.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
        Some(name) => Err(section.bad(
            "env",
            &format!("{name:?}"),
            "names of variables without values, such as [\"OPENAI_API_KEY\"]",
        )),
        None => Ok(env),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::layer::{Layer, Owner};
    use super::*;

    fn read(text: &str, owner: Owner) -> Result<BTreeMap<String, OtherAgent>, String> {
        let layer = Layer::parse(Path::new("config.toml"), text, owner);
        layer.map(|layer| layer.agents).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(read(text, Owner::User), Err(expected.to_owned()));
    }

    #[test]
    fn an_agent_is_a_command_with_its_bounds() {
        let text = "[agents.far]\ncommand = [\"ssh\", \"host\", \"weft\", \"acp\"]\ncwd = \"/srv/app\"\nenv = [\"A_KEY\"]\n\
                    idle_timeout = \"0s\"\nmax_processes = 2\n[agents.near]\ncommand = [\"near\"]\nenabled = false\n";
        let agents = read(text, Owner::User).expect("both are good");
        let far = &agents["far"];
        assert_eq!(far.command, ["ssh", "host", "weft", "acp"]);
        assert_eq!(
            (far.env.as_slice(), far.cwd.as_deref()),
            (&["A_KEY".to_owned()][..], Some(Path::new("/srv/app")))
        );
        assert_eq!((far.limits.idle, far.limits.max_processes), (None, 2));
        assert_eq!(agents["near"].limits, PeerLimits::default());
        assert!(far.enabled && !agents["near"].enabled);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        refused(
            "[agents.a]\n",
            "config.toml:1:9: agents.a.command is missing, expected a list of texts, the first of them the program",
        );
        refused(
            "[agents.a]\ncommand = \"weft acp\"\n",
            "config.toml:2:11: agents.a.command: found \"weft acp\", expected a list of texts",
        );
        refused(
            "[agents.a]\ncommand = []\n",
            "config.toml:2:11: agents.a.command: found an empty list, expected a list of texts, the first of them the program",
        );
        refused(
            "[agents.a]\ncommand = [\"a\"]\nenv = [\"KEY=value\"]\n",
            "config.toml:3:7: agents.a.env: found \"KEY=value\", expected names of variables without values, such as \
             [\"OPENAI_API_KEY\"]",
        );
        refused(
            "[agents.a]\ncommand = [\"a\"]\ncwd = \"x\"\n",
            "config.toml:3:7: agents.a.cwd: found a relative path, expected an absolute one",
        );
        refused(
            "[agents.a]\ncommand = [\"a\"]\nmax_processes = 0\n",
            "config.toml:3:17: agents.a.max_processes: found 0, expected a whole number from 1 to 64",
        );
        refused(
            "[agents.\"a b\"]\ncommand = [\"a\"]\n",
            "config.toml:1:9: agents.a b: an agent's name has 1 to 50 letters, digits, `-` and `_`, and no others",
        );
        refused(
            "agents = 1\n",
            "config.toml:1:10: agents: found a value of type integer, expected a table",
        );
    }

    #[test]
    fn a_projects_file_starts_no_agents() {
        for owner in [Owner::Project, Owner::TrustedProject] {
            assert_eq!(
                read("[agents.a]\ncommand = [\"a\"]\n", owner),
                Err(
                    "config.toml:1:2: agents: a project's file may not set this; set it in your own config.toml"
                        .to_owned()
                ),
            );
        }
    }
}
