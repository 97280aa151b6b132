//! Pages as text: structure in the manner of Markdown, no styles and scripts.

use std::io::{self, Read};

use html2text::render::TextDecorator;
use html2text::{Handle, config};
use reqwest::Url;
use tokio_util::sync::CancellationToken;

/// How wide the text is, in columns.
const WIDTH: usize = 120;

/// How deep elements may stand in one another. Rendering goes into each, and nobody writes a page like that.
const DEPTH: usize = 256;

/// The readable text of a page; the reason if there is none to be had.
///
/// Takes a thread of its own, and longer than in proportion to a page that is meant to be slow: `stop` ends it.
pub(super) fn readable(html: &str, url: &Url, stop: &CancellationToken) -> Result<String, String> {
    let config = config::with_decorator(Markdown {
        url: url.clone(),
        open: Vec::new(),
    })
    .allow_width_overflow()
    .no_table_borders()
    .no_link_wrapping();
    let input = UntilStopped {
        bytes: html.as_bytes(),
        stop,
    };
    let page = config.parse_html(input).map_err(|error| error.to_string())?;
    if !is_shallow(&page.document) {
        return Err(format!("it is nested deeper than {DEPTH} elements"));
    }
    let text = config
        .dom_to_render_tree(&page)
        .and_then(|tree| config.render_to_string(tree, WIDTH))
        .map_err(|error| error.to_string())?;
    Ok(tidy(&text))
}

/// Whether no element stands deeper than [`DEPTH`].
fn is_shallow(document: &Handle) -> bool {
    let mut level = vec![document.clone()];
    for _ in 0..DEPTH {
        let children = level.iter().flat_map(|node| node.children.borrow().clone());
        level = children.collect();
    }
    level.is_empty()
}

/// A page that breaks off once nobody waits for it.
struct UntilStopped<'a> {
    bytes: &'a [u8],
    stop: &'a CancellationToken,
}

impl Read for UntilStopped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        // What is parsed between two looks at the signal is a part of the page that takes little time in any case.
        let most = buffer.len().min(4 << 10);
        self.bytes.read(&mut buffer[..most])
    }
}

/// Without blanks at the ends of lines, and never more than one empty line.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 && !(line.is_empty() && tidied.is_empty()) {
            tidied.push_str(line);
            tidied.push('\n');
        }
    }
    tidied.truncate(tidied.trim_end().len());
    tidied
}

/// Marks text as Markdown does, with links as they are from everywhere.
#[derive(Clone, Debug)]
struct Markdown {
    url: Url,
    /// What ends each link that has begun.
    open: Vec<String>,
}

impl Markdown {
    /// The whole URL of a link, if it leads to another page.
    fn whole(&self, link: &str) -> Option<Url> {
        let is_elsewhere = !link.starts_with('#');
        let url = self.url.join(link).ok().filter(|_| is_elsewhere)?;
        matches!(url.scheme(), "http" | "https").then_some(url)
    }
}

fn plain(text: &str) -> (String, ()) {
    (text.to_owned(), ())
}

impl TextDecorator for Markdown {
    type Annotation = ();

    fn decorate_link_start(&mut self, url: &str) -> (String, ()) {
        let whole = self.whole(url);
        let begin = if whole.is_some() { "[" } else { "" };
        self.open
            .push(whole.map_or_else(String::new, |whole| format!("]({whole})")));
        plain(begin)
    }

    fn decorate_link_end(&mut self) -> String {
        self.open.pop().unwrap_or_default()
    }

    fn decorate_em_start(&self) -> (String, ()) {
        plain("*")
    }

    fn decorate_em_end(&self) -> String {
        "*".to_owned()
    }

    fn decorate_strong_start(&self) -> (String, ()) {
        plain("**")
    }

    fn decorate_strong_end(&self) -> String {
        "**".to_owned()
    }

    fn decorate_strikeout_start(&self) -> (String, ()) {
        plain("~~")
    }

    fn decorate_strikeout_end(&self) -> String {
        "~~".to_owned()
    }

    fn decorate_code_start(&self) -> (String, ()) {
        plain("`")
    }

    fn decorate_code_end(&self) -> String {
        "`".to_owned()
    }

    fn decorate_preformat_first(&self) {}

    fn decorate_preformat_cont(&self) {}

    fn decorate_image(&mut self, _source: &str, title: &str) -> (String, ()) {
        (format!("[picture: {title}]"), ())
    }

    fn header_prefix(&self, level: usize) -> String {
        format!("{} ", "#".repeat(level))
    }

    fn quote_prefix(&self) -> String {
        "> ".to_owned()
    }

    fn unordered_item_prefix(&self) -> String {
        "- ".to_owned()
    }

    fn ordered_item_prefix(&self, number: i64) -> String {
        format!("{number}. ")
    }

    fn make_subblock_decorator(&self) -> Self {
        Self {
            url: self.url.clone(),
            open: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        let url = Url::parse("https://a.b/c/d").expect("a url");
        readable(html, &url, &CancellationToken::new()).expect("it can be read")
    }

    #[test]
    fn structure_stays_and_scripts_and_styles_go() {
        let html = "<html><head><title>T</title><style>p {}</style><script>alert(1)</script></head><body>\
                    <h2>Head</h2><p>One <b>bold</b> <code>x</code>.</p><ul><li>a<li>b</ul><pre>fn  f()\n  {}</pre>\
                    <script>more()</script></body></html>";
        assert_eq!(text(html), "## Head\n\nOne **bold** `x`.\n- a\n- b\n\nfn  f()\n  {}");
    }

    #[test]
    fn links_are_whole_and_only_those_to_pages() {
        let html =
            "<a href='e?f'>up</a> <a href='//x.y/'>out</a> <a href='#z'>here</a> <a href='javascript:a()'>run</a>";
        assert_eq!(text(html), "[up](https://a.b/c/e?f) [out](https://x.y/) here run");
    }

    #[test]
    fn a_page_nested_without_end_is_not_gone_into() {
        for tag in ["div", "blockquote", "ul><li", "table><tr><td", "b", "span"] {
            let nested = |count| format!("<{tag}>").repeat(count) + "deep";
            let url = Url::parse("https://a.b/").expect("a url");
            let read = |html: &str| readable(html, &url, &CancellationToken::new());
            assert!(read(&nested(50)).is_ok_and(|text| text.contains("deep")), "{tag}");
            let error = read(&nested(1_000)).expect_err(tag);
            assert_eq!(error, "it is nested deeper than 256 elements");
        }
    }

    #[test]
    fn a_page_that_nobody_waits_for_is_not_read() {
        let stop = CancellationToken::new();
        stop.cancel();
        let url = Url::parse("https://a.b/").expect("a url");
        let error = readable("<p>x", &url, &stop).expect_err("stopped");
        assert_eq!(error, "I/O error");
    }
}
