//! The logs that an agent has left in its home.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Failure;
use super::home::failed;
use crate::SessionLog;

/// The log of one session, as it is on the disk.
#[derive(Debug, PartialEq)]
pub(super) struct LogFile {
    /// The session's id.
    pub(super) id: String,
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// The logs in a folder of sessions, in order of their ids; none without such a folder.
pub(super) fn read_logs(sessions: &Path) -> Result<Vec<LogFile>, Failure> {
    let entries = match fs::read_dir(sessions) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<Result<Vec<_>, _>>),
    };
    let mut logs = Vec::new();
    for entry in entries.map_err(failed("read", sessions))? {
        let path = entry.path().join("log.jsonl");
        match fs::read(&path) {
            Ok(bytes) => logs.push(LogFile {
                id: entry.file_name().to_string_lossy().into_owned(),
                path,
                bytes,
            }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(failed("read", &path)(error)),
        }
    }
    logs.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(logs)
}

impl LogFile {
    /// The log's lines: the header of this session, then events whose numbers begin with 0 and leave nothing out.
    pub(super) fn parse(&self) -> Result<SessionLog, Failure> {
        let mut lines = Vec::new();
        for (at, line) in self.bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            lines.push(self.parse_line(at, line).map_err(|problem| Failure::Log {
                path: self.path.clone(),
                line: at + 1,
                problem,
            })?);
        }
        Ok(SessionLog {
            id: self.id.clone(),
            lines,
        })
    }

    fn parse_line(&self, at: usize, line: &[u8]) -> Result<Value, String> {
        if !line.ends_with(b"\n") {
            return Err(format!("the log ends within a line: {}", String::from_utf8_lossy(line)));
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| format!("the line is no JSON: {error}"))?;
        let found = match at {
            0 => (&value["id"], Value::from(self.id.as_str())),
            _ => (&value["seq"], Value::from(at - 1)),
        };
        match *found.0 == found.1 {
            true => Ok(value),
            false => Err(format!("found the number or id {}, expected {}", found.0, found.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> LogFile {
        LogFile {
            id: "s".to_owned(),
            path: PathBuf::from("log.jsonl"),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(log(text).parse().unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_log_is_its_sessions_header_and_events_in_order() {
        let sound = "{\"id\":\"s\"}\n{\"seq\":0}\n{\"seq\":1}\n";
        assert_eq!(log(sound).parse().unwrap().lines.len(), 3);
        refused(
            "{\"id\":\"t\"}\n",
            r#"log.jsonl:1: found the number or id "t", expected "s""#,
        );
        refused(
            "{\"id\":\"s\"}\n{\"seq\":0}\n{\"seq\":2}\n",
            "log.jsonl:3: found the number or id 2, expected 1",
        );
        refused(
            "{\"id\":\"s\"}\n{\"seq\":0}",
            "log.jsonl:2: the log ends within a line: {\"seq\":0}",
        );
        let torn = log("{\"id\":\"s\"}\n{\n").parse().unwrap_err().to_string();
        assert!(torn.starts_with("log.jsonl:2: the line is no JSON: "), "{torn}");
    }

    #[test]
    fn a_folder_without_a_log_and_a_file_are_no_sessions() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_logs(&dir.path().join("none")).unwrap(), []);
        for session in ["b", "a", "blank"] {
            fs::create_dir(dir.path().join(session)).unwrap();
        }
        fs::write(dir.path().join("index"), "").unwrap();
        for session in ["b", "a"] {
            fs::write(dir.path().join(session).join("log.jsonl"), session).unwrap();
        }
        let ids: Vec<_> = read_logs(dir.path()).unwrap().into_iter().map(|log| log.id).collect();
        assert_eq!(ids, ["a", "b"]);
    }
}
