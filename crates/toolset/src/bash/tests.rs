//! The tool as its callers see it: real commands, run through a registry.

mod background;
mod cases;
mod ending;
mod live;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weft_observe::Subscription;
use weft_tools::{Extensions, Memory, Tool, ToolCallRequest, ToolLimits, ToolRegistry, ToolResult, WorkingDirectory};
use weft_types::{CallId, text_of};

use super::{Bash, BashConfig, BashKill, BashOutput, Launch};

/// Longer than any wait of a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A registry with the tool, a folder to run in, and what the cards were shown.
struct Stage {
    registry: ToolRegistry,
    folder: TempDir,
    shown: mpsc::UnboundedReceiver<String>,
    lent: Extensions,
    _watching: Subscription,
}

/// A call under way.
struct Running {
    result: JoinHandle<ToolResult>,
    cancel: CancellationToken,
}

impl Stage {
    fn new(config: BashConfig) -> Self {
        let registry = ToolRegistry::new(ToolLimits::default());
        let sound = "the settings are within their bounds";
        let tools: [Arc<dyn Tool>; 3] = [
            Arc::new(Bash::new(config.clone()).expect(sound)),
            Arc::new(BashOutput::new(config.clone()).expect(sound)),
            Arc::new(BashKill::new(config).expect(sound)),
        ];
        for tool in tools {
            registry.register(tool).expect("the tool is sound").keep();
        }
        let (show, shown) = mpsc::unbounded_channel();
        let watching = registry.progress().subscribe(None, move |observation| {
            // A test that no longer looks has dropped its end.
            show.send(text_of(&observation.view.content)).unwrap_or_default();
        });
        Self {
            registry,
            folder: tempfile::tempdir().expect("a folder can be made"),
            shown,
            lent: Extensions::new().with(Arc::new(Memory::default())),
            _watching: watching,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn launch(&self) -> Launch {
        Launch::new(self.path(), crate::Environment::default().variables(), Vec::new())
    }

    fn start(&self, arguments: &Value) -> Running {
        self.start_in(self.path().to_owned(), arguments)
    }

    fn start_in(&self, folder: PathBuf, arguments: &Value) -> Running {
        let cancel = CancellationToken::new();
        let mut request = ToolCallRequest::new(CallId::new("call"), "bash", arguments.to_string());
        request.signal = cancel.clone();
        request.extensions = self.lent.clone().with(Arc::new(WorkingDirectory(folder)));
        let registry = self.registry.clone();
        Running {
            result: tokio::spawn(async move { registry.execute(request).await }),
            cancel,
        }
    }

    async fn run(&self, command: &str) -> ToolResult {
        self.start(&json!({ "command": command })).result().await
    }

    /// Waits until the card shows the text.
    async fn until_shown(&mut self, text: &str) -> String {
        let seen = tokio::time::timeout(PATIENCE, async {
            loop {
                let shown = self
                    .shown
                    .recv()
                    .await
                    .expect("the registry lives as long as the stage");
                if shown.contains(text) {
                    return shown;
                }
            }
        });
        seen.await.unwrap_or_else(|_| panic!("the card never showed {text:?}"))
    }

    /// A named pipe in the folder. What a test reads from it ends when the last process that holds it
    /// has ended.
    fn pipe(&self, name: &str) -> pipe::Receiver {
        let path = self.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).expect("a pipe can be made");
        pipe::OpenOptions::new()
            .open_receiver(&path)
            .expect("the pipe can be opened")
    }
}

impl Running {
    async fn result(self) -> ToolResult {
        let result = tokio::time::timeout(PATIENCE, self.result).await;
        result.expect("the call returns in time").expect("a call never panics")
    }
}

/// Waits until nobody holds the pipe.
async fn released(mut pipe: pipe::Receiver) -> String {
    let mut text = String::new();
    let end = tokio::time::timeout(PATIENCE, pipe.read_to_string(&mut text)).await;
    end.expect("every process that holds the pipe ends")
        .expect("a pipe can be read");
    text
}

#[track_caller]
fn text(result: &ToolResult) -> String {
    text_of(&result.content)
}
