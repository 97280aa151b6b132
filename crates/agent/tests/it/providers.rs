//! Finding a provider of subagents.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use serde_json::json;
use weft_agent::{
    SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest, SubagentRun,
    SubagentStop, Subagents,
};

use crate::support::{Family, refused};

/// A provider that counts its starts.
struct Counting {
    capabilities: SubagentCapabilities,
    starts: AtomicUsize,
}

impl SubagentProvider for Counting {
    fn capabilities(&self) -> SubagentCapabilities {
        self.capabilities
    }

    fn start(&self, _: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        let error = SubagentError::new(SubagentErrorCode::StartFailed, "on purpose");
        Box::pin(std::future::ready(Err(error)))
    }
}

#[tokio::test]
async fn providers_are_found_by_name_and_asked_only_for_what_they_can_do() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n");
    let subagents = Subagents::new();
    let (code, text) = refused(subagents.start(None, family.request("go")).await);
    assert_eq!(code, SubagentErrorCode::NoProvider);
    let expected = "failed to start a subagent: there is no provider \"spawn\"; known providers: none";
    assert_eq!(text, expected);
    let plain = Arc::new(Counting {
        capabilities: SubagentCapabilities::default(),
        starts: AtomicUsize::new(0),
    });
    subagents.register("plain", Arc::clone(&plain) as Arc<dyn SubagentProvider>);
    subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(family.provider.clone()));
    assert!(subagents.has("plain") && subagents.has("spawn") && !subagents.has("other"));
    let demanding = || SubagentRequest {
        schema: Some(json!({"type": "object"})),
        model: Some("test/other".to_owned()),
        ..family.request("go")
    };
    let (code, text) = refused(subagents.start(Some("other"), demanding()).await);
    assert!(
        code == SubagentErrorCode::NoProvider && text.ends_with("known providers: plain, spawn"),
        "{text}"
    );
    let (code, text) = refused(subagents.start(Some("plain"), demanding()).await);
    assert!(
        code == SubagentErrorCode::UnsupportedCapability && text.contains("answer in a schema"),
        "{text}"
    );
    let model_only = SubagentRequest {
        schema: None,
        ..demanding()
    };
    let (code, text) = refused(subagents.start(Some("plain"), model_only).await);
    assert!(
        code == SubagentErrorCode::UnsupportedCapability && text.contains("be told their model"),
        "{text}"
    );
    assert_eq!(plain.starts.load(Ordering::SeqCst), 0, "it was never asked");
    refused(subagents.start(Some("plain"), family.request("go")).await);
    assert_eq!((plain.starts.load(Ordering::SeqCst), family.children()), (1, 0));
    let run = subagents.start(None, family.request("go")).await.expect("started");
    assert_eq!(run.result().await.stop, SubagentStop::Completed);
}
