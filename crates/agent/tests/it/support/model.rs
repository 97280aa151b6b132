//! Models that tell what they were asked.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use weft_model::{
    Messages, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStream, Models, ResolvedModel, ScriptedModel,
};
use weft_types::{AssistantBlock, Message};

/// A script without files.
#[track_caller]
pub(crate) fn script(toml: &str) -> ScriptedModel {
    ScriptedModel::from_toml(toml, Path::new("no-such-folder")).expect("a good script")
}

/// A stream of these events that then hangs.
pub(crate) fn events(events: Vec<ModelEvent>) -> ModelStream {
    let events: Vec<Result<ModelEvent, ModelError>> = events.into_iter().map(Ok).collect();
    futures::stream::iter(events).chain(futures::stream::pending()).boxed()
}

/// One model behind every name, which keeps its requests and counts its open streams.
#[derive(Clone)]
pub(crate) struct SpyModels {
    spy: Arc<Spy>,
    window: Option<u64>,
}

struct Spy {
    inner: Box<dyn Model>,
    script: Option<ScriptedModel>,
    requests: Mutex<Vec<ModelRequest>>,
    open: Arc<AtomicUsize>,
}

struct OpenStream(Arc<AtomicUsize>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct FromFn<F>(F);

impl<F: Fn(ModelRequest) -> ModelStream + Send + Sync> Model for FromFn<F> {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        (self.0)(request)
    }
}

impl SpyModels {
    #[track_caller]
    pub(crate) fn script(toml: &str) -> Self {
        let script = script(toml);
        Self::new(Box::new(script.clone()), Some(script))
    }

    pub(crate) fn from_fn(answer: impl Fn(ModelRequest) -> ModelStream + Send + Sync + 'static) -> Self {
        Self::new(Box::new(FromFn(answer)), None)
    }

    fn new(inner: Box<dyn Model>, script: Option<ScriptedModel>) -> Self {
        Self {
            spy: Arc::new(Spy {
                inner,
                script,
                requests: Mutex::default(),
                open: Arc::default(),
            }),
            window: None,
        }
    }

    /// The same models, of whose context this is known.
    pub(crate) fn window(self, tokens: u64) -> Self {
        Self {
            window: Some(tokens),
            ..self
        }
    }

    pub(crate) fn scripted(&self) -> &ScriptedModel {
        self.spy.script.as_ref().expect("this world has a script")
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.spy.requests.lock().expect("no test panics under it").clone()
    }

    /// How many answers are being streamed.
    pub(crate) fn open_streams(&self) -> usize {
        self.spy.open.load(Ordering::SeqCst)
    }

    /// The messages of the last request, a word for each part.
    pub(crate) fn last_messages(&self) -> Vec<String> {
        let requests = self.requests();
        let messages = &requests.last().expect("a request").messages;
        assert!(well_formed(messages), "{messages:?}");
        messages.iter().map(words).collect()
    }
}

impl Model for Spy {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.requests
            .lock()
            .expect("no test panics under it")
            .push(request.clone());
        self.open.fetch_add(1, Ordering::SeqCst);
        let open = OpenStream(Arc::clone(&self.open));
        let stream = self.inner.stream(request);
        stream
            .inspect(move |_| {
                // Owned by the stream, until it is dropped.
                let _held = &open;
            })
            .boxed()
    }
}

impl Models for SpyModels {
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        let (provider, name) = choice.unwrap_or("test/model").split_once('/').expect("provider/model");
        Ok(ResolvedModel {
            model: Arc::clone(&self.spy) as Arc<dyn Model>,
            provider: provider.to_owned(),
            name: name.to_owned(),
        })
    }

    fn info(&self, choice: &str) -> ModelInfo {
        ModelInfo {
            context_window: self.window,
            ..ModelInfo::unknown(choice)
        }
    }
}

fn words(message: &Message) -> String {
    match message {
        Message::User { content } => format!("user {}", weft_types::text_of(content)),
        Message::Assistant { content } => {
            let parts = content.iter().map(|block| match block {
                AssistantBlock::Text { text } => format!(" {text}"),
                AssistantBlock::Reasoning { text, .. } => format!(" ({text})"),
                AssistantBlock::ToolCall { id, .. } => format!(" [{id}]"),
            });
            format!("assistant{}", parts.collect::<String>())
        }
        Message::Tool { call_id, is_error, .. } => {
            format!("tool {call_id}{}", if *is_error { " failed" } else { "" })
        }
    }
}

/// Whether every call is followed by exactly one result before anything else is said, and nothing is empty.
pub(crate) fn well_formed(messages: &Messages) -> bool {
    let mut open = Vec::new();
    for message in messages {
        match message {
            Message::Tool { call_id, .. } => match open.iter().position(|open| open == call_id) {
                Some(at) => drop(open.remove(at)),
                None => return false,
            },
            Message::User { content } if !open.is_empty() || content.is_empty() => return false,
            Message::Assistant { content } if !open.is_empty() || content.is_empty() => return false,
            Message::User { .. } => {}
            Message::Assistant { content } => open.extend(content.iter().filter_map(|block| match block {
                AssistantBlock::ToolCall { id, .. } => Some(id.clone()),
                _ => None,
            })),
        }
    }
    open.is_empty()
}
