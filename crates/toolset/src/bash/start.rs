//! Starting one command, in a process group of its own.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::process::Command;
use weft_process::ProcessGroup;

use super::launch::Launch;

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("failed to run the command in {folder}: {reason}")]
    Folder { folder: String, reason: String },
    #[error("failed to open a pipe for the command's output")]
    Pipe(#[source] io::Error),
    #[error("failed to start {shell}")]
    Shell {
        shell: String,
        #[source]
        source: io::Error,
    },
}

/// Starts the command in a group of its own, with a null input and both outputs in one pipe.
pub(super) fn start(command: &str, launch: &Launch) -> Result<(ProcessGroup, pipe::Receiver), StartError> {
    check_folder(&launch.folder)?;
    // One pipe for both, so that their output stays in the order in which it was written.
    let (output, input) = io::pipe().map_err(StartError::Pipe)?;
    let second = input.try_clone().map_err(StartError::Pipe)?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).map_err(StartError::Pipe)?;
    let (program, arguments) = launch.words.split_first().expect("a launch names its program");
    let mut shell = Command::new(program);
    shell
        .args(arguments)
        .arg(OsStr::new(command))
        .current_dir(&launch.folder)
        .env_clear()
        .envs(launch.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(input)
        .stderr(second);
    let group = ProcessGroup::start(&mut shell, "a command").map_err(|source| StartError::Shell {
        shell: program.display().to_string(),
        source,
    })?;
    Ok((group, output))
}

/// Says what is wrong with the folder, which the error of a failed start does not tell.
fn check_folder(folder: &Path) -> Result<(), StartError> {
    let refused = |reason: String| StartError::Folder {
        folder: folder.display().to_string(),
        reason,
    };
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(refused("it is not a folder".into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(refused("the folder does not exist".into())),
        Err(error) => Err(refused(error.to_string())),
    }
}
