//! How a client answers for its files: as an editor does that has some of them open.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// Capabilities below `fs`, with the method that each offers.
const METHODS: [(&str, &str); 2] = [("readTextFile", READ), ("writeTextFile", WRITE)];

/// The code of an error that says that there is no such thing.
const NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

/// The files as the client has them.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// The methods that the agent was told of.
    offered: Vec<&'static str>,
    /// The texts of open files that are not saved.
    unsaved: HashMap<PathBuf, String>,
}

/// What keeps a request from its result: code and message.
type Refusal = (i64, String);

impl Files {
    /// Answers what these capabilities of the client promise, from now on.
    pub(super) fn offer(&mut self, capabilities: &Value) {
        let offered = METHODS.iter().filter(|(flag, _)| capabilities["fs"][flag] == true);
        self.offered = offered.map(|(_, method)| *method).collect();
    }

    /// Has a file open, with a text that is not saved.
    pub(super) fn open(&mut self, path: PathBuf, text: String) {
        self.unsaved.insert(path, text);
    }

    /// The member that answers a request and its value, or `None` if the client offers no such method.
    pub(super) fn answer(&mut self, method: &str, params: &Value) -> Option<(&'static str, Value)> {
        if !self.offered.contains(&method) {
            return None;
        }
        let answer = match method {
            READ => self.read(params),
            _ => self.write(params),
        };
        Some(match answer {
            Ok(result) => ("result", result),
            Err((code, message)) => ("error", json!({"code": code, "message": message})),
        })
    }

    /// What is not saved counts before what is on the disk.
    fn read(&self, params: &Value) -> Result<Value, Refusal> {
        let path = path_of(params)?;
        let text = match self.unsaved.get(path) {
            Some(text) => text.clone(),
            None => std::fs::read_to_string(path).map_err(|error| refusal(path, &error))?,
        };
        Ok(json!({"content": part_of(&text, params)}))
    }

    /// Takes the text and saves it.
    fn write(&mut self, params: &Value) -> Result<Value, Refusal> {
        let path = path_of(params)?;
        let text = params["content"]
            .as_str()
            .ok_or_else(|| (INVALID_PARAMS, "`content` is missing".to_owned()))?;
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(path, text))
            .map_err(|error| refusal(path, &error))?;
        self.unsaved.remove(path);
        Ok(json!({}))
    }
}

fn path_of(params: &Value) -> Result<&Path, Refusal> {
    let path = params["path"].as_str().map(Path::new);
    path.filter(|path| path.is_absolute())
        .ok_or_else(|| (INVALID_PARAMS, "`path` is not an absolute path".to_owned()))
}

/// The lines that the request asks for: from `line` on, counted from 1, and `limit` of them.
fn part_of(text: &str, params: &Value) -> String {
    let number = |key: &str| params[key].as_u64().and_then(|number| usize::try_from(number).ok());
    let before = number("line").unwrap_or(1).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(before);
    lines.take(number("limit").unwrap_or(usize::MAX)).collect()
}

fn refusal(path: &Path, error: &io::Error) -> Refusal {
    let code = match error.kind() {
        ErrorKind::NotFound => NOT_FOUND,
        _ => INTERNAL,
    };
    (code, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offering(capabilities: &Value) -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = Files::default();
        files.offer(capabilities);
        (folder, files)
    }

    fn all() -> (tempfile::TempDir, Files) {
        offering(&json!({"fs": {"readTextFile": true, "writeTextFile": true}}))
    }

    #[test]
    fn what_is_not_saved_is_read_until_it_is_written_and_saved() {
        let (folder, mut files) = all();
        let path = folder.path().join("a");
        std::fs::write(&path, "saved\n").expect("it can be written");
        let read = json!({"path": path});
        assert_eq!(
            files.answer(READ, &read),
            Some(("result", json!({"content": "saved\n"})))
        );
        files.open(path.clone(), "typed\n".to_owned());
        assert_eq!(
            files.answer(READ, &read),
            Some(("result", json!({"content": "typed\n"})))
        );
        let write = json!({"path": path, "content": "typed\nmore\n"});
        assert_eq!(files.answer(WRITE, &write), Some(("result", json!({}))));
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "typed\nmore\n");
        std::fs::write(&path, "from elsewhere\n").expect("it can be written");
        let content = json!({"content": "from elsewhere\n"});
        assert_eq!(files.answer(READ, &read), Some(("result", content)));
    }

    #[test]
    fn a_part_is_what_was_asked_for() {
        let (folder, mut files) = all();
        let path = folder.path().join("a");
        files.open(path.clone(), "one\ntwo\nthree".to_owned());
        for (line, limit, expected) in [(2, 1, "two\n"), (1, 2, "one\ntwo\n"), (3, 9, "three"), (4, 1, "")] {
            let read = json!({"path": path, "line": line, "limit": limit});
            let expected = json!({"content": expected});
            assert_eq!(files.answer(READ, &read), Some(("result", expected)), "{line} {limit}");
        }
    }

    #[test]
    fn what_was_not_offered_is_not_answered() {
        let read = json!({"path": "/nowhere/a", "content": ""});
        let (_folder, mut files) = offering(&json!({"fs": {"readTextFile": true, "writeTextFile": false}}));
        assert!(files.answer(READ, &read).is_some());
        assert_eq!(files.answer(WRITE, &read), None);
        assert_eq!(files.answer("terminal/create", &read), None);
        assert_eq!(offering(&json!({})).1.answer(READ, &read), None);
    }

    #[test]
    fn a_file_that_is_not_there_and_a_path_that_is_none_are_refused() {
        let (folder, mut files) = all();
        let mut code = |params: Value| match files.answer(READ, &params) {
            Some(("error", error)) => error["code"].as_i64(),
            other => panic!("{other:?}"),
        };
        assert_eq!(code(json!({"path": folder.path().join("none")})), Some(NOT_FOUND));
        assert_eq!(code(json!({"path": folder.path()})), Some(INTERNAL));
        assert_eq!(code(json!({"path": "a"})), Some(INVALID_PARAMS));
        assert_eq!(code(json!({})), Some(INVALID_PARAMS));
    }
}
