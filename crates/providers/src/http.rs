//! The HTTP client: built when it is first needed, the same for every request after that.

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, Url, redirect};
use tokio::sync::OnceCell;
use weft_model::{ModelError, ModelErrorKind};

use crate::install_crypto;

/// A client for one endpoint.
///
/// Building it reads the system's certificates, if the endpoint is reached over TLS, so it waits for the
/// first request. Redirects are not followed: they would turn the POST into something else, and show the
/// key to whoever stands there. There is no limit on the whole time of a request, since an answer may
/// well take an hour; silence is limited by the caller.
#[derive(Debug)]
pub(crate) struct LazyClient {
    uses_tls: bool,
    is_local: bool,
    connect_timeout: Duration,
    client: OnceCell<Client>,
}

impl LazyClient {
    pub(crate) fn new(endpoint: &Url, connect_timeout: Duration) -> Self {
        let uses_tls = endpoint.scheme() == "https";
        Self {
            uses_tls,
            is_local: is_loopback(endpoint),
            connect_timeout,
            client: OnceCell::new(),
        }
    }

    /// The client. A failure is not kept: the next request tries again.
    pub(crate) async fn get(&self) -> Result<&Client, ModelError> {
        self.client.get_or_try_init(async || self.build()).await
    }

    fn build(&self) -> Result<Client, ModelError> {
        install_crypto();
        let mut builder = Client::builder()
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(self.connect_timeout);
        if self.is_local {
            // What the environment names as proxy would look for this machine's ports on its own.
            builder = builder.no_proxy();
        }
        if !self.uses_tls {
            // Without TLS the system's certificates are of no use; a machine without any is fine.
            builder = builder.tls_certs_only([]);
        }
        builder.build().map_err(|error| {
            let message = format!(
                "failed to set up TLS: {}; install the system's CA certificates (the package is usually called \
                 ca-certificates), or set SSL_CERT_FILE to a file that holds them",
                root_cause(&error)
            );
            ModelError::new(ModelErrorKind::NotConfigured, message)
        })
    }
}

/// Whether an endpoint is on this machine, by its literal name or address.
fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// The innermost reason of an error, which is the one that tells something.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_by_the_literal_host() {
        for (url, expected) in [
            ("http://localhost:1/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://127.0.0.1:8080", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:80", true),
            ("http://127.0.0.1.example.com", false),
            ("http://localhost.example.com", false),
            ("http://192.168.0.1", false),
            ("https://api.example.com", false),
        ] {
            assert_eq!(is_loopback(&url.parse().expect("a URL")), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn a_client_is_built_once_and_only_when_asked_for() {
        let lazy = LazyClient::new(&"http://127.0.0.1:1".parse().expect("a URL"), Duration::from_secs(1));
        assert!(!lazy.client.initialized());
        let first: *const Client = lazy.get().await.expect("a client");
        let second: *const Client = lazy.get().await.expect("a client");
        assert_eq!(first, second);
    }
}
