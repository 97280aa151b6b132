//! What a view may be.

use serde_json::json;
use weft_types::ContentBlock;

use crate::{InvalidView, ProgressLimits, ProgressView};

#[test]
fn p02_a_view_is_a_title_and_content_and_nothing_else() {
    let view = ProgressView {
        title: Some("t".into()),
        content: vec![ContentBlock::text("c")],
    };
    let json = json!({ "title": "t", "content": [{ "type": "text", "text": "c" }] });
    assert_eq!(serde_json::to_value(&view).expect("plain data"), json);
    assert_eq!(ProgressView::from_json(json), Ok(view));
    assert_eq!(
        ProgressView::from_json(json!({ "content": [] })),
        Ok(ProgressView::default())
    );
}

#[test]
fn p03_g07_a_view_with_any_other_field_is_refused_not_ignored() {
    let block = json!({ "type": "text", "text": "c" });
    for field in [
        "card",
        "kind",
        "rawInput",
        "raw_input",
        "locations",
        "terminal",
        "diffs",
        "status",
        "meta",
        "exit",
    ] {
        let mut view = json!({ "title": "t", "content": [block] });
        view[field] = json!("x");
        let refused = ProgressView::from_json(view).expect_err(field).to_string();
        assert!(refused.contains(field), "{refused}");
        let mut inner = json!({ "content": [block] });
        inner["content"][0][field] = json!("x");
        let refused = ProgressView::from_json(inner).expect_err(field).to_string();
        assert!(refused.contains(field), "{refused}");
    }
    for malformed in [
        json!(null),
        json!([]),
        json!("t"),
        json!({ "title": 1 }),
        json!({ "content": "c" }),
    ] {
        assert!(matches!(ProgressView::from_json(malformed), Err(InvalidView::Shape(_))));
    }
    let nested = json!({ "content": [{ "type": "diff", "path": "a" }] });
    assert!(matches!(ProgressView::from_json(nested), Err(InvalidView::Shape(_))));
}

#[test]
fn p16_the_documented_defaults_are_the_ones_in_force() {
    let docs = include_str!("../../limits.rs");
    let limits = ProgressLimits::default();
    for documented in [
        format!("a title has at most {} KiB", limits.title_bytes >> 10),
        format!("all blocks together at most {} KiB", limits.content_bytes >> 10),
        format!("at most {} reports of one execution wait", limits.backlog),
    ] {
        assert!(
            docs.contains(&documented),
            "the documentation does not say: {documented}"
        );
    }
}

#[test]
fn p25_sizes_are_bounded_and_the_error_names_the_limit() {
    let limits = ProgressLimits::default();
    let check = |title: usize, content: &[usize]| {
        let view = ProgressView {
            title: Some("x".repeat(title)),
            content: content.iter().map(|&len| ContentBlock::text("x".repeat(len))).collect(),
        };
        view.check(&limits).map_err(|error| error.to_string())
    };
    assert_eq!(check(4096, &[65_536]), Ok(()));
    assert!(check(4097, &[]).is_err_and(|error| error.contains("limit progress.title_bytes is 4096")));
    assert!(check(1, &[65_535, 2]).is_err_and(|error| error.contains("limit progress.content_bytes is 65536")));
    assert!(check(1, &[0; 257]).is_err_and(|error| error.contains("limit progress.blocks is 256")));
}

#[test]
fn p25_limits_out_of_range_are_refused_with_their_name() {
    let limits = ProgressLimits::default();
    let refusals = [
        limits.title_bytes(0),
        limits.content_bytes(2 << 20),
        limits.blocks(0),
        limits.backlog(0),
    ];
    let refusals = refusals.map(|refused| refused.expect_err("out of range").to_string());
    assert_eq!(refusals[0], "limit progress.title_bytes is 0, expected 1 to 65536");
    for (refusal, setting) in refusals
        .iter()
        .zip(["title_bytes", "content_bytes", "blocks", "backlog"])
    {
        assert!(refusal.contains(&format!("progress.{setting}")), "{refusal}");
    }
}
