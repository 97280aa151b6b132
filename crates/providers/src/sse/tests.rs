use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

fn decode<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::new(LIMIT);
    let mut events = Vec::new();
    for part in parts {
        decoder.push(part, &mut events).expect("short events");
    }
    events.extend(decoder.finish());
    events
}

/// Decoding by the letter of the grammar, of the whole input at once.
fn by_the_grammar(input: &[u8]) -> Vec<SseEvent> {
    let text = String::from_utf8_lossy(input).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut events = Vec::new();
    let (mut kind, mut data) = (String::new(), Vec::new());
    // Two more ends of lines complete what the end of the input cut off.
    for line in format!("{text}\n\n").split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                events.push(SseEvent {
                    kind: kind.clone(),
                    data: data.join("\n"),
                });
            }
            (kind, data) = (String::new(), Vec::new());
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        } else if let Some(value) = line.strip_prefix("event:") {
            kind = value.strip_prefix(' ').unwrap_or(value).to_owned();
        } else if line == "data" {
            data.push(String::new());
        } else if line == "event" {
            kind = String::new();
        }
    }
    events
}

#[track_caller]
fn check(input: &[u8], expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(kind, data)| SseEvent {
            kind: (*kind).into(),
            data: (*data).into(),
        })
        .collect();
    assert_eq!(decode([input]), expected);
    assert_eq!(by_the_grammar(input), expected, "the oracle");
    assert_eq!(decode(input.chunks(1)), expected, "byte by byte");
}

#[test]
fn lines_end_in_cr_lf_or_both() {
    check(
        b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\ndata: e\r\n\n",
        &[("", "a"), ("", "b"), ("", "c"), ("", "d"), ("", "e")],
    );
}

#[test]
fn comments_and_unknown_fields_are_passed_over() {
    check(
        b": hi\n:\n\nid: 1\nretry: 5\nfoo: bar\ndata: a\n: in between\n\n",
        &[("", "a")],
    );
}

#[test]
fn the_space_after_the_colon_is_optional_and_only_one() {
    check(
        b"data:a\n\ndata:  b\n\ndata:\n\ndata\n\n",
        &[("", "a"), ("", " b"), ("", ""), ("", "")],
    );
}

#[test]
fn several_data_lines_make_one_event() {
    check(
        b"event: x\ndata: a\ndata:\ndata: b\n\ndata: c\n\n",
        &[("x", "a\n\nb"), ("", "c")],
    );
}

#[test]
fn an_event_without_data_is_no_event() {
    check(b"event: ping\n\ndata: a\n\n", &[("", "a")]);
}

#[test]
fn a_byte_order_mark_may_stand_first_and_only_there() {
    check(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", &[("", "a")]);
}

#[test]
fn the_end_of_the_input_completes_an_event() {
    check(b"data: a\n\ndata: b", &[("", "a"), ("", "b")]);
    check(b"data: a\ndata: b\n", &[("", "a\nb")]);
    check(b"", &[]);
}

#[test]
fn text_cut_inside_a_character_is_whole_again() {
    check("data: héé 😀\n\n".as_bytes(), &[("", "héé 😀")]);
    check(b"data: \xff\xfe\n\n", &[("", "\u{fffd}\u{fffd}")]);
}

#[test]
fn an_event_beyond_the_limit_is_refused_with_the_limit_named() {
    let mut events = Vec::new();
    let mut decoder = SseDecoder::new(10);
    decoder
        .push(b"data: 1234\n\n", &mut events)
        .expect("ten bytes are allowed");
    assert_eq!(events.len(), 1);
    let error = decoder.push(b"data: 12345", &mut events).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an event of the stream is longer than max_event_bytes (10)"
    );
}

#[test]
fn many_lines_of_one_event_and_an_endless_comment_count_too() {
    let mut events = Vec::new();
    let mut decoder = SseDecoder::new(100);
    let lines = std::iter::repeat_n(&b"data: 12345678\n"[..], 20);
    assert_eq!(
        lines.map(|line| decoder.push(line, &mut events)).find(Result::is_err),
        Some(Err(EventTooLong(100)))
    );
    let mut decoder = SseDecoder::new(100);
    let bytes = std::iter::repeat_n(&b":::::::"[..], 20);
    assert_eq!(
        bytes.map(|part| decoder.push(part, &mut events)).find(Result::is_err),
        Some(Err(EventTooLong(100)))
    );
    assert!(events.is_empty());
}

/// Bytes that are likely to mean something, with some that are not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b":".to_vec()),
        Just(b" ".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just("😀é".as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_gives_what_the_whole_gives(input in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|pair| &input[pair[0]..pair[1]]);
        prop_assert_eq!(decode(parts), by_the_grammar(&input));
    }
}
