//! The `[mcp.NAME]` tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeTable;

use super::error::{ConfigError, Source};
use super::section::Section;

/// One MCP server of a file. Texts may name environment variables, as `${NAME}`, which are read when it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct McpServer {
    pub(crate) reached: Reached,
    /// Whether it is used at all.
    pub(crate) enabled: bool,
    /// Absent for `mcp.startup_timeout`.
    pub(crate) startup_timeout: Option<Duration>,
    /// Absent for `mcp.call_timeout`.
    pub(crate) call_timeout: Option<Duration>,
    /// Only these of its tools; absent for all.
    pub(crate) allow_tools: Option<Vec<String>>,
    /// None of these.
    pub(crate) deny_tools: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// By its process.
    Command {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    /// At its endpoint.
    Url {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// The keys of a server's table: name, what it takes.
pub(crate) const MCP_KEYS: &[(&str, &str)] = &[
    (
        "command",
        "the program to start, a path or a name in `PATH`; it and `url` exclude each other",
    ),
    ("args", "a list of its arguments"),
    (
        "env",
        "a table of environment variables that it gets beside what every program gets",
    ),
    (
        "cwd",
        "the folder it runs in, relative to the session's, which it is by default",
    ),
    ("url", "the endpoint of the streamable HTTP transport"),
    ("headers", "a table of headers that go with every request to `url`"),
    ("enabled", "`false` leaves the server out"),
    ("startup_timeout", "instead of `mcp.startup_timeout`"),
    ("call_timeout", "instead of `mcp.call_timeout`"),
    (
        "allow_tools",
        "a list of the server's own names of tools, where `*` stands for anything: only these are used",
    ),
    ("deny_tools", "a list of the same form: these are not used"),
];

const COMMAND_KEYS: &[&str] = &["command", "args", "env", "cwd"];
const URL_KEYS: &[&str] = &["url", "headers"];

/// What a server may take to start.
pub(crate) const STARTUP: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(25);
/// What a call may take.
pub(crate) const CALL: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(24 * 3_600);

/// Reads one server's table, which begins at `at`.
pub(crate) fn parse_server(
    source: Source<'_>,
    name: &str,
    at: usize,
    table: &DeTable<'_>,
) -> Result<McpServer, ConfigError> {
    let section = Section {
        source,
        prefix: format!("mcp.{name}"),
        table,
        at,
    };
    if name.is_empty() {
        return Err(source.error(at, "mcp: a server's name is not empty"));
    }
    server(&section)
}

fn server(section: &Section<'_, '_>) -> Result<McpServer, ConfigError> {
    let known: Vec<&str> = MCP_KEYS.iter().map(|(key, _)| *key).collect();
    section.only(&known, "")?;
    Ok(McpServer {
        reached: reached(section)?,
        enabled: section.flag("enabled")?.unwrap_or(true),
        startup_timeout: section.span("startup_timeout", &STARTUP)?,
        call_timeout: section.span("call_timeout", &CALL)?,
        allow_tools: section.texts("allow_tools")?,
        deny_tools: section.texts("deny_tools")?.unwrap_or_default(),
    })
}

fn reached(section: &Section<'_, '_>) -> Result<Reached, ConfigError> {
    match (section.text("command")?, section.text("url")?) {
        (Some(command), None) => {
            without(section, URL_KEYS, "command")?;
            Ok(Reached::Command {
                command,
                args: section.texts("args")?.unwrap_or_default(),
                env: section.map("env")?,
                cwd: section.text("cwd")?.map(PathBuf::from),
            })
        }
        (None, Some(url)) => {
            without(section, COMMAND_KEYS, "url")?;
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(section.bad("url", "another text", "a URL that starts with http:// or https://"));
            }
            Ok(Reached::Url {
                url,
                headers: section.map("headers")?,
            })
        }
        (None, None) => {
            let message = format!("{}: expected a command or a url", section.prefix);
            Err(section.source.error(section.at, message))
        }
        (Some(_), Some(_)) => Err(section.bad("url", "a command as well", "one of the two")),
    }
}

/// Refuses keys that a server which is reached in this way does not have.
fn without(section: &Section<'_, '_>, keys: &[&str], given: &str) -> Result<(), ConfigError> {
    match keys.iter().find(|key| section.has(key)) {
        Some(key) => Err(section.bad(key, &format!("a server with a {given}"), &format!("no {key} with it"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::layer::{Layer, Owner};
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, McpServer>, String> {
        let layer = Layer::parse(Path::new("config.toml"), text, Owner::User);
        layer.map(|layer| layer.servers).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(read(text), Err(expected.to_owned()));
    }

    #[test]
    fn servers_stand_beside_the_settings_of_all() {
        let text = "[mcp]\nstartup_timeout = \"5s\"\n\n[mcp.github]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n\
                    env = { TOKEN = \"${GITHUB_TOKEN}\" }\ncall_timeout = \"1m\"\nallow_tools = [\"get_*\"]\n\n\
                    [mcp.\"far away\"]\nurl = \"https://example.org/mcp\"\nheaders = { X-Key = \"k\" }\nenabled = false\n";
        let servers = read(text).expect("both are good");
        let github = McpServer {
            reached: Reached::Command {
                command: "npx".into(),
                args: vec!["-y".into(), "x".into()],
                env: BTreeMap::from([("TOKEN".into(), "${GITHUB_TOKEN}".into())]),
                cwd: None,
            },
            enabled: true,
            startup_timeout: None,
            call_timeout: Some(Duration::from_secs(60)),
            allow_tools: Some(vec!["get_*".into()]),
            deny_tools: Vec::new(),
        };
        assert_eq!(servers["github"], github);
        assert!(!servers["far away"].enabled);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        refused("[mcp.a]\n", "config.toml:1:6: mcp.a: expected a command or a url");
        refused(
            "[mcp.a]\ncommand = \"x\"\nurl = \"http://x\"\n",
            "config.toml:3:7: mcp.a.url: found a command as well, expected one of the two",
        );
        refused(
            "[mcp.a]\nurl = \"http://x\"\nargs = []\n",
            "config.toml:3:8: mcp.a.args: found a server with a url, expected no args with it",
        );
        refused(
            "[mcp.a]\nurl = \"ws://x\"\n",
            "config.toml:2:7: mcp.a.url: found another text, expected a URL that starts with http:// or https://",
        );
        refused(
            "[mcp.a]\ncommand = \"x\"\nargs = [1]\n",
            "config.toml:3:8: mcp.a.args: found a list in which something is no text, expected a list of texts",
        );
        refused(
            "[mcp.a]\ncommand = \"x\"\nstartup_timeout = \"1h\"\n",
            "config.toml:3:19: mcp.a.startup_timeout: found \"1h\", expected a duration from \"100ms\" to \"25s\"",
        );
        refused(
            "[mcp.a]\ncommand = \"x\"\ncomand = \"x\"\n",
            "config.toml:3:1: mcp.a.comand: unknown key, expected one of command, args, env, cwd, url, headers, enabled, \
             startup_timeout, call_timeout, allow_tools, deny_tools",
        );
        refused(
            "[mcp]\ngithub = \"npx\"\n",
            "config.toml:2:1: mcp.github: unknown key, expected one of startup_timeout, call_timeout, \
             max_output_chars, max_tools, or a table that is a server",
        );
    }
}
