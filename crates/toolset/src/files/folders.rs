//! The folders that a session works in.

use std::path::{Path, PathBuf};

use weft_tools::{AdditionalDirectories, Extensions, Memory, ToolError, ToolExecution, WorkingDirectory};

use super::Buffers;
use super::place::{leaves_folder, without_links};
use crate::scratch::Scratch;

/// The session's folder and those that count as it: its additional directories, and its temporary one if there is any.
///
/// And who else has their files open.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// Where relative paths start.
    pub(crate) session: PathBuf,
    /// The editor's view of the files.
    pub(crate) buffers: Buffers,
    others: Vec<PathBuf>,
}

impl Folders {
    /// The folders of a call's session.
    pub(crate) fn of(execution: &ToolExecution) -> Result<Self, ToolError> {
        let folders = Self::from_parts(
            execution.extension::<WorkingDirectory>().as_deref(),
            execution.extension::<AdditionalDirectories>().as_deref(),
            execution.extension::<Memory>().as_deref(),
        );
        let mut folders = folders.ok_or_else(|| {
            let name = execution.name();
            ToolError::new(format!("failed to run {name}: its caller named no working folder"))
        })?;
        folders.buffers = Buffers::of(execution);
        Ok(folders)
    }

    /// The folders that a caller lends, if it lends any.
    pub(crate) fn lent(lent: &Extensions) -> Option<Self> {
        Self::from_parts(
            lent.get::<WorkingDirectory>().as_deref(),
            lent.get::<AdditionalDirectories>().as_deref(),
            lent.get::<Memory>().as_deref(),
        )
    }

    fn from_parts(
        session: Option<&WorkingDirectory>,
        additional: Option<&AdditionalDirectories>,
        memory: Option<&Memory>,
    ) -> Option<Self> {
        let mut others = additional.map_or_else(Vec::new, |additional| additional.0.clone());
        others.extend(memory.and_then(|memory| memory.of::<Scratch>().made()));
        Some(Self {
            session: session?.0.clone(),
            buffers: Buffers::default(),
            others,
        })
    }

    /// Whether a path without links is in one of them.
    pub(crate) fn hold(&self, real: &Path) -> bool {
        let mut all = std::iter::once(&self.session).chain(&self.others);
        all.any(|folder| without_links(folder).is_ok_and(|folder| real.starts_with(folder)))
    }

    /// Whether a path, by its wording alone, is outside of all of them.
    pub(crate) fn are_left_by(&self, path: &str) -> bool {
        let from_here = self.session.join(path);
        let leaves = |folder: &PathBuf| match from_here.to_str() {
            Some(path) => leaves_folder(folder, path),
            None => true,
        };
        leaves_folder(&self.session, path) && self.others.iter().all(leaves)
    }
}

impl From<&Path> for Folders {
    fn from(session: &Path) -> Self {
        Self {
            session: session.to_owned(),
            buffers: Buffers::default(),
            others: Vec::new(),
        }
    }
}
