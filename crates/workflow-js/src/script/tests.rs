use serde_json::json;

use super::*;

#[test]
fn own_metadata_become_blanks_and_everything_else_keeps_its_place() {
    let script = "// é\nexport const meta = {\n  name: 'ü',\n}; phase('x')";
    let split = split(script).expect("a literal");
    assert_eq!(split.meta, Some(json!({ "name": "ü" })));
    let blanks = |n| " ".repeat(n);
    let expected = format!("// é\n{}\n{}\n{} phase('x')", blanks(21), blanks(12), blanks(2));
    assert_eq!(split.body, expected);
}

#[test]
fn scripts_without_metadata_stay_as_they_are() {
    let split = split("return 1").expect("nothing to read");
    assert_eq!((split.meta, split.body.as_str()), (None, "return 1"));
}

#[test]
fn own_meta_is_none_when_in_doubt() {
    let good = "export const meta = { name: 'n', description: 'd' }\nreturn 1";
    assert_eq!(own_meta(good).map(|meta| meta.name).as_deref(), Some("n"));
    assert_eq!(own_meta("export const meta = { name: 'n' }"), None);
    assert_eq!(own_meta("export const meta = { name: N, description: 'd' }"), None);
    assert_eq!(own_meta("return 1"), None);
}

#[test]
fn places_are_counted_in_lines_and_characters() {
    let at = |byte| {
        let Position { line, column } = Position::of_byte("aé\n\nß=", byte);
        (line, column)
    };
    assert_eq!(
        [at(0), at(1), at(3), at(4), at(5), at(7)],
        [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2)]
    );
}

#[test]
fn a_line_is_shown_with_a_mark_under_the_place() {
    let position = Position { line: 2, column: 5 };
    let shown = excerpt("a\n\tb = ;\nc", position);
    assert_eq!(shown.as_deref(), Some("   2 |  b = ;\n           ^"));
    assert_eq!(excerpt("a", position), None);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let line = format!("{}HERE{}", "x".repeat(10_000), "y".repeat(10_000));
    let shown = excerpt(
        &line,
        Position {
            line: 1,
            column: 10_001,
        },
    )
    .expect("the line exists");
    assert!(shown.len() < 400, "{}", shown.len());
    let (text, mark) = shown.split_once('\n').expect("two lines");
    assert_eq!(text.find("HERE"), mark.find('^'));
}
