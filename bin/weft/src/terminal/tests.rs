use super::*;

#[test]
fn lines_wrap_between_words_and_long_words_anywhere() {
    assert_eq!(wrap("one two three", 8), ["one two ", "three"]);
    assert_eq!(wrap("one two", 3), ["one", "two"]);
    assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
    assert_eq!(wrap("", 3), [""]);
    assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    assert_eq!(wrap("日本", 1), ["", "日", "本"]);
}

#[test]
fn a_clipped_line_keeps_its_start_and_says_that_it_goes_on() {
    assert_eq!(clip("abc", 3), "abc");
    assert_eq!(clip("abcd", 3), "ab…");
    assert_eq!(clip("日本語", 4), "日…");
    assert_eq!(clip("abcd", 0), "…");
}

#[test]
fn nothing_in_harmless_text_commands_the_terminal() {
    assert_eq!(harmless("\x1b[2J\x07a\tb\r\nc\x7f"), "␛[2J␇a    b\nc␡");
    assert_eq!(harmless("a\u{202e}b\u{9b}c\u{2028}"), "a\\u{202e}b\\u{9b}c\\u{2028}");
    assert!(matches!(harmless("plain\ntext é 日"), Cow::Borrowed(_)));
    let all: String = (0..=0x2100).filter_map(char::from_u32).collect();
    assert!(!harmless(&all).contains(commands));
}

#[test]
fn one_line_is_one_line() {
    assert_eq!(one_line(" a\n\n b\x1b "), "a b␛");
}

#[test]
fn a_picture_is_drawn_over_itself_and_what_is_settled_stays() {
    let mut out = Vec::new();
    let mut redrawn = Redrawn::new(&mut out);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    redrawn.paint(&[], &lines("a\nb")).expect("written");
    redrawn.paint(&lines("A"), &lines("b")).expect("written");
    redrawn.paint(&lines("B"), &[]).expect("written");
    let text = String::from_utf8(out).expect("text");
    assert_eq!(
        text,
        "\x1b[2Ka\n\x1b[2Kb\n\x1b[0J\x1b[2A\x1b[2KA\n\x1b[2Kb\n\x1b[0J\x1b[1A\x1b[2KB\n\x1b[0J"
    );
}
