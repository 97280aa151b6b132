use super::*;

#[track_caller]
fn prints(number: f64, expected: &str) {
    assert_eq!(number_text(number), expected);
    let parsed: f64 = expected.parse().expect("it is a number");
    assert_eq!(parsed, number);
}

#[test]
fn numbers_print_as_json_and_read_back_the_same() {
    prints(0.0, "0");
    prints(-0.0, "0");
    prints(-12.0, "-12");
    prints(0.1, "0.1");
    prints(1e-7, "0.0000001");
    prints(1.5e-9, "1.5e-9");
    prints(9_007_199_254_740_993.0, "9007199254740992");
    prints(1e20, "100000000000000000000");
    prints(1e21, "1e21");
    prints(f64::MAX, "1.7976931348623157e308");
    prints(f64::MIN_POSITIVE, "2.2250738585072014e-308");
}

#[test]
fn as_many_levels_are_allowed_as_serde_json_reads() {
    let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH)).is_ok());
    assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH + 1)).is_err());
}
