use super::*;

#[track_caller]
fn check(text: &str, max_chars: usize, expected: &str) {
    assert_eq!(cut_for_display(text, max_chars), expected);
}

#[test]
fn short_texts_stay_and_long_ones_end_with_an_ellipsis() {
    check("", 8, "");
    check("12345678", 8, "12345678");
    check("123456789", 8, "1234567…");
    check("ünïcödé!", 8, "ünïcödé!");
    check("ünïcödé!?", 8, "ünïcödé…");
}

#[test]
fn breaks_controls_and_direction_marks_are_escaped() {
    check("a\r\nb\tc", 20, "a\\r\\nb\\tc");
    check("\u{1b}[31m", 20, "\\u{1b}[31m");
    check("x\u{2028}y\u{202e}z", 40, "x\\u{2028}y\\u{202e}z");
    check("nul\0", 20, "nul\\u{0}");
}

#[test]
fn an_escape_is_never_cut_in_two() {
    check("1234567\n", 8, "1234567…");
    check("123456\n", 8, "123456\\n");
    check("\n\n\n\n\n", 8, "\\n\\n\\n…");
}

#[test]
fn what_people_see_as_one_character_is_never_cut_in_two() {
    check("1234567e\u{301}z", 9, "1234567…");
    check("12👩\u{200d}🚀456789", 8, "12👩\u{200d}🚀45…");
    check("12345👩\u{200d}🚀9", 7, "12345…");
    check("12345🇩🇪🇫🇷", 8, "12345🇩🇪…");
    check("12345🇩🇪🇫🇷", 7, "12345…");
}

#[test]
fn a_cut_text_is_cut_no_further() {
    for text in ["12345678901", "\n\n\n\n\n\n", "short", "12345👩\u{200d}🚀9"] {
        let once = cut_for_display(text, 8);
        check(&once, 8, &once);
    }
}

#[test]
fn no_more_of_a_long_text_is_read_than_is_shown() {
    // Ten thousand cuts of ten megabytes: hours if all of it were read each time.
    let text = "x".repeat(10 << 20);
    for _ in 0..10_000 {
        assert_eq!(cut_for_display(&text, 8), "xxxxxxx…");
    }
}

#[test]
fn limits_out_of_range_are_refused_by_name() {
    let range = DisplayLimits::RANGE;
    assert!(DisplayLimits::new(*range.start(), *range.end()).is_ok());
    let refused = DisplayLimits::new(200, 2_001).expect_err("too many");
    assert_eq!(
        refused.to_string(),
        "display limit label_chars is 2001, expected 8 to 2000"
    );
    DisplayLimits::new(7, 80).expect_err("too few");
}
