use proptest::prelude::*;

use super::*;
use crate::files::TextFile;

fn once<'a>(old: &'a str, new: &'a str) -> Request<'a> {
    Request { old, new, all: false }
}

fn every<'a>(old: &'a str, new: &'a str) -> Request<'a> {
    Request { old, new, all: true }
}

#[track_caller]
fn check(body: &str, request: &Request<'_>, expected: &str, lines: &[usize]) {
    let done = substitute(body.as_bytes(), request).expect("the text is there");
    assert_eq!(String::from_utf8_lossy(&done.body), expected);
    assert_eq!(done.lines, lines);
}

#[track_caller]
fn refused(body: &str, request: &Request<'_>, lines: &[usize]) {
    assert_eq!(substitute(body.as_bytes(), request), Err(lines.to_vec()));
}

#[test]
fn the_only_occurrence_is_replaced() {
    check("a\nb\nc\n", &once("b", "x\ny"), "a\nx\ny\nc\n", &[2]);
    check("a\nb\nc", &once("\nb\n", "\n"), "a\nc", &[1]);
    check("a", &once("a", ""), "", &[1]);
}

#[test]
fn none_or_several_are_refused_with_their_lines() {
    refused("a\nb\n", &once("x", "y"), &[]);
    refused("a\nb\na\n", &once("a", "y"), &[1, 3]);
    // Which of the two is meant cannot be known.
    refused("aaa", &once("aa", "y"), &[1, 1]);
}

#[test]
fn all_are_replaced_and_found_where_they_are_then() {
    check("a\na\n", &every("a", "x\ny"), "x\ny\nx\ny\n", &[1, 3]);
    check("aaa", &every("aa", "b"), "ba", &[1]);
    refused("b", &every("a", "c"), &[]);
}

#[test]
fn line_ends_are_those_of_what_was_there() {
    check(
        "a\r\nb\r\nc\r\n",
        &once("a\nb", "x\ny\nz"),
        "x\r\ny\r\nz\r\nc\r\n",
        &[1],
    );
    check("a\r\nb\r\n", &once("b", "x\ny"), "a\r\nx\r\ny\r\n", &[2]);
    check("a\nb\n", &once("a\r\nb", "x\r\ny"), "x\ny\n", &[1]);
    // In a file of both kinds the place itself decides.
    check("a\nb\nc\r\nd\r\n", &once("c\nd", "x\ny"), "a\nb\nx\r\ny\r\n", &[3]);
    check("a\r\nb\r\nc\nd\n", &once("c\nd", "x\ny"), "a\r\nb\r\nx\ny\n", &[3]);
    check("a\r\nb\nc\n", &once("b", "x\ny"), "a\r\nx\ny\nc\n", &[2]);
}

#[test]
fn a_match_may_begin_or_end_at_a_line_end() {
    check("a\r\nb\r\n", &once("\nb", "\nc"), "a\r\nc\r\n", &[1]);
    check("a\r\nb\r\n", &once("a\n", ""), "b\r\n", &[1]);
    check("a\r\r\nb", &once("\nb", "\nc"), "a\r\r\nc", &[1]);
}

#[test]
fn bytes_that_are_no_utf8_are_left_alone() {
    let done = substitute(b"caf\xe9 = 1\r\n\xff", &once("= 1", "= 2")).expect("the text is there");
    assert_eq!(done.body, b"caf\xe9 = 2\r\n\xff");
}

/// What the tool must do, said in the plainest way: on text with line feeds only.
fn oracle(text: &str, request: &Request<'_>) -> Option<String> {
    let starts = text
        .char_indices()
        .filter(|(at, _)| text[*at..].starts_with(request.old))
        .count();
    match (starts, request.all) {
        (0, _) => None,
        (1, _) | (_, true) => Some(text.replace(request.old, request.new)),
        (_, false) => None,
    }
}

proptest! {
    #[test]
    fn an_edit_is_that_of_the_plain_text_in_any_dress(
        text in "[abé😀\n]{0,30}",
        old in "[abé\n]{1,3}",
        new in "[abx\n]{0,4}",
        all: bool,
        has_crlf: bool,
        dress in 0..4usize,
    ) {
        let request = Request { old: &old, new: &new, all };
        let dressed = |text: &str| {
            // Without a line end nothing says which kind is meant.
            let ends = if has_crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
            match dress {
                0 => ends.into_bytes(),
                1 => format!("\u{feff}{ends}").into_bytes(),
                2 => format!("\u{feff}{ends}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
                _ => format!("\u{feff}{ends}").encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
            }
        };
        prop_assume!(!has_crlf || text.contains('\n'));
        let mut file = TextFile::parse(&dressed(&text));
        prop_assert_eq!(file.to_bytes(), dressed(&text));
        match (substitute(&file.body, &request), oracle(&text, &request)) {
            (Ok(done), Some(expected)) => {
                file.body = done.body;
                prop_assert_eq!(file.to_bytes(), dressed(&expected));
                let plain = expected.as_str();
                prop_assert!(done.lines.iter().all(|&line| line <= 1 + plain.matches('\n').count()));
            }
            (Err(_), None) => {}
            (done, expected) => prop_assert!(false, "{:?} {:?}", done, expected),
        }
    }
}
