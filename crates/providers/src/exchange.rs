//! One request and its answer on the wire.

use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use tokio::time::timeout;
use weft_model::{ModelError, ModelEvent, ModelRequest, ModelStream};

use crate::Secret;
use crate::dialect::{Answer, Dialect, Events};
use crate::endpoint::Endpoint;
use crate::http::root_cause;
use crate::images::without_images;
use crate::sse::{SseDecoder, SseEvent};

/// How much of the body of a refusal is read, in bytes.
const MAX_REFUSAL: usize = 64 << 10;
/// How long to wait for the body of a refusal, and for the usage after the last word of an answer.
const GRACE: Duration = Duration::from_secs(5);

/// Sends a request at the first poll and streams its answer. Dropping the stream drops the connection.
pub(crate) fn stream<D: Dialect>(dialect: Arc<D>, request: ModelRequest) -> ModelStream {
    let start = Exchange {
        dialect,
        events: Events::new(),
        state: State::Asking(Box::new(request)),
    };
    Box::pin(stream::unfold(start, async |mut exchange| {
        exchange.next().await.map(|item| (item, exchange))
    }))
}

struct Exchange<D: Dialect> {
    dialect: Arc<D>,
    events: Events,
    state: State<D::Answer>,
}

enum State<A> {
    Asking(Box<ModelRequest>),
    Reading(Box<Reading<A>>),
    /// An error to be given once the events before it are.
    Failed(ModelError),
    Ended,
}

impl<D: Dialect> Exchange<D> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            let next = match std::mem::replace(&mut self.state, State::Ended) {
                State::Asking(request) => ask(&*self.dialect, *request)
                    .await
                    .map(|reading| State::Reading(reading.into())),
                State::Reading(mut reading) => match reading.advance(&mut self.events).await {
                    Ok(true) => Ok(State::Reading(reading)),
                    Ok(false) => reading.answer.finish(&mut self.events).map(|()| State::Ended),
                    Err(error) => Err(error),
                },
                State::Failed(error) => return Some(Err(error)),
                State::Ended => return None,
            };
            self.state = next.unwrap_or_else(State::Failed);
        }
    }
}

/// Sends a request and waits for the head of the answer.
async fn ask<D: Dialect>(dialect: &D, mut request: ModelRequest) -> Result<Reading<D::Answer>, ModelError> {
    let endpoint = dialect.endpoint();
    if endpoint.config.knowledge.of(&request.model).images == Some(false) {
        without_images(&mut request.messages, &request.model);
    }
    let (origin, model) = (&request.origin, request.model.as_str());
    tracing::debug!(endpoint = endpoint.name, model, session = %origin.session, origin.turn, origin.step, "asking");
    let response = match endpoint.post(dialect.body(&request)).await {
        Err(refusal) if dialect.adapts_to(&refusal) => endpoint.post(dialect.body(&request)).await?,
        answered => answered?,
    };
    Ok(Reading {
        endpoint: Arc::clone(endpoint),
        answer: dialect.answer(&request),
        body: Body::Unknown(Vec::new()),
        claims_html: is_html(response.headers()),
        response,
    })
}

impl Endpoint {
    /// Posts a body and waits for the head of the answer, which is a success.
    async fn post(&self, body: Vec<u8>) -> Result<Response, ModelError> {
        let post = |client: &Client| {
            let post = client.post(self.url.clone()).header(CONTENT_TYPE, "application/json");
            post.header(ACCEPT, "text/event-stream").body(body.clone())
        };
        self.send(post).await
    }

    /// Asks for the list of models and waits for the head of the answer, which is a success.
    pub(crate) async fn get_models(&self) -> Result<Response, ModelError> {
        self.send(|client| client.get(self.models_url.clone()).header(ACCEPT, "application/json"))
            .await
    }

    /// Sends a request; again with a new key where a command prints it and the endpoint refuses the old one.
    async fn send(&self, request: impl Fn(&Client) -> RequestBuilder) -> Result<Response, ModelError> {
        let client = self.client.get().await?;
        let Some(command) = &self.key else {
            return self.judged(self.sent(request(client), None).await?).await;
        };
        let key = command.other_than(None).await?;
        let response = self.sent(request(client), Some(&key)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.judged(response).await;
        }
        let renewed = command.other_than(Some(&key)).await?;
        if renewed.expose() == key.expose() {
            return self.judged(response).await;
        }
        drop(response);
        self.judged(self.sent(request(client), Some(&renewed)).await?).await
    }

    async fn sent(&self, request: RequestBuilder, key: Option<&Secret>) -> Result<Response, ModelError> {
        let request = request.headers(self.headers_with(key)?);
        let wait = self.config.idle_timeout;
        match timeout(wait, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.unreachable(&error)),
            Err(_) => Err(self.silent(wait)),
        }
    }

    /// The answer if it is a success, or else the error that it tells.
    async fn judged(&self, response: Response) -> Result<Response, ModelError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(self.refusal(status, response).await)
    }

    /// Reads what an endpoint says with a refusal, as far as it comes.
    async fn refusal(&self, status: StatusCode, mut response: Response) -> ModelError {
        let headers = std::mem::take(response.headers_mut());
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                body.extend_from_slice(&bytes);
                if body.len() > MAX_REFUSAL {
                    break;
                }
            }
        };
        // What has come by then is shown; the status alone says enough.
        timeout(GRACE.min(self.config.idle_timeout), reading).await.ok();
        body.truncate(MAX_REFUSAL);
        self.refused(status, &headers, &String::from_utf8_lossy(&body))
    }
}

/// An answer that is being read.
struct Reading<A> {
    endpoint: Arc<Endpoint>,
    response: Response,
    claims_html: bool,
    body: Body,
    answer: A,
}

/// What the bytes turn out to be. Their first one decides, since headers are often wrong.
enum Body {
    /// Nothing but white space has come.
    Unknown(Vec<u8>),
    Events(SseDecoder),
    /// One JSON text, though a stream was asked for.
    Json(Vec<u8>),
}

impl<A: Answer> Reading<A> {
    /// Reads on; `false` when there is no more to read.
    async fn advance(&mut self, events: &mut Events) -> Result<bool, ModelError> {
        let idle = self.endpoint.config.idle_timeout;
        let wait = if self.answer.is_whole() { idle.min(GRACE) } else { idle };
        match timeout(wait, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => self.take(&bytes, events)?,
            Ok(Ok(None)) => {
                self.end(events)?;
                return Ok(false);
            }
            // What follows the last word of an answer is not worth failing for.
            _ if self.answer.is_whole() => return Ok(false),
            Ok(Err(error)) => return Err(self.endpoint.incomplete(root_cause(&error))),
            Err(_) => {
                return Err(self
                    .endpoint
                    .incomplete(format!("nothing came for {wait:?} (idle_timeout)")));
            }
        }
        Ok(!self.answer.has_ended())
    }

    fn take(&mut self, bytes: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let config = &self.endpoint.config;
        match &mut self.body {
            Body::Unknown(head) => {
                head.extend_from_slice(bytes);
                let known = match first_byte(head) {
                    Some(b'<') => return Err(self.endpoint.foreign("a web page", &String::from_utf8_lossy(head))),
                    _ if self.claims_html => {
                        return Err(self.endpoint.foreign("a web page", &String::from_utf8_lossy(head)));
                    }
                    Some(b'{' | b'[') => Body::Json(Vec::new()),
                    Some(_) => Body::Events(SseDecoder::new(config.max_event_bytes)),
                    None if head.len() > config.max_event_bytes => {
                        return Err(self.endpoint.foreign("white space", ""));
                    }
                    None => return Ok(()),
                };
                let head = std::mem::take(head);
                self.body = known;
                self.take(&head, events)
            }
            Body::Json(text) => {
                text.extend_from_slice(bytes);
                let max = config.max_answer_bytes;
                if text.len() > max {
                    return Err(self.endpoint.too_long(format!("more than max_answer_bytes ({max})")));
                }
                Ok(())
            }
            Body::Events(decoder) => {
                let mut decoded = Vec::new();
                let decoding = decoder.push(bytes, &mut decoded);
                self.answer_events(&decoded, events)?;
                decoding.map_err(|error| self.endpoint.too_long(error))
            }
        }
    }

    /// Takes the end of the body.
    fn end(&mut self, events: &mut Events) -> Result<(), ModelError> {
        match &mut self.body {
            Body::Unknown(_) => Err(self.endpoint.incomplete("it is empty")),
            Body::Json(text) => self.answer.take_whole(text, events),
            Body::Events(decoder) => {
                let last = decoder.finish();
                self.answer_events(last.as_slice(), events)
            }
        }
    }

    fn answer_events(&mut self, decoded: &[SseEvent], events: &mut Events) -> Result<(), ModelError> {
        for event in decoded {
            if self.answer.has_ended() {
                break;
            }
            self.answer.take_event(event, events)?;
        }
        Ok(())
    }
}

/// The first byte that is neither white space nor part of a byte-order mark.
fn first_byte(head: &[u8]) -> Option<u8> {
    head.iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace() && !matches!(byte, 0xef | 0xbb | 0xbf))
}

fn is_html(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}
