//! `weft exec --image`.

use serde_json::{Value, json};

use crate::support::{World, is_empty};

const HELLO: &str = "[[reply]]\ntext = \"I see.\"\n";

/// The head of a PNG of 2 × 1 pixels, which is all that is looked at.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x01";
const GIF: &[u8] = b"GIF89a\x02\0\x01\0";

fn world() -> World {
    let world = World::new(HELLO);
    for (name, bytes) in [
        ("a.png", PNG),
        ("b.gif", GIF),
        ("cut.gif", &GIF[..7]),
        ("text.png", b"hi"),
    ] {
        std::fs::write(world.path("project").join(name), bytes).expect("written");
    }
    world
}

#[test]
fn pictures_follow_the_prompt_in_their_order() {
    let world = world();
    let ran = world.weft(&["exec", "--json", "--image", "b.gif", "--image", "a.png", "What is it?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = ran.lines().into_iter().find(|line| line["type"] == "user/message");
    assert_eq!(
        asked.expect("a prompt")["data"]["content"],
        json!([
            {"type": "text", "text": "What is it?"},
            {"type": "image", "mimeType": "image/gif", "data": "R0lGODlhAgABAA=="},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAAB"},
        ])
    );
}

#[test]
fn what_is_no_picture_or_too_large_is_wrong_usage_and_makes_no_session() {
    let world = world();
    for (file, told) in [
        ("gone.png", "failed to read the picture gone.png: No such file"),
        (".", "it is not a file"),
        ("text.png", "found no picture, expected PNG, JPEG, GIF or WebP"),
        ("cut.gif", "found a broken picture (image/gif)"),
    ] {
        let ran = world.weft(&["exec", "--image", file, "What is it?"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(told), "{ran:?}");
    }
    let config = world.read("home/config.toml");
    world.write("home/config.toml", &format!("{config}[acp]\nimage_bytes = 1024\n"));
    let large = [PNG, &[0; 1024]].concat();
    std::fs::write(world.path("project/large.png"), large).expect("written");
    let ran = world.weft(&["exec", "--image", "large.png", "What is it?"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("more than 1024 bytes, the limit acp.image_bytes"),
        "{ran:?}"
    );
    assert!(is_empty(&world.path("home/sessions")));
}

#[test]
fn a_model_that_takes_no_pictures_is_not_asked() {
    let world = world();
    let config = world.read("home/config.toml");
    let blind = "[models.\"scripted/blind\"]\nimages = false\n";
    world.write("home/config.toml", &format!("{config}{blind}"));
    let ask = |model: &str| world.weft(&["exec", "--model", model, "--image", "a.png", "What is it?"]);
    let refused = ask("scripted/blind");
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
    assert!(
        refused
            .err
            .starts_with("weft: the model scripted/blind takes no pictures\nhint: "),
        "{refused:?}"
    );
    assert!(is_empty(&world.path("home/sessions")));
    // Of a model of which it is not known, it is tried.
    assert_eq!(ask("scripted/other").out, "I see.\n");
    // A session that has such a model refuses as well, and goes on with another.
    assert_eq!(world.weft(&["exec", "--model", "scripted/blind", "Hi"]).code, 0);
    let refused = world.weft(&["exec", "--continue", "--image", "a.png", "What is it?"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let again = [
        "exec",
        "--continue",
        "--model",
        "scripted/other",
        "--image",
        "a.png",
        "And now?",
    ];
    assert_eq!(world.weft(&again).code, 0);
    let list: Value = serde_json::from_str(&world.weft(&["sessions", "list", "--json"]).out).expect("JSON");
    assert_eq!(list["sessions"].as_array().map(Vec::len), Some(2), "{list}");
}
