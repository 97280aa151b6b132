//! What a page is, by what its server says and by what it holds, and its text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::files::{Format, Unreadable};

/// How far into a page the name of its charset is looked for, in bytes.
const HEAD_BYTES: usize = 1024;

/// What a server says of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Declared {
    /// The media type in small letters, without parameters; empty if it is not said.
    pub(super) media_type: String,
    charset: Option<String>,
}

/// What a page is taken for before it has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Html,
    Text,
    Picture,
    /// Its bytes have to tell.
    Unknown,
    /// Nothing that a model can be given.
    Binary,
}

/// What a page is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Html(Text),
    Text(Text),
    Picture(Format),
    /// What it is, in words.
    Binary(String),
}

/// Decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// The charset, unless it is UTF-8.
    pub(super) charset: Option<&'static str>,
    /// Whether something could not be decoded and stands as U+FFFD.
    pub(super) is_lossy: bool,
}

impl Declared {
    /// Reads a `Content-Type`.
    pub(super) fn parse(content_type: Option<&str>) -> Self {
        let mut parts = content_type.unwrap_or_default().split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
        });
        Self { media_type, charset }
    }

    pub(super) fn expected(&self) -> Expected {
        let (kind, name) = self.media_type.split_once('/').unwrap_or_default();
        let is_written = |name: &str| {
            let suffix = name.rsplit_once('+').map_or(name, |(_, suffix)| suffix);
            let suffix = suffix.strip_prefix("x-").unwrap_or(suffix);
            matches!(
                suffix,
                "json"
                    | "ndjson"
                    | "jsonl"
                    | "xml"
                    | "yaml"
                    | "toml"
                    | "javascript"
                    | "ecmascript"
                    | "typescript"
                    | "sh"
                    | "sql"
            )
        };
        match (kind, name) {
            ("text", "html") | ("application", "xhtml+xml") => Expected::Html,
            ("text", _) => Expected::Text,
            (_, name) if is_written(name) => Expected::Text,
            ("image", "png" | "jpeg" | "jpg" | "gif" | "webp") => Expected::Picture,
            ("", _) | ("application", "octet-stream") | ("binary", _) => Expected::Unknown,
            _ => Expected::Binary,
        }
    }

    /// What a page is that begins with, or is, these bytes.
    pub(super) fn content(&self, bytes: &[u8], is_cut: bool) -> Content {
        if let Some(format) = Format::of(bytes) {
            return Content::Picture(format);
        }
        let expected = self.expected();
        if matches!(expected, Expected::Picture | Expected::Binary) {
            return Content::Binary(self.named());
        }
        let encoding = self.encoding(bytes, expected, is_cut);
        if encoding.is_none_or(Encoding::is_ascii_compatible)
            && let Some(unreadable) = Unreadable::of(bytes)
        {
            return Content::Binary(match unreadable {
                Unreadable::Image(format) => format!("a {format} picture that is broken"),
                Unreadable::Binary(kind) => kind.to_owned(),
            });
        }
        let text = decode(bytes, encoding.unwrap_or(UTF_8), is_cut);
        let is_html = match expected {
            Expected::Unknown => looks_like_html(&text.text),
            expected => expected == Expected::Html,
        };
        if is_html {
            Content::Html(text)
        } else {
            Content::Text(text)
        }
    }

    /// The media type in words.
    pub(super) fn named(&self) -> String {
        if self.media_type.is_empty() {
            "binary data".to_owned()
        } else {
            self.media_type.clone()
        }
    }

    /// The charset that the server names, or the page; one that most pages without a name have, if it is not UTF-8.
    fn encoding(&self, bytes: &[u8], expected: Expected, is_cut: bool) -> Option<&'static Encoding> {
        let named = self
            .charset
            .as_deref()
            .and_then(|name| Encoding::for_label(name.as_bytes()));
        let in_page = || (expected == Expected::Html).then(|| named_in(bytes)).flatten();
        let is_utf8 = std::str::from_utf8(bytes).map_or_else(|error| is_cut && error.error_len().is_none(), |_| true);
        let guessed = || (!is_utf8 && Encoding::for_bom(bytes).is_none()).then_some(WINDOWS_1252);
        // JSON is UTF-8, whatever else is said.
        if self.media_type.ends_with("json") {
            return Some(UTF_8);
        }
        named.or_else(in_page).or_else(guessed)
    }
}

/// The charset that an HTML page names in its head.
fn named_in(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]).to_ascii_lowercase();
    let name = head.split_once("charset")?.1.trim_start().strip_prefix('=')?;
    let name = name.trim_start().trim_start_matches(['"', '\'']);
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.:".contains(c)));
    let encoding = Encoding::for_label(&name.as_bytes()[..end.unwrap_or(name.len())])?;
    // What could be read so far is none of two bytes a character.
    Some(if encoding.is_ascii_compatible() {
        encoding
    } else {
        UTF_8
    })
}

fn decode(bytes: &[u8], encoding: &'static Encoding, is_cut: bool) -> Text {
    let (text, used, had_errors) = encoding.decode(bytes);
    let mut text = text.into_owned();
    // The cut may go through a character.
    let is_split = is_cut && text.ends_with('\u{fffd}');
    if is_split {
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    let is_lossy = had_errors && (!is_split || text.contains('\u{fffd}'));
    Text {
        text,
        charset: (used != UTF_8).then(|| used.name()),
        is_lossy,
    }
}

fn looks_like_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expects(content_type: &str, expected: Expected) {
        assert_eq!(
            Declared::parse(Some(content_type)).expected(),
            expected,
            "{content_type}"
        );
    }

    #[test]
    fn a_media_type_says_what_to_expect() {
        expects("text/html; charset=utf-8", Expected::Html);
        expects("application/xhtml+xml", Expected::Html);
        expects("TEXT/Plain", Expected::Text);
        expects("application/json", Expected::Text);
        expects("application/ld+json", Expected::Text);
        expects("application/x-yaml", Expected::Text);
        expects("image/svg+xml", Expected::Text);
        expects("image/png", Expected::Picture);
        expects("", Expected::Unknown);
        expects("application/octet-stream", Expected::Unknown);
        expects("application/pdf", Expected::Binary);
        expects("video/mp4", Expected::Binary);
    }

    #[track_caller]
    fn reads(content_type: &str, bytes: &[u8], expected: (&str, Option<&str>, bool)) {
        let declared = Declared::parse(Some(content_type));
        let (Content::Text(text) | Content::Html(text)) = declared.content(bytes, false) else {
            panic!("no text: {:?}", declared.content(bytes, false));
        };
        assert_eq!((text.text.as_str(), text.charset, text.is_lossy), expected);
    }

    #[test]
    fn text_is_decoded_by_the_servers_word_the_pages_word_or_a_guess() {
        reads("text/plain", "é".as_bytes(), ("é", None, false));
        reads("text/plain", b"\xef\xbb\xbfx", ("x", None, false));
        reads(
            "text/plain; charset=\"ISO-8859-2\"",
            b"\xb1",
            ("ą", Some("ISO-8859-2"), false),
        );
        reads(
            "text/plain; charset=shift_jis",
            b"\x93\xfa",
            ("日", Some("Shift_JIS"), false),
        );
        reads(
            "text/plain; charset=utf-16le",
            b"a\0b\0",
            ("ab", Some("UTF-16LE"), false),
        );
        reads("text/plain", b"\xff\xfea\0", ("a", Some("UTF-16LE"), false));
        reads("text/plain", b"caf\xe9", ("café", Some("windows-1252"), false));
        reads("text/plain; charset=utf-8", b"caf\xe9", ("caf\u{fffd}", None, true));
        reads("application/json; charset=latin1", "é".as_bytes(), ("é", None, false));
        let page = b"<meta http-equiv=x content='text/html; charset=koi8-r'>\xc1";
        reads(
            "text/html",
            page,
            (
                "<meta http-equiv=x content='text/html; charset=koi8-r'>а",
                Some("KOI8-R"),
                false,
            ),
        );
    }

    #[test]
    fn a_cut_through_a_character_is_no_damage() {
        let bytes = &"aé".as_bytes()[..2];
        let found = Declared::parse(Some("text/plain")).content(bytes, true);
        let text = Text {
            text: "a".to_owned(),
            charset: None,
            is_lossy: false,
        };
        assert_eq!(found, Content::Text(text));
    }

    #[track_caller]
    fn is(content_type: &str, bytes: &[u8], expected: &Content) {
        assert_eq!(Declared::parse(Some(content_type)).content(bytes, false), *expected);
    }

    #[test]
    fn what_a_page_holds_counts_more_than_what_is_said() {
        is("text/plain", b"GIF89a\x01\0\x01\0", &Content::Picture(Format::Gif));
        is("text/html", b"%PDF-1.7", &Content::Binary("a PDF document".to_owned()));
        is(
            "application/octet-stream",
            b"a\0b",
            &Content::Binary("binary data".to_owned()),
        );
        is("image/png", b"<html>", &Content::Binary("image/png".to_owned()));
        is(
            "",
            b"\x89PNG",
            &Content::Binary("a PNG picture that is broken".to_owned()),
        );
        let html = Declared::default().content(b"\n<!DOCTYPE HTML><p>x", false);
        assert!(matches!(html, Content::Html(_)), "{html:?}");
    }
}
