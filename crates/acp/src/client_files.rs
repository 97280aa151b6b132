//! The client's files, as its editor has them: `fs/read_text_file` and `fs/write_text_file`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::timeout;
use weft_tools::{ClientFileError, ClientFiles};

use crate::FileTimeout;
use crate::projector::ClientProfile;
use crate::sdk::{Client, ClientError, schema};

/// The files of one session's client.
///
/// A request that is dropped or takes too long is withdrawn with `$/cancel_request`. The client may have done it all
/// the same.
#[derive(Debug)]
pub(crate) struct EditorFiles {
    session: Arc<str>,
    client: Client,
    can_read: bool,
    can_write: bool,
    timeout: Duration,
}

impl EditorFiles {
    /// The client's files, if it offers either direction.
    pub(crate) fn offered(
        session: Arc<str>,
        client: Client,
        profile: ClientProfile,
        timeout: FileTimeout,
    ) -> Option<Self> {
        let files = Self {
            session,
            client,
            can_read: profile.reads_files,
            can_write: profile.writes_files,
            timeout: timeout.get(),
        };
        (files.can_read || files.can_write).then_some(files)
    }
}

impl ClientFiles for EditorFiles {
    fn can_read(&self) -> bool {
        self.can_read
    }

    fn can_write(&self) -> bool {
        self.can_write
    }

    fn read(&self, path: &Path) -> BoxFuture<'static, Result<String, ClientFileError>> {
        let request = schema::ReadTextFileRequest::new(Arc::clone(&self.session), path);
        let (client, limit) = (self.client.clone(), self.timeout);
        async move { within(limit, client.read_file(request)).await }.boxed()
    }

    fn write(&self, path: &Path, text: String) -> BoxFuture<'static, Result<(), ClientFileError>> {
        let request = schema::WriteTextFileRequest::new(Arc::clone(&self.session), path, text);
        let (client, limit) = (self.client.clone(), self.timeout);
        async move { within(limit, client.write_file(request)).await }.boxed()
    }
}

async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientFileError> {
    match timeout(limit, answer).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(ClientError::NotFound)) => Err(ClientFileError::NotFound),
        Ok(Err(ClientError::Failed(reason))) => Err(ClientFileError::Failed(reason)),
        Err(_) => Err(ClientFileError::Failed(format!(
            "it did not answer within acp.file_timeout, which is {} ms",
            limit.as_millis()
        ))),
    }
}
