//! Files as the caller's client has them, unsaved changes included.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;

/// Text files through the client: what stands in its buffers rather than on the disk.
///
/// A client may offer only one of the two directions. Dropping a future withdraws the request.
pub trait ClientFiles: Send + Sync {
    /// Whether the client reads files.
    fn can_read(&self) -> bool;

    /// Whether the client writes files.
    fn can_write(&self) -> bool;

    /// The whole text of a file, by its absolute path.
    fn read(&self, path: &Path) -> BoxFuture<'static, Result<String, ClientFileError>>;

    /// Replaces the whole text of a file, by its absolute path; the client makes the file and its folders.
    fn write(&self, path: &Path, text: String) -> BoxFuture<'static, Result<(), ClientFileError>>;
}

/// Why the client did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientFileError {
    /// It has no such file.
    #[error("the editor has no such file")]
    NotFound,
    /// It refused or failed, in its own words.
    #[error("the editor failed: {0}")]
    Failed(String),
}

/// The [extension](crate::Extensions) by which a caller lends its client's files.
#[derive(Clone)]
pub struct ClientFilesHandle(pub Arc<dyn ClientFiles>);

impl fmt::Debug for ClientFilesHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientFilesHandle")
            .field("can_read", &self.0.can_read())
            .field("can_write", &self.0.can_write())
            .finish()
    }
}
