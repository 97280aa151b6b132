//! The folders that weft writes to, and what is stored in them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weft_session::{ListQuery, SystemClock};

use super::{Finding, Patient};
use crate::config::Config;
use crate::store;

/// Below this much free space there will be trouble soon, and below that there is.
const LITTLE_SPACE: u64 = 200 << 20;
const NO_SPACE: u64 = 4 << 20;

/// Whether settings and sessions can be written.
pub(super) fn home(patient: &Patient) -> Vec<Finding> {
    let Ok(home) = &patient.home else { return Vec::new() };
    let mut findings = vec![writable(&home.sessions)];
    findings.extend(space(&home.sessions));
    findings.extend(others_can_write(&home.config.join("config.toml")));
    findings
}

/// Whether a file can be made in a folder, or in the nearest one that there is.
fn writable(folder: &Path) -> Finding {
    let place = nearest(folder);
    match tempfile::NamedTempFile::new_in(place) {
        Ok(_) => Finding::ok(format!("{} can be written", folder.display())),
        Err(error) => Finding::fail(
            format!("{} cannot be written: {error}", place.display()),
            "make it yours and writable, or set WEFT_HOME to another folder; no session can be kept before",
        ),
    }
}

fn nearest(folder: &Path) -> &Path {
    folder.ancestors().find(|place| place.is_dir()).unwrap_or(folder)
}

fn space(folder: &Path) -> Option<Finding> {
    let found = rustix::fs::statvfs(nearest(folder)).ok()?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let told = format!("{} MiB are free for sessions", free >> 20);
    let mend = "make room on that disk, or set WEFT_HOME to a folder on another; weft sessions delete frees what old \
                sessions take";
    match free {
        0..NO_SPACE => Some(Finding::fail(told, mend)),
        NO_SPACE..LITTLE_SPACE => Some(Finding::warn(told, mend)),
        _ => None,
    }
}

#[cfg(unix)]
fn others_can_write(file: &Path) -> Option<Finding> {
    use std::os::unix::fs::MetadataExt as _;
    let mode = fs::metadata(file).ok()?.mode();
    (mode & 0o022 != 0).then(|| {
        Finding::warn(
            format!("others can write {}", file.display()),
            format!("chmod go-w {}", file.display()),
        )
    })
}

#[cfg(not(unix))]
fn others_can_write(_file: &Path) -> Option<Finding> {
    None
}

/// How many sessions there are, and whether their logs are sound.
pub(super) fn sessions(patient: &Patient) -> Vec<Finding> {
    let Ok(home) = &patient.home else { return Vec::new() };
    let config = patient.config.clone().unwrap_or_default();
    match counted(&config, &home.sessions) {
        Ok((all, 0)) => vec![Finding::ok(format!("{all} sessions"))],
        Ok((all, damaged)) => vec![Finding::warn(
            format!("{damaged} of {all} sessions are damaged"),
            "weft sessions verify says where; weft sessions export saves what is sound",
        )],
        Err(error) => vec![Finding::fail(
            format!("the sessions cannot be listed: {error:#}"),
            "make the folder readable, or set WEFT_HOME to another",
        )],
    }
}

fn counted(config: &Config, folder: &Path) -> anyhow::Result<(usize, usize)> {
    let store = store::open(config, folder.to_owned(), "weft doctor", Arc::new(SystemClock))?;
    let mut query = ListQuery {
        find_damage: true,
        include_blank: true,
        limit: 1_000,
        ..ListQuery::default()
    };
    let (mut all, mut damaged) = (0, 0);
    loop {
        let list = store.list(&query)?;
        all += list.rows.len();
        damaged += list.rows.iter().filter(|row| row.damaged).count();
        if list.next.is_none() {
            return Ok((all, damaged));
        }
        query.cursor = list.next;
    }
}
