//! What may be asked at all: URLs, and where redirects lead.

use std::net::IpAddr;

use reqwest::Url;

/// Tells what an address stands for if it may not be asked.
pub(super) type Judge = fn(IpAddr) -> Option<&'static str>;

/// Why something is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("it is no URL ({0}), expected one such as https://example.com/page")]
    NotUrl(String),
    #[error("its scheme is {0}, expected https or http")]
    Scheme(String),
    #[error("it holds a user's name or password, which are not sent")]
    Credentials,
    #[error("{host} is {address}, {what}; only the public internet is asked")]
    Address {
        host: String,
        address: IpAddr,
        what: &'static str,
    },
    #[error("the server redirects from https to {0}, where anybody could read along")]
    Downgrade(Url),
    #[error("the server redirects to {to}, which is refused: {why}")]
    Redirect { to: String, why: Box<Refused> },
}

/// Where a redirect leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// To another page of the site.
    Same(Url),
    /// To another site, which nobody was asked about.
    Elsewhere(Url),
}

/// The URL that a text names, as far as it can be told without asking for its name.
///
/// Addresses in any form (`2130706433`, `0x7f.1`, `0177.0.0.1`) are read here as a browser reads them.
pub(super) fn target(text: &str, judge: Judge) -> Result<Url, Refused> {
    let url = Url::parse(text.trim()).map_err(|error| Refused::NotUrl(error.to_string()))?;
    check(&url, judge)?;
    Ok(url)
}

fn check(url: &Url, judge: Judge) -> Result<(), Refused> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refused::Credentials);
    }
    match literal(url).and_then(|address| Some((address, judge(address)?))) {
        Some((address, what)) => Err(Refused::Address {
            host: url.host_str().unwrap_or_default().to_owned(),
            address,
            what,
        }),
        None => Ok(()),
    }
}

/// The address that stands in a URL instead of a name. No resolver is asked about it.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host).parse().ok()
}

/// Where `location` leads from a page.
///
/// Only within the site is it followed: for another one the user, who may have allowed this one alone, has to be asked.
pub(super) fn next(from: &Url, location: &str, judge: Judge) -> Result<Next, Refused> {
    let refused = |why| Refused::Redirect {
        to: location.to_owned(),
        why: Box::new(why),
    };
    let to = from
        .join(location)
        .map_err(|error| refused(Refused::NotUrl(error.to_string())))?;
    check(&to, judge).map_err(refused)?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(Refused::Downgrade(to));
    }
    let is_same_host = from.host_str() == to.host_str();
    let is_upgrade = from.scheme() != to.scheme() && from.port().is_none() && to.port().is_none();
    let is_same_door = from.scheme() == to.scheme() && from.port() == to.port();
    Ok(if is_same_host && (is_same_door || is_upgrade) {
        Next::Same(to)
    } else {
        Next::Elsewhere(to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::address::not_public;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        let error = target(text, not_public).expect_err("must be refused");
        assert_eq!(error.to_string(), expected, "{text}");
    }

    #[test]
    fn only_urls_of_the_web_without_credentials_are_asked() {
        for (text, expected) in [
            ("https://docs.rs/x?y", "https://docs.rs/x?y"),
            (" HTTP://Docs.rs:80 ", "http://docs.rs/"),
            ("http://1.1.1.1/", "http://1.1.1.1/"),
        ] {
            let url = target(text, not_public).expect("may be asked");
            assert_eq!(url.as_str(), expected);
        }
        refused(
            "docs.rs",
            "it is no URL (relative URL without a base), expected one such as https://example.com/page",
        );
        refused("file:///etc/passwd", "its scheme is file, expected https or http");
        refused("data:text/plain,x", "its scheme is data, expected https or http");
        refused("ftp://docs.rs/", "its scheme is ftp, expected https or http");
        for text in ["https://a@docs.rs/", "https://a:b@docs.rs/", "https://:b@docs.rs/"] {
            refused(text, "it holds a user's name or password, which are not sent");
        }
    }

    #[test]
    fn an_address_is_read_in_whatever_form_it_is_written() {
        for text in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0x7f.0.0.1/",
            "http://127.0.0.1./",
            "http://%31%32%37.0.0.1/",
            "http://１２７.０.０.１/",
            "http:\\\\127.0.0.1\\",
        ] {
            let error = target(text, not_public).expect_err(text).to_string();
            let expected = "127.0.0.1 is 127.0.0.1, this machine; only the public internet is asked";
            assert_eq!(error, expected, "{text}");
        }
        for text in [
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[fe80::1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://0/",
        ] {
            let refusal = target(text, not_public);
            assert!(matches!(refusal, Err(Refused::Address { .. })), "{text}: {refusal:?}");
        }
    }

    #[track_caller]
    fn leads(from: &str, location: &str, expected: Result<Next, &str>) {
        let from = Url::parse(from).expect("a url");
        let found = next(&from, location, not_public).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{location}");
    }

    #[test]
    fn a_redirect_is_followed_within_its_site_only() {
        let same = |url: &str| Ok(Next::Same(Url::parse(url).expect("a url")));
        let elsewhere = |url: &str| Ok(Next::Elsewhere(Url::parse(url).expect("a url")));
        leads("http://a.b/x", "/y", same("http://a.b/y"));
        leads("http://a.b/x", "https://a.b/x", same("https://a.b/x"));
        leads("https://a.b/x", "https://www.a.b/x", elsewhere("https://www.a.b/x"));
        leads("https://a.b/x", "//c.d/", elsewhere("https://c.d/"));
        leads("https://a.b/x", "https://a.b:8443/x", elsewhere("https://a.b:8443/x"));
        leads("http://a.b:8080/x", "https://a.b/x", elsewhere("https://a.b/x"));
    }

    #[test]
    fn a_redirect_to_what_may_not_be_asked_is_refused() {
        let from = "https://a.b/x";
        leads(
            from,
            "http://a.b/x",
            Err("the server redirects from https to http://a.b/x, where anybody could read along"),
        );
        leads(
            from,
            "file:///etc/passwd",
            Err(
                "the server redirects to file:///etc/passwd, which is refused: its scheme is file, expected https or http",
            ),
        );
        leads(
            from,
            "https://u@a.b/",
            Err(
                "the server redirects to https://u@a.b/, which is refused: it holds a user's name or password, which are \
                 not sent",
            ),
        );
        leads(
            from,
            "https://0xa9fea9fe/",
            Err(
                "the server redirects to https://0xa9fea9fe/, which is refused: 169.254.169.254 is 169.254.169.254, the \
                 local link, where clouds hand out credentials; only the public internet is asked",
            ),
        );
    }
}
