//! The streamable HTTP transport, set up for one server.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::Failure;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// A transport to the endpoint. Connects to nothing yet.
pub(crate) fn transport(
    url: &str,
    headers: &[(String, String)],
) -> Result<StreamableHttpClientTransport<Client>, Failure> {
    let parsed = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    if parsed.is_none() {
        return Err(unusable("has a url that is none of http or https"));
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
            return Err(unusable("has a header whose name is not one"));
        };
        let Ok(mut value) = HeaderValue::from_str(value) else {
            let reason = format!("has a header {parsed} whose value holds characters that no header has");
            return Err(Failure::Unusable { reason });
        };
        value.set_sensitive(true);
        custom.insert(parsed, value);
    }
    let client = client().map_err(|error| Failure::Connect {
        reason: error.to_string(),
    })?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn client() -> reqwest::Result<Client> {
    // The TLS stack takes what the process has installed. Somebody else's choice is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder()
        .connect_timeout(CONNECT)
        .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::custom(same_origin))
        .build()
}

/// Follows a redirect only within the origin: elsewhere the headers, which hold credentials, have no business.
fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_same = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if is_same && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn unusable(reason: &str) -> Failure {
    Failure::Unusable {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, header: (&str, &str), expected: &str) {
        let headers = [(header.0.to_owned(), header.1.to_owned())];
        let error = transport(url, &headers).err().expect("it is refused");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_showing_it() {
        check("ftp://secret", ("a", "b"), "it has a url that is none of http or https");
        check("http://a", ("a b", "secret"), "it has a header whose name is not one");
        let expected = "it has a header x-key whose value holds characters that no header has";
        check("http://a", ("X-Key", "secret\n"), expected);
    }
}
