//! Commands in the sandbox: what is forbidden is attempted for real.

#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;
use weft_tools::{
    AdditionalDirectories, Extensions, Memory, ToolCallRequest, ToolLimits, ToolRegistry, WorkingDirectory,
};
use weft_toolset::sandbox::{Level, Report, SandboxConfig, SandboxMode, SandboxNetwork, report};
use weft_toolset::{Bash, BashConfig};
use weft_types::{CallId, text_of};

fn config() -> SandboxConfig {
    SandboxConfig {
        mode: SandboxMode::Required,
        guard: (PathBuf::from(env!("CARGO_BIN_EXE_weft-shell-test")), Vec::new()),
        ..SandboxConfig::default()
    }
}

/// A session's folder `work` with others beside it.
struct Stage {
    root: TempDir,
    registry: ToolRegistry,
    lent: Extensions,
}

impl Stage {
    fn new(sandbox: SandboxConfig) -> Self {
        let bash = Bash::new(BashConfig {
            sandbox,
            ..BashConfig::default()
        });
        Self::of(bash.expect("the settings are sound"))
    }

    fn of(bash: Bash) -> Self {
        let root = tempfile::tempdir().expect("a folder can be made");
        for name in ["work", "more", "outside"] {
            fs::create_dir(root.path().join(name)).expect("made");
        }
        fs::write(root.path().join("outside/kept"), "kept").expect("written");
        let registry = ToolRegistry::new(ToolLimits::default());
        registry.register(Arc::new(bash)).expect("the tool is sound").keep();
        let lent = Extensions::new()
            .with(Arc::new(WorkingDirectory(root.path().join("work"))))
            .with(Arc::new(AdditionalDirectories(vec![root.path().join("more")])))
            .with(Arc::new(Memory::default()));
        Self { root, registry, lent }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    async fn run(&self, command: &str) -> String {
        let arguments = json!({ "command": command }).to_string();
        let mut request = ToolCallRequest::new(CallId::new("call"), "bash", arguments);
        request.extensions = self.lent.clone();
        text_of(&self.registry.execute(request).await.content)
    }

    /// The command fails for want of a right, and says that the sandbox may be why.
    async fn refuses(&self, command: &str) {
        let said = self.run(command).await;
        let is_refused = said.contains("ermission denied") || said.contains("cross-device link");
        assert!(is_refused, "{command}: {said}");
        assert!(
            said.contains("[the sandbox may be the reason: commands write only in"),
            "{command}: {said}"
        );
        assert!(!said.ends_with("exit code 0"), "{command}: {said}");
    }

    async fn allows(&self, command: &str) {
        let said = self.run(command).await;
        assert_eq!(said, "exit code 0", "{command}");
    }
}

/// Whether this kernel can do what the tests are about. Where it cannot, that is what is tested.
fn is_complete() -> bool {
    report(&config()).level == Level::Full
}

#[tokio::test]
async fn commands_write_in_the_sessions_folders_and_nowhere_else() {
    if !is_complete() {
        return;
    }
    let stage = Stage::new(config());
    stage
        .allows("echo x > new && mv new old && rm old && mkdir -p a/b && touch a/b/c")
        .await;
    stage
        .allows("echo x > ../more/new && mv ../more/new here && mv here ../more/back")
        .await;
    stage
        .allows("echo x > $TMPDIR/new && cp $TMPDIR/new . && f=$(mktemp) && rm $f")
        .await;
    stage
        .allows("echo x > /dev/null && cat ../outside/kept > copy && ls / > list")
        .await;
    for command in [
        "echo x > ../outside/new",
        "echo x >> ../outside/kept",
        "truncate -s 0 ../outside/kept",
        "rm ../outside/kept",
        "mv ../outside/kept .",
        "mkdir ../outside/folder",
        "ln -s /etc ../outside/link",
        "mkfifo ../outside/pipe",
        "echo x > ../beside",
        "bash -c 'sh -c \"echo x > ../outside/new\"'",
    ] {
        stage.refuses(command).await;
    }
    assert_eq!(fs::read(stage.at("outside/kept")).expect("it is there"), b"kept");
    assert_eq!(fs::read_dir(stage.at("outside")).expect("a folder").count(), 1);
}

#[tokio::test]
async fn fs_07_no_link_leads_out() {
    if !is_complete() {
        return;
    }
    let stage = Stage::new(config());
    symlink(stage.at("outside"), stage.at("work/link")).expect("made");
    symlink(stage.at("outside/not-yet"), stage.at("work/dangling")).expect("made");
    stage.refuses("echo x > link/new").await;
    stage.refuses("echo x > dangling").await;
    stage.refuses("ln -s ../outside late; echo x > late/new").await;
    stage.refuses("ln ../outside/kept hard && echo x > hard").await;
    // A folder that is exchanged for a link while something writes below it.
    let race = "mkdir -p d e; ln -sfn ../outside l
        (for i in $(seq 300); do mv -T d t && mv -T l d && mv -T d l && mv -T t d; done) 2>/dev/null &
        for i in $(seq 300); do echo x 2>/dev/null > d/raced; done; wait; true";
    stage.run(race).await;
    assert_eq!(fs::read(stage.at("outside/kept")).expect("it is there"), b"kept");
    assert_eq!(fs::read_dir(stage.at("outside")).expect("a folder").count(), 1);
}

#[tokio::test]
async fn what_the_user_lists_is_writable() {
    if !is_complete() {
        return;
    }
    let mut config = config();
    let stage = Stage::new(config.clone());
    config.writable = vec![stage.at("outside").display().to_string(), "/no/such/place".to_owned()];
    let open = Bash::new(BashConfig {
        sandbox: config,
        ..BashConfig::default()
    });
    let other = Stage::of(open.expect("the settings are sound"));
    let command = format!("echo x > {}/new", stage.at("outside").display());
    other.allows(&command).await;
    stage.refuses(&command).await;
}

#[tokio::test]
async fn git_works_in_a_linked_worktree() {
    if !is_complete() {
        return;
    }
    let stage = Stage::new(config());
    let outside = Stage::new(SandboxConfig::default());
    let main = stage.at("outside/main");
    let make = format!(
        "set -e; git init -q {main} && cd {main} && git config user.email a@b && git config user.name n \
         && git commit -q --allow-empty -m first && git worktree add -q {work}/tree",
        main = main.display(),
        work = stage.at("work").display(),
    );
    let made = outside.run(&make).await;
    assert!(made.ends_with("exit code 0"), "{made}");
    let in_tree = stage
        .lent
        .clone()
        .with(Arc::new(WorkingDirectory(stage.at("work/tree"))));
    let tree = Stage { lent: in_tree, ..stage };
    tree.allows("echo x > file && git add file && git commit -q -m second")
        .await;
}

#[tokio::test]
async fn without_network_no_connection_is_made() {
    let mut config = config();
    config.network = SandboxNetwork::Deny;
    if report(&config).level != Level::Full {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo connected", port(&listener));
    let said = Stage::new(config).run(&connect).await;
    assert!(said.contains("not permitted"), "{said}");
    assert!(said.contains("commands have no network (sandbox.network)"), "{said}");
    let said = Stage::new(self::config()).run(&connect).await;
    assert_eq!(said, "connected\nexit code 0");
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

#[tokio::test]
async fn without_network_local_sockets_work() {
    let mut config = config();
    config.network = SandboxNetwork::Deny;
    if report(&config).level != Level::Full || !Path::new("/usr/bin/python3").exists() {
        return;
    }
    let stage = Stage::new(config);
    let local = "import socket; a, b = socket.socketpair(); s = socket.socket(socket.AF_UNIX); s.bind('s')";
    stage.allows(&format!("python3 -c \"{local}\"")).await;
    for family in [
        "AF_INET, socket.SOCK_STREAM",
        "AF_INET6, socket.SOCK_DGRAM",
        "AF_PACKET, socket.SOCK_RAW",
    ] {
        let said = stage
            .run(&format!("python3 -c 'import socket; socket.socket(socket.{family})'"))
            .await;
        assert!(said.contains("Operation not permitted"), "{family}: {said}");
    }
}

#[tokio::test]
async fn a_sandbox_that_is_required_and_missing_lets_nothing_run() {
    let report = Report {
        level: Level::Partial,
        reasons: vec!["something is missing".to_owned()],
    };
    let sandbox = config();
    let config = BashConfig {
        sandbox,
        ..BashConfig::default()
    };
    let stage = Stage::of(Bash::reporting(config, report).expect("sound"));
    let said = stage.run("echo x > ran").await;
    let expected = "Error: the command was not run: sandbox.mode is \"required\", and here something is missing\nhint: set \
                    sandbox.mode to \"auto\" or \"off\"";
    assert_eq!(said, expected);
    assert!(!stage.at("work/ran").exists());
}

#[tokio::test]
async fn what_is_in_force_is_told() {
    let off = report(&SandboxConfig::default());
    assert_eq!(off.level, Level::None);
    assert_eq!(off.reasons, ["it is switched off (sandbox.mode)"]);
    let on = report(&config());
    assert_eq!(on.level == Level::Full, on.reasons.is_empty(), "{on:?}");
}

#[tokio::test]
async fn the_guard_keeps_the_group_and_the_exit_code() {
    if !is_complete() {
        return;
    }
    let stage = Stage::new(config());
    assert_eq!(stage.run("[ $(ps -o pgid= -p $$) = $$ ]; exit 7").await, "exit code 7");
    assert_eq!(stage.run("kill -KILL $$").await, "killed by SIGKILL");
    let said = stage.run("cat; echo out; echo err >&2").await;
    assert_eq!(said, "out\nerr\nexit code 0");
}
