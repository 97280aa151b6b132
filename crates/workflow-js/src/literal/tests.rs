use serde_json::json;

use super::*;

#[track_caller]
fn reads(literal: &str, expected: &Value) {
    let script = format!("export const meta = {{ v: {literal} }};\nreturn 1");
    let meta = leading_meta(&script).expect("a literal").expect("metadata");
    assert_eq!(meta.value["v"], *expected);
    assert_eq!(&script[meta.range.end..], "\nreturn 1");
}

#[track_caller]
fn refuses(script: &str, problem: &str) {
    let error = leading_meta(script).expect_err("an expression");
    let LiteralError {
        problem: found,
        line,
        column,
    } = error;
    assert_eq!(format!("{line}:{column}: {found}"), problem);
}

#[track_caller]
fn is_absent(script: &str) {
    assert_eq!(leading_meta(script), Ok(None));
}

#[test]
fn literals_of_every_kind_are_read() {
    reads("true", &json!(true));
    reads("null", &json!(null));
    reads("-12", &json!(-12));
    reads("1_000.5e-1", &json!(100.05));
    reads(".5", &json!(0.5));
    reads("0xff", &json!(255));
    reads("0b11", &json!(3));
    reads("[1, 'a', [], {},]", &json!([1, "a", [], {}]));
    reads("{ a: 1, 'b c': 2, 3: 4, }", &json!({ "a": 1, "b c": 2, "3": 4 }));
    reads("{ __proto__: 1 }", &json!({ "__proto__": 1 }));
}

#[test]
fn strings_of_all_three_kinds_are_read_with_their_escapes() {
    reads(r#""a\n\t\x41\u00e9\u{1F600}\\\"""#, &json!("a\n\tAé😀\\\""));
    reads(r"'it\'s }; `'", &json!("it's }; `"));
    reads("`two\nlines $5 \\${x}`", &json!("two\nlines $5 ${x}"));
    reads("'con\\\ntinued'", &json!("continued"));
    reads(r"'\ud83d\ude00'", &json!("😀"));
    reads(r"'\ud83d!'", &json!("\u{fffd}!"));
}

#[test]
fn comments_may_stand_anywhere_and_hide_braces() {
    let script = "// a } comment\n/* and\n a { block */ export /* x */ const meta = { // {\n name: 'n', /* } */ } // end\nreturn 1";
    let meta = leading_meta(script).expect("a literal").expect("metadata");
    assert_eq!(meta.value, json!({ "name": "n" }));
    assert_eq!(
        &script[meta.range],
        "export /* x */ const meta = { // {\n name: 'n', /* } */ }"
    );
}

#[test]
fn scripts_that_begin_with_something_else_have_none() {
    is_absent("return 1");
    is_absent("");
    is_absent("/* never closed");
    is_absent("const NAME = 'x';\nexport const meta = { name: NAME };");
    is_absent("export default {}");
    is_absent("export const metadata = {}");
    is_absent("exportconst meta = {}");
}

#[test]
fn expressions_are_refused_by_their_place() {
    refuses("export const meta = META;", "1:21: `M` stands in place of the object");
    refuses("export const meta =\n { name: NAME }", "2:10: `NAME` is an expression");
    refuses(
        "export const meta = { name: `a${b}` }",
        "1:31: a substitution in a template is an expression",
    );
    refuses(
        "export const meta = { name: (() => {})() }",
        "1:29: `(` stands in place of a value",
    );
    refuses(
        "export const meta = { ...x }",
        "1:23: `.` stands in place of a field's name",
    );
    refuses(
        "export const meta = { [x]: 1 }",
        "1:23: `[` stands in place of a field's name",
    );
    refuses(
        "export const meta = { name }",
        "1:28: `}` stands in place of `:` after a field's name",
    );
    refuses(
        "export const meta = { n: 'a' + 'b' }",
        "1:30: `+` stands in place of `,` or `}`",
    );
    refuses(
        "export const meta = { n: 1 }.x",
        "1:29: `.` stands in place of `;` after the object",
    );
    refuses(
        "export const meta = { n: 1",
        "1:27: the script ends in place of `,` or `}`",
    );
}

#[test]
fn broken_tokens_are_refused() {
    refuses("export const meta = { n: 'a\n' }", "1:26: a string that does not end");
    refuses(
        r"export const meta = { n: '\xg1' }",
        "1:27: an escape sequence that is none",
    );
    refuses(
        r"export const meta = { n: '\u{110000}' }",
        "1:27: an escape sequence that is none",
    );
    refuses("export const meta = { n: 1.2.3 }", "1:26: a number that is none");
    refuses("export const meta = { n: 10n }", "1:26: a number that is none");
    refuses("export const meta = { n: 1e999 }", "1:26: a number that is none");
    refuses("export const meta = { /* n: 1 }", "1:23: a comment that does not end");
}

#[test]
fn deep_nesting_is_refused_before_it_costs_stack() {
    let script = format!("export const meta = {{ a: {}", "[".repeat(100_000));
    refuses(&script, "1:57: more than 32 levels of nesting");
}
