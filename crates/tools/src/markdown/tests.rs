use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;

#[track_caller]
fn check(line: &str, expected: &str) {
    assert_eq!(escape_markdown(line), expected);
    assert_eq!(rendered(line), Ok(line.to_owned()));
}

/// What a renderer with every common extension shows of the escaped line, or the markup it found in it.
fn rendered(line: &str) -> Result<String, String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    let source = format!("- Latest: {}\n- Done: 0", escape_markdown(line));
    let mut text = String::new();
    for event in Parser::new_ext(&source, options) {
        match event {
            Event::Text(more) => text.push_str(&more),
            Event::Start(Tag::List(None) | Tag::Item | Tag::Paragraph) | Event::End(_) => {}
            markup => return Err(format!("{markup:?} in {source:?}")),
        }
    }
    let shown = text
        .strip_prefix("Latest: ")
        .and_then(|text| text.strip_suffix("Done: 0"));
    Ok(shown.unwrap_or(&text).to_owned())
}

#[test]
fn what_marks_nothing_up_is_left_alone() {
    check("scan a.rs, scan b.rs", "scan a.rs, scan b.rs");
    check("snake_case_name and __init", "snake_case_name and __init");
    check("2 * 3 * 4", "2 * 3 * 4");
    check("~/src, 5 < 6 & 7 > 6 && x", "~/src, 5 < 6 & 7 > 6 && x");
    check(
        "[x] done, a[i], C:\\dir\\file, #1!",
        "[x] done, a[i], C:\\dir\\file, #1!",
    );
    check("one ` or one * or one _", "one ` or one * or one _");
}

#[test]
fn what_would_mark_something_up_is_escaped() {
    check("*now* and __main__", "\\*now\\* and \\_\\_main\\_\\_");
    check("`code` ~~gone~~", "\\`code\\` \\~\\~gone\\~\\~");
    check("[a](http://b) ![i](j) [k][l]", "[a\\](http://b) ![i\\](j) [k\\][l]");
    check(
        "<b>bold</b> <!-- c --> &amp; &#42;",
        "\\<b>bold\\</b> \\<!-- c --> \\&amp; \\&#42;",
    );
    check("\\* \\", "\\\\* \\");
    check("<http://a.b> x@y.z", "\\<http://a.b> x@y.z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_line_is_shown_as_it_stands(line in "[a-z`~*_\\\\<>&;#!?/:.(){}|^$=+\\-\\[\\] \"'0-9é]{1,24}") {
        // Blanks at the ends are shown by no renderer.
        let line = format!("x{}", line.trim_end());
        prop_assert_eq!(rendered(&line), Ok(line.clone()), "{:?}", escape_markdown(&line));
    }
}
