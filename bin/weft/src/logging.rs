//! Where the log goes: never to stdout, and to stderr only when asked.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Warnings, but for those of the protocol's SDK: it warns of each error answer and leaves out the reason, which weft
/// tells itself.
const DEFAULT: &str = "warn,agent_client_protocol=error";

/// What rmcp says below a warning: whole messages of MCP servers, which are not the log's to keep.
const QUIET: &str = "rmcp=warn";

/// The filter that was asked for; what rmcp tells must be asked for by its name.
fn asked(filter: &str) -> String {
    let names_rmcp = filter.split(',').any(|part| part.trim().starts_with("rmcp"));
    let tells_more = EnvFilter::new(filter)
        .max_level_hint()
        .is_none_or(|level| level > LevelFilter::WARN);
    if names_rmcp || !tells_more {
        filter.to_owned()
    } else {
        format!("{filter},{QUIET}")
    }
}

/// Sets up logging: with `WEFT_LOG` set, to stderr with that filter; otherwise warnings to
/// `logs/weft.log` below `home`, a file that is only made when there is something to write.
pub(crate) fn init(home: &Path) {
    // A log that cannot be written says so nowhere: stderr is for what was asked for.
    let plain = tracing_subscriber::fmt().with_ansi(false).log_internal_errors(false);
    // A second initialisation, as in a test process, keeps the first one.
    let _already = match std::env::var("WEFT_LOG") {
        Ok(filter) if !filter.is_empty() => plain
            .with_env_filter(EnvFilter::new(asked(&filter)))
            .with_writer(io::stderr)
            .try_init(),
        _ => {
            let file = LazyFile {
                path: home.join("logs").join("weft.log"),
                file: OnceLock::new(),
            };
            plain
                .with_env_filter(EnvFilter::new(DEFAULT))
                .with_writer(file)
                .try_init()
        }
    };
}

/// A log file that comes into being with its first line.
struct LazyFile {
    path: PathBuf,
    file: OnceLock<Option<File>>,
}

impl LazyFile {
    fn open(&self) -> Option<File> {
        std::fs::create_dir_all(self.path.parent()?).ok()?;
        OpenOptions::new().create(true).append(true).open(&self.path).ok()
    }
}

impl<'a> MakeWriter<'a> for LazyFile {
    type Writer = Box<dyn Write + 'a>;

    fn make_writer(&'a self) -> Self::Writer {
        // A log that cannot be written must not take the agent down.
        match self.file.get_or_init(|| self.open()) {
            Some(file) => Box::new(file),
            None => Box::new(io::sink()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_is_logged_only_where_rmcp_is_named() {
        for (given, used) in [
            ("info", "info,rmcp=warn"),
            ("weft_mcp=debug", "weft_mcp=debug,rmcp=warn"),
            ("info, rmcp=trace", "info, rmcp=trace"),
            ("rmcp::service=info", "rmcp::service=info"),
            ("error", "error"),
            ("off", "off"),
        ] {
            assert_eq!(asked(given), used, "{given}");
        }
    }
}
