//! Keys that a command prints.
//!
//! [`CommandKey`] runs the command when a request first needs the key and keeps what it printed in memory. When the
//! endpoint refuses that key the command is run once more, for keys expire. What it prints is shown nowhere.

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout, Command};
use weft_model::{ModelError, ModelErrorKind};

use crate::Secret;

/// How long the command may take: it may ask for a password.
const LIMIT: Duration = Duration::from_mins(1);
/// The longest key, in bytes.
const MAX_KEY: u64 = 16 << 10;

/// A key that a command prints.
#[derive(Debug)]
pub(crate) struct CommandKey {
    /// The program and its arguments; not empty.
    command: Vec<String>,
    limit: Duration,
    /// Held while the command runs, so that requests side by side run it once.
    running: tokio::sync::Mutex<()>,
    /// What the command printed last, and before that: an endpoint may repeat either.
    found: Mutex<Vec<Secret>>,
}

impl CommandKey {
    pub(crate) fn new(command: Vec<String>) -> Self {
        Self {
            command,
            limit: LIMIT,
            running: tokio::sync::Mutex::new(()),
            found: Mutex::default(),
        }
    }

    /// The key, if the command has printed it, and the one before it.
    pub(crate) fn found(&self) -> Vec<Secret> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The key: another one than `refused`, as far as the command has one. Dropping the future ends the command.
    pub(crate) async fn other_than(&self, refused: Option<&Secret>) -> Result<Secret, ModelError> {
        let _running = self.running.lock().await;
        let is_refused = |key: &Secret| refused.is_some_and(|refused| refused.expose() == key.expose());
        if let Some(key) = self.found().into_iter().next().filter(|key| !is_refused(key)) {
            return Ok(key);
        }
        let key = self.run().await.map_err(|why| self.failed(&why))?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(0, key.clone());
        found.truncate(2);
        Ok(key)
    }

    async fn run(&self) -> Result<Secret, String> {
        let (program, arguments) = self.command.split_first().ok_or("it is empty")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().ok_or("it has no output")?;
        let _group = Group::of(&child);
        let printed = tokio::time::timeout(self.limit, printed(&mut child, stdout)).await;
        let printed = printed.map_err(|_| format!("it took longer than {:?}", self.limit))??;
        let key = String::from_utf8(printed).map_err(|_| "it printed no text".to_owned())?;
        match key.trim() {
            "" => Err("it printed nothing".to_owned()),
            key if key.chars().any(char::is_control) => Err("it printed more than one line".to_owned()),
            key => Ok(Secret::new(key)),
        }
    }

    fn failed(&self, why: &str) -> ModelError {
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        let message = format!(
            "failed to get the model's key from the command \"{program}\" (api_key_command): {why}\nhint: run it in a \
             terminal; it has to print the key alone and to end with code 0"
        );
        ModelError::new(ModelErrorKind::NotConfigured, message)
    }
}

/// What the command prints before it ends well.
async fn printed(child: &mut Child, stdout: ChildStdout) -> Result<Vec<u8>, String> {
    let mut printed = Vec::new();
    let read = stdout.take(MAX_KEY + 1).read_to_end(&mut printed).await;
    read.map_err(|error| error.to_string())?;
    if printed.len() as u64 > MAX_KEY {
        return Err(format!("it printed more than {MAX_KEY} bytes"));
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    if status.success() {
        Ok(printed)
    } else {
        Err(format!("it failed with {status}"))
    }
}

/// The processes of the command, which end with this value.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // The group is gone where the command ended by itself.
            kill_process_group(leader, Signal::KILL).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(command: &[&str]) -> CommandKey {
        CommandKey::new(command.iter().map(|&word| word.to_owned()).collect())
    }

    #[tokio::test]
    async fn the_output_is_the_key_and_the_command_runs_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "echo run >> runs; echo \"  key-$(wc -l < runs)  \"";
        let key = key(&["sh", "-c", &format!("cd {}; {script}", folder.path().display())]);
        assert!(key.found().is_empty());
        let (one, two) = tokio::join!(key.other_than(None), key.other_than(None));
        let first = one.expect("a key");
        assert_eq!((first.expose(), two.expect("a key").expose()), ("key-1", "key-1"));
        let renewed = key.other_than(Some(&first)).await.expect("a key");
        assert_eq!(renewed.expose(), "key-2");
        assert_eq!(key.other_than(Some(&first)).await.expect("a key").expose(), "key-2");
    }

    #[tokio::test]
    async fn a_command_that_gives_no_key_is_told_without_what_it_printed() {
        for (command, expected) in [
            (
                &["sh", "-c", "echo hunter2; exit 3"][..],
                "it failed with exit status: 3",
            ),
            (&["sh", "-c", "echo"], "it printed nothing"),
            (&["sh", "-c", "printf 'hunter2\\nx'"], "it printed more than one line"),
            (&["sh", "-c", "yes hunter2"], "it printed more than 16384 bytes"),
            (&["/no/such/program"], "No such file"),
        ] {
            let error = key(command).other_than(None).await.expect_err("no key");
            assert!(error.message().contains(expected), "{error}");
            assert!(
                !error.message().contains("hunter2") && error.message().contains("hint:"),
                "{error}"
            );
            assert_eq!(error.kind(), ModelErrorKind::NotConfigured);
        }
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_its_children() {
        // The child holds the pipe open after its parent is gone; reading it ends when both are.
        let (mut theirs, ours) = std::io::pipe().expect("a pipe");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & wait"]).process_group(0).stdout(ours);
        let child = command.spawn().expect("a shell");
        drop(command);
        drop(Group::of(&child));
        let ended = tokio::task::spawn_blocking(move || std::io::Read::read(&mut theirs, &mut [0]));
        assert_eq!(ended.await.expect("no panic").expect("the end"), 0);
        let hanging = CommandKey {
            limit: Duration::from_millis(50),
            ..key(&["sleep", "600"])
        };
        let error = hanging.other_than(None).await.expect_err("no key");
        assert!(error.message().contains("it took longer than 50ms"), "{error}");
    }
}
