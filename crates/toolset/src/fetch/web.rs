//! Requests, and what comes back of them.

use std::error::Error;

use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};

use super::resolve::Resolver;
use super::target::{Judge, Next, Refused, next};

/// What pages are wanted as.
const ACCEPTED: &str = "text/html, text/markdown, text/plain, application/json, text/*;q=0.9, image/*;q=0.8, */*;q=0.5";

/// Sends requests to what may be asked, and to nothing else.
pub(super) struct Web {
    client: Client,
    judge: Judge,
}

/// Why nothing came of a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the server redirects more than {0} times (fetch.max_redirects)")]
    Redirects(usize),
    #[error("the server sent the page packed as {0}, which it was not asked for")]
    Packed(String),
    #[error("{0}")]
    Request(String),
}

/// What a request came to.
pub(super) enum Answer {
    Page(Page),
    /// Another site, to which the server redirects.
    Elsewhere(Url),
}

/// A page whose body has not been taken.
pub(super) struct Page {
    pub(super) url: Url,
    /// What the server says the page is.
    pub(super) content_type: Option<String>,
    /// How long the server says it is.
    pub(super) length: Option<u64>,
    response: Response,
}

impl Web {
    /// The way to the web by this resolver. No proxy is used, whatever the environment names: one would look names up
    /// itself, and nobody could tell what it connects to.
    pub(super) fn new(resolver: Resolver) -> reqwest::Result<Self> {
        // The TLS stack takes what the process has installed. Somebody else's choice is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let judge = resolver.judge;
        let client = Client::builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .referer(false)
            .redirect(Policy::none())
            // No connection outlives its call, and each is looked up anew.
            .pool_max_idle_per_host(0)
            .dns_resolver(resolver)
            .build()?;
        Ok(Self { client, judge })
    }

    /// Asks for a page, through at most `redirects` redirects. Dropping the future drops the request.
    pub(super) async fn get(&self, mut url: Url, redirects: usize) -> Result<Answer, Failed> {
        for _ in 0..=redirects {
            let request = self.client.get(url.clone()).header(ACCEPT, ACCEPTED);
            let response = request.send().await.map_err(Failed::of)?;
            let location = header(response.headers(), &LOCATION).filter(|_| is_redirect(response.status()));
            let Some(location) = location else {
                return page(url, response).map(Answer::Page);
            };
            match next(&url, &location, self.judge)? {
                Next::Same(to) => url = to,
                Next::Elsewhere(to) => return Ok(Answer::Elsewhere(to)),
            }
        }
        Err(Failed::Redirects(redirects))
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn page(url: Url, response: Response) -> Result<Page, Failed> {
    if !response.status().is_success() {
        return Err(Failed::Status(response.status()));
    }
    let headers = response.headers();
    if let Some(packed) = header(headers, &CONTENT_ENCODING).filter(|packed| !packed.eq_ignore_ascii_case("identity")) {
        return Err(Failed::Packed(packed));
    }
    Ok(Page {
        url,
        content_type: header(headers, &CONTENT_TYPE),
        length: response.content_length(),
        response,
    })
}

/// A header's value, read as UTF-8 with what is not replaced.
fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

impl Page {
    /// The first `most` bytes of the body, and whether there are more. The rest is not waited for.
    pub(super) async fn take(mut self, most: usize) -> Result<(Vec<u8>, bool), Failed> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.response.chunk().await.map_err(Failed::of)? {
            let room = most - bytes.len();
            if chunk.len() > room {
                bytes.extend_from_slice(&chunk[..room]);
                return Ok((bytes, true));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, false))
    }
}

impl Failed {
    /// The refusal at the bottom of an error, or the reasons that stand in it, without the URL.
    fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut said = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(refused) = inner.downcast_ref::<Refused>() {
                return Self::Refused(refused.clone());
            }
            let text = inner.to_string();
            if !said.contains(&text) {
                said = format!("{said}: {text}");
            }
            cause = inner.source();
        }
        Self::Request(said)
    }
}
