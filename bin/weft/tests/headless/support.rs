//! A home with a scripted model, a project, and the program.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A `WEFT_HOME` and a project beside it; both are gone with this.
pub(crate) struct World {
    root: TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

const CONFIG: &str = "model = \"scripted/test\"\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n";

impl World {
    /// A world whose model answers with `replies`, in the language of scripts.
    pub(crate) fn new(replies: &str) -> Self {
        let root = tempfile::tempdir().expect("a temp folder");
        let world = Self { root };
        for folder in [world.home(), world.project()] {
            std::fs::create_dir(folder).expect("made");
        }
        world.write("home/config.toml", CONFIG);
        world.write("home/model.toml", replies);
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The project's folder, by its name without links.
    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("there").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("read")
    }

    /// Runs `weft …` in the project to its end, with nothing on stdin.
    pub(crate) fn weft(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("weft runs"))
    }

    /// The same with an input.
    pub(crate) fn weft_with(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.spawn(args, Stdio::piped());
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that refuses early does not read to the end.
        let _unread = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::of(child.wait_with_output().expect("weft ends"))
    }

    /// Starts `weft …`, with pipes for its output.
    pub(crate) fn spawn(&self, args: &[&str], stdin: Stdio) -> Child {
        let mut command = self.command(args);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("weft starts")
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts the program under test"
    )]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command
            .args(args)
            .env("WEFT_HOME", self.home())
            .current_dir(self.project());
        for variable in ["WEFT_LOG", "WEFT_MODEL", "WEFT_MODE"] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null());
        command
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let status = output.status;
        Self {
            code: status
                .code()
                .or(status.signal().map(|signal| -signal))
                .unwrap_or(i32::MIN),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Every line of stdout as JSON.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        self.out.lines().map(parse).collect()
    }

    /// The data of the last line of `exec --json`.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        let last = self.lines().pop().expect("a line");
        assert_eq!(last["type"], "result", "{self:?}");
        last["data"].clone()
    }
}

/// Sends a signal to a program.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not 0");
    rustix::process::kill_process(pid, signal).expect("sent");
}

/// Whether a folder holds anything.
pub(crate) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}
