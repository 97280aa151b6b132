//! What weft answers a server that asks or tells something.
#![expect(
    deprecated,
    reason = "servers of today ask for roots and log; the protocol's next version drops both"
)]

use std::path::Path;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use weft_process::Mask;

use crate::ServerContext;
use crate::progress::{Board, Progress};

/// How much of a log message is logged, in characters.
const LOGGED_CHARS: usize = 2_000;

/// Tells a server the session's folders, and nothing else: what it wants of the user or of a model is declined.
#[derive(Clone)]
pub(crate) struct Handler {
    server: String,
    roots: Vec<Root>,
    board: Arc<Board>,
    mask: Mask,
}

impl Handler {
    pub(crate) fn new(server: &str, context: &ServerContext, board: Arc<Board>, mask: Mask) -> Self {
        let folders = std::iter::once(&context.cwd).chain(&context.additional_directories);
        Self {
            server: server.to_owned(),
            roots: folders.map(|folder| root(folder)).collect(),
            board,
            mask,
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let client = Implementation::new("weft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.clone()))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let progress = Progress {
            done: told.progress,
            total: told.total,
            message: told.message.map(|message| self.mask.apply(&message)),
        };
        self.board.post(told.progress_token, progress);
    }

    async fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            let text: String = told.data.to_string().chars().take(LOGGED_CHARS).collect();
            let text = self.mask.apply(&text);
            tracing::debug!(server = self.server, level = ?told.level, text, "an MCP server logged");
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        tracing::info!(
            server = self.server,
            "an MCP server has other tools now; the next session takes them"
        );
    }
}

fn root(folder: &Path) -> Root {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let root = Root::new(file_uri(folder));
    match name {
        Some(name) => root.with_name(name),
        None => root,
    }
}

/// A `file` URI: every byte that has a meaning of its own in one is escaped.
fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_addresses() {
        assert_eq!(file_uri(Path::new("/a b/größe#1")), "file:///a%20b/gr%C3%B6%C3%9Fe%231");
    }
}
