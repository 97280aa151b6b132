//! Starting the test server and calling its tools.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use weft_mcp::{McpLimits, ServerConfig, ServerContext, Servers, Started, ToolFilter, Transport};
use weft_tools::{ToolCallRequest, ToolLimits, ToolRegistry, ToolResult};
use weft_types::{CallId, text_of};

/// Longer than anything here takes, unless it hangs.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn server(name: &str, behaviour: &str) -> ServerConfig {
    stdio(name, env!("CARGO_BIN_EXE_weft-mcp-test").into(), &[behaviour])
}

pub(crate) fn stdio(name: &str, command: PathBuf, args: &[&str]) -> ServerConfig {
    let transport = Transport::Stdio {
        command,
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: vec![("TEST_KEY".into(), "s3cret-value".into())],
        cwd: None,
    };
    config(name, transport)
}

pub(crate) fn config(name: &str, transport: Transport) -> ServerConfig {
    ServerConfig {
        name: name.to_owned(),
        transport,
        startup_timeout: LONG,
        call_timeout: LONG,
        tools: ToolFilter::default(),
    }
}

pub(crate) fn context() -> ServerContext {
    ServerContext {
        cwd: std::env::temp_dir(),
        additional_directories: Vec::new(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        secrets: Vec::new(),
        limits: McpLimits::default(),
    }
}

/// Servers with their tools in a registry.
pub(crate) struct Session {
    pub(crate) started: Started,
    pub(crate) registry: ToolRegistry,
    pub(crate) notices: Vec<String>,
}

impl Session {
    pub(crate) async fn start(configs: Vec<ServerConfig>) -> Self {
        Self::start_in(configs, context()).await
    }

    pub(crate) async fn start_in(configs: Vec<ServerConfig>, context: ServerContext) -> Self {
        let grace = ToolLimits::default().cancel_grace(LONG).expect("within its range");
        let registry = ToolRegistry::new(grace);
        let mut started = Servers::start(configs, context).await;
        started.register(&registry);
        let notices = started.take_notices();
        Self {
            started,
            registry,
            notices,
        }
    }

    /// One good server called `test`.
    pub(crate) async fn good() -> Self {
        let session = Self::start(vec![server("test", "")]).await;
        assert_eq!(
            session.notices.len(),
            1,
            "only the bad tool is told of: {:?}",
            session.notices
        );
        session
    }

    pub(crate) fn request(tool: &str, arguments: &Value) -> ToolCallRequest {
        ToolCallRequest::new(CallId::new("call"), format!("mcp__test__{tool}"), arguments.to_string())
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.execute(Self::request(tool, &arguments)).await
    }

    pub(crate) async fn execute(&self, request: ToolCallRequest) -> ToolResult {
        let name = request.name.clone();
        tokio::time::timeout(LONG, self.registry.execute(request))
            .await
            .unwrap_or_else(|_| panic!("{name} hangs"))
    }

    /// The text of a call that succeeds.
    #[track_caller]
    pub(crate) fn text(result: &ToolResult) -> String {
        assert!(!result.is_error(), "{:?}", result.content);
        text_of(&result.content)
    }

    pub(crate) async fn pid(&self) -> i32 {
        let pid = self.call("pid", json!({})).await;
        Self::text(&pid).parse().expect("a process id")
    }

    /// The texts of progress of calls from now on, and whoever wants to hear of each.
    pub(crate) fn watch_progress(&self) -> (Arc<Mutex<Vec<String>>>, tokio::sync::watch::Receiver<usize>, impl Sized) {
        let texts = Arc::<Mutex<Vec<String>>>::default();
        let (count, counted) = tokio::sync::watch::channel(0);
        let seen = Arc::clone(&texts);
        let subscription =
            self.registry
                .progress()
                .subscribe(None, move |observation: &weft_tools::ProgressObservation| {
                    let mut seen = seen.lock().expect("nothing panics under it");
                    seen.push(text_of(&observation.view.content));
                    count.send_replace(seen.len());
                });
        (texts, counted, subscription)
    }
}

/// Whether a process of that id is there and no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits until a process has ended and was waited for.
pub(crate) async fn reaped(pid: i32) {
    let reaped = async {
        while std::path::Path::new(&format!("/proc/{pid}")).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, reaped)
        .await
        .unwrap_or_else(|_| panic!("process {pid} is still there"));
}

/// Waits until no such process is left.
pub(crate) async fn gone(pid: i32) {
    let gone = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, gone)
        .await
        .unwrap_or_else(|_| panic!("process {pid} is still there"));
}
