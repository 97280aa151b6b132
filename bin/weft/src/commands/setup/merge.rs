//! An entry put into a JSON file of somebody else's.
//!
//! Nothing that stands there is changed or lost: a file that is not plain JSON, or that has another entry of the name, is
//! refused; of one that is changed a copy is kept; and it is replaced as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Merged {
    /// The entry is there now.
    Written {
        /// The file as it was, if there was one.
        copy: Option<PathBuf>,
    },
    /// It was there before.
    AlreadyThere,
    /// The file is as it was, for this reason.
    Refused(String),
}

/// Puts `server` into the file as the agent `weft`.
pub(super) fn into_file(settings: &Path, server: &Value) -> anyhow::Result<Merged> {
    // Settings are often links into a folder of dotfiles: the file is replaced there.
    let target = settings.canonicalize().unwrap_or_else(|_| settings.to_owned());
    let before = match fs::read_to_string(&target) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", target.display())),
    };
    let after = match merged(before.as_deref().unwrap_or_default(), server) {
        Ok(Some(after)) => after,
        Ok(None) => return Ok(Merged::AlreadyThere),
        Err(why) => return Ok(Merged::Refused(why)),
    };
    let copy = match &before {
        Some(text) => Some(keep(&target, text).with_context(|| format!("failed to copy {}", target.display()))?),
        None => None,
    };
    replace(&target, &after).with_context(|| format!("failed to write {}", target.display()))?;
    Ok(Merged::Written { copy })
}

/// The text with the entry; `None` if it has it.
fn merged(text: &str, server: &Value) -> Result<Option<String>, String> {
    let by_hand = "put the entry into it by hand";
    let mut root: Value = if text.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(text)
            .map_err(|error| format!("it has comments or is not plain JSON ({error}); {by_hand}"))?
    };
    if text.matches("\"agent_servers\"").count() > 1 {
        return Err(format!("it names agent_servers more than once; {by_hand}"));
    }
    let Some(settings) = root.as_object_mut() else {
        return Err(format!("it holds no object; {by_hand}"));
    };
    let servers = settings
        .entry("agent_servers")
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(servers) = servers.as_object_mut() else {
        return Err(format!("agent_servers in it is no object; {by_hand}"));
    };
    match servers.get("weft") {
        Some(there) if there["command"] == server["command"] && there["args"] == server["args"] => return Ok(None),
        Some(_) => return Err(format!("it has another entry of the name weft; {by_hand}")),
        None => servers.insert("weft".to_owned(), server.clone()),
    };
    Ok(Some(format!("{root:#}\n")))
}

/// Keeps the text beside the file, under the first name that is free.
fn keep(target: &Path, text: &str) -> io::Result<PathBuf> {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1.. {
        let copy = target.with_file_name(format!("{name}.before-weft-{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                fs::set_permissions(&copy, fs::metadata(target)?.permissions())?;
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("some number is free")
}

/// Replaces the file as a whole, or makes it, with the rights that it had.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    let folder = target.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(there) = fs::metadata(target) {
        fs::set_permissions(file.path(), there.permissions())?;
    }
    file.persist(target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Value {
        json!({"command": "/opt/weft", "args": ["acp"], "env": {}})
    }

    #[test]
    fn what_stands_there_stays_and_a_copy_is_kept() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let file = folder.path().join("settings.json");
        let before = "{\"theme\": \"One\", \"agent_servers\": {\"other\": {\"command\": \"x\"}}, \"n\": 1.50}";
        fs::write(&file, before).expect("written");
        let Ok(Merged::Written { copy: Some(copy) }) = into_file(&file, &server()) else {
            panic!("must be written");
        };
        let after: Value = serde_json::from_str(&fs::read_to_string(&file).expect("read")).expect("JSON");
        assert_eq!(
            after,
            json!({"theme": "One", "agent_servers": {"other": {"command": "x"}, "weft": server()}, "n": 1.5})
        );
        assert_eq!(fs::read_to_string(copy).expect("read"), before);
        assert_eq!(into_file(&file, &server()).expect("read"), Merged::AlreadyThere);
    }

    #[test]
    fn a_file_that_is_not_there_is_made_with_its_folder() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let file = folder.path().join("zed/settings.json");
        assert_eq!(
            into_file(&file, &server()).expect("made"),
            Merged::Written { copy: None }
        );
        assert!(file.exists());
    }

    #[test]
    fn what_cannot_be_understood_is_left_as_it_is() {
        for (text, part) in [
            ("// mine\n{\"theme\": \"One\"}", "comments"),
            ("{\"a\": 1,}", "comments or is not plain JSON"),
            ("[]", "no object"),
            ("{\"agent_servers\": []}", "agent_servers in it is no object"),
            (
                "{\"agent_servers\": {\"weft\": {\"command\": \"/mine\"}}}",
                "another entry",
            ),
            (
                "{\"agent_servers\": {}, \"agent_servers\": {\"a\": 1}}",
                "more than once",
            ),
        ] {
            let folder = tempfile::tempdir().expect("a temp folder");
            let file = folder.path().join("settings.json");
            fs::write(&file, text).expect("written");
            let Ok(Merged::Refused(why)) = into_file(&file, &server()) else {
                panic!("{text} must be refused");
            };
            assert!(why.contains(part), "{why}");
            assert_eq!(fs::read_to_string(&file).expect("read"), text);
            assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 1, "no copy");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().expect("a temp folder");
        let real = folder.path().join("dotfiles.json");
        fs::write(&real, "{}").expect("written");
        let link = folder.path().join("settings.json");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        into_file(&link, &server()).expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert!(fs::read_to_string(&real).expect("read").contains("/opt/weft"));
    }
}
