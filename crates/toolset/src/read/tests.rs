//! The tool as its callers see it: real files, read through a registry.

use std::os::unix::fs::symlink;

use serde_json::json;
use weft_types::text_of;

use super::*;
use crate::files::stage::Stage;

#[track_caller]
fn page(text: &[u8], want: &Want) -> Page {
    // Chunks of one byte: no line is ever seen at once.
    let input = BufReader::with_capacity(1, text);
    let page = page::scan(input, want, &CancellationToken::new()).expect("bytes can be read");
    let whole = page::scan(text, want, &CancellationToken::new()).expect("bytes can be read");
    assert_eq!(page, whole);
    page
}

fn want(first: u64, lines: usize) -> Want {
    Want {
        first,
        lines,
        bytes: 1_000,
        line_chars: 10,
        counts_all: true,
    }
}

#[track_caller]
fn window(text: &str, first: u64, lines: usize, expected: &[&str], total: u64) {
    let page = page(text.as_bytes(), &want(first, lines));
    assert_eq!(
        (page.lines.as_slice(), page.total),
        (expected.map_strings().as_slice(), Some(total))
    );
}

trait MapStrings {
    fn map_strings(&self) -> Vec<String>;
}

impl MapStrings for &[&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn a_window_is_cut_out_of_the_lines_and_all_are_counted() {
    window("", 1, 5, &[], 0);
    window("a", 1, 5, &["a"], 1);
    window("a\n", 1, 5, &["a"], 1);
    window("a\n\n", 1, 5, &["a", ""], 2);
    window("a\nb\nc", 2, 1, &["b"], 3);
    window("a\nb\nc", 3, 9, &["c"], 3);
    window("a\nb\nc\n", 4, 9, &[], 3);
    window("a\rb\n", 1, 5, &["a\rb"], 1);
}

#[test]
fn a_line_is_cut_at_a_whole_character() {
    for text in ["0123456789", "éééééééééé", "😀😀😀😀😀😀😀😀😀😀"] {
        let kept = page(text.as_bytes(), &want(1, 1));
        assert_eq!(
            (kept.lines, kept.cut_lines, kept.is_lossy),
            (vec![text.to_owned()], 0, false)
        );
        let longer = format!("{text}é\nb\n");
        let cut = page(longer.as_bytes(), &want(1, 9));
        assert_eq!(cut.lines, [format!("{text}…"), "b".to_owned()]);
        assert_eq!((cut.cut_lines, cut.is_lossy), (1, false));
    }
}

#[test]
fn bytes_are_bounded_but_the_first_line_is_always_given() {
    let few = Want { bytes: 4, ..want(1, 9) };
    assert_eq!(page(b"abcdef\nb\n", &few).lines, ["abcdef"]);
    assert_eq!(page(b"a\nb\nc\n", &few).lines, ["a", "b"]);
}

#[test]
fn carriage_returns_at_line_ends_are_left_out_and_told() {
    let crlf = page(b"a\r\nb\r\n", &want(1, 9));
    assert_eq!(
        (crlf.lines, crlf.has_crlf),
        (vec!["a".to_owned(), "b".to_owned()], true)
    );
    // The last byte of an unended line is no line end.
    let open = page(b"a\r", &want(1, 9));
    assert_eq!((open.lines, open.has_crlf), (vec!["a\r".to_owned()], false));
}

#[test]
fn without_counting_the_rest_is_not_read() {
    let short = Want {
        counts_all: false,
        ..want(1, 1)
    };
    let page = page(b"a\nb\nc\n", &short);
    assert_eq!((page.lines, page.total), (vec!["a".to_owned()], None));
}

#[tokio::test]
async fn lines_come_with_their_numbers() {
    let stage = Stage::new();
    stage.put("a.txt", "one\n\ttwo\nthree\n");
    assert_eq!(
        stage.said("read", &json!({ "path": "a.txt" })).await,
        "     1\tone\n     2\t\ttwo\n     3\tthree\n"
    );
    assert_eq!(
        stage
            .said("read", &json!({ "path": "./a.txt", "offset": 2, "limit": 1 }))
            .await,
        "     2\t\ttwo\n[lines 2 to 2 of 3; go on with offset 3]"
    );
    assert_eq!(
        stage.said("read", &json!({ "path": "a.txt", "offset": 3 })).await,
        "     3\tthree\n[lines 3 to 3 of 3, the end]"
    );
}

#[tokio::test]
async fn an_offset_past_the_end_is_a_clear_error() {
    let stage = Stage::new();
    stage.put("a.txt", "one\ntwo\n");
    assert_eq!(
        stage.refused("read", &json!({ "path": "a.txt", "offset": 9 })).await,
        "offset 9 is past the end: a.txt has 2 lines"
    );
}

#[tokio::test]
async fn what_is_special_about_a_file_is_told() {
    let stage = Stage::new();
    for (bytes, expected) in [
        (&b""[..], "[a.txt is empty]"),
        (b"a", "     1\ta\n[the last line has no line end]"),
        (b"a\r\n", "     1\ta\n[lines end in CRLF, which `edit` takes care of]"),
        (
            b"\xef\xbb\xbfa\n",
            "     1\ta\n[the file is UTF-8 with a byte order mark]",
        ),
        (b"\xff\xfe\xe9\0\n\0", "     1\té\n[the file is UTF-16, little-endian]"),
        (b"\xfe\xff\0\xe9\0\n", "     1\té\n[the file is UTF-16, big-endian]"),
        (
            b"caf\xe9\n",
            "     1\tcaf\u{fffd}\n[some bytes are no valid text in this encoding and are shown as U+FFFD]",
        ),
    ] {
        stage.put("a.txt", bytes);
        assert_eq!(
            stage.said("read", &json!({ "path": "a.txt" })).await,
            expected,
            "{bytes:?}"
        );
    }
}

#[tokio::test]
async fn a_picture_is_given_as_one_whatever_its_name() {
    let stage = Stage::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02";
    stage.put("a.txt", png);
    let result = stage.call("read", &json!({ "path": "a.txt" })).await;
    let note = "[a.txt is a picture: image/png, 2 × 3 pixels, 26 bytes]";
    let picture = ContentBlock::Image {
        mime_type: "image/png".to_owned(),
        data: "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAI=".to_owned(),
    };
    assert_eq!(result.content, [ContentBlock::text(note), picture]);
}

#[tokio::test]
async fn a_picture_larger_than_the_limit_is_refused_and_the_limit_named() {
    let stage = Stage::with(&FilesConfig {
        image_bytes: 9,
        ..FilesConfig::default()
    });
    stage.put("a.gif", b"GIF89a\x02\x01\x09\0");
    let error = stage.refused("read", &json!({ "path": "a.gif" })).await;
    let expected = "a.gif is a picture (image/gif) of 10 bytes, more than the 9 that are shown (files.image_bytes)";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_picture_that_is_cut_off_is_refused_as_broken() {
    let stage = Stage::new();
    for (bytes, kind) in [
        (&b"\x89PNG"[..], "PNG"),
        (b"\x89PNG\r\n\x1a\n\0", "image/png"),
        (b"GIF8", "GIF"),
    ] {
        stage.put("a.png", bytes);
        let error = stage.refused("read", &json!({ "path": "a.png" })).await;
        let expected = format!(
            "a.png begins as a picture ({kind}) but is broken: it ends after {} bytes, or its size in pixels cannot be told",
            bytes.len()
        );
        assert_eq!(error, expected);
    }
}

#[tokio::test]
async fn binary_files_are_refused_by_what_they_hold() {
    let stage = Stage::new();
    stage.put("prog.bin", b"MZ\0\x01\xff\xfetext");
    let error = stage.refused("read", &json!({ "path": "prog.bin" })).await;
    assert_eq!(error, "prog.bin is no text file: it is binary data (10 bytes)");
}

#[tokio::test]
async fn a_huge_file_is_read_in_part() {
    let config = FilesConfig {
        max_bytes: 64 << 10,
        ..FilesConfig::default()
    };
    let stage = Stage::with(&config);
    stage.put("many.txt", "line\n".repeat(100_000));
    let said = stage
        .said("read", &json!({ "path": "many.txt", "offset": 99_999, "limit": 1 }))
        .await;
    assert_eq!(
        said,
        " 99999\tline\n[lines 99999 to 99999; there are more, uncounted for the size of the file; go on with offset 100000]"
    );
    stage.put("long.txt", "\u{feff}".to_owned() + &"a".repeat(1 << 20));
    let said = stage.said("read", &json!({ "path": "long.txt" })).await;
    assert!(
        said.starts_with(&format!("     1\t{}…\n", "a".repeat(2_000))),
        "{said:.100}"
    );
    assert!(said.contains("cut"), "{said:.100}");
    let sparse = std::fs::File::create(stage.folder().join("sparse.dat")).expect("a file can be made");
    sparse.set_len(3 << 30).expect("a sparse file can be made");
    let error = stage.refused("read", &json!({ "path": "sparse.dat" })).await;
    assert!(error.contains("binary data (3221225472 bytes)"), "{error}");
}

#[tokio::test]
async fn a_folder_is_an_error_that_lists_it() {
    let stage = Stage::new();
    stage.put("src/main.rs", "");
    stage.put("src/inner/x", "");
    let error = stage.refused("read", &json!({ "path": "src" })).await;
    assert_eq!(error, "src is a folder; it holds:\ninner/\nmain.rs");
    std::fs::create_dir(stage.folder().join("none")).expect("a folder can be made");
    let error = stage.refused("read", &json!({ "path": "none" })).await;
    assert_eq!(error, "none is a folder; it is empty");
}

#[tokio::test]
async fn a_missing_file_is_an_error_that_names_what_is_near() {
    let stage = Stage::new();
    stage.put("src/main.rs", "");
    let error = stage.refused("read", &json!({ "path": "src/mian.rs" })).await;
    assert_eq!(error, "src/mian.rs does not exist; there is main.rs in src");
    let error = stage.refused("read", &json!({ "path": "scr/deep/main.rs" })).await;
    assert_eq!(
        error,
        "scr/deep/main.rs does not exist; the nearest folder that exists is the session's folder; there is src/ in \
         the session's folder"
    );
}

#[tokio::test]
async fn pipes_devices_and_kernel_views_are_refused_at_once() {
    let stage = Stage::new();
    let pipe = stage.folder().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    assert_eq!(
        stage.refused("read", &json!({ "path": "pipe" })).await,
        "pipe is a named pipe, not a file"
    );
    assert_eq!(
        stage.refused("read", &json!({ "path": "/dev/zero" })).await,
        "/dev/zero is a device, not a file"
    );
    if cfg!(target_os = "linux") {
        let error = stage.refused("read", &json!({ "path": "/proc/self/environ" })).await;
        assert!(error.contains("a view of the kernel's"), "{error}");
    }
    symlink("/dev/zero", stage.folder().join("zeros")).expect("a link can be made");
    let error = stage.refused("read", &json!({ "path": "zeros" })).await;
    assert!(error.contains("leads through a link to /dev/zero"), "{error}");
}

#[tokio::test]
async fn names_that_break_naive_tools_can_be_read() {
    let stage = Stage::new();
    for name in [
        "sp ace.txt",
        "new\nline.txt",
        "-rf.txt",
        "quote'\".txt",
        "br[1].txt",
        "tab\t.txt",
        "dollar$HOME.txt",
        "back\\slash.txt",
        "C:drive.txt",
        "\u{e9}-nfc.txt",
        "e\u{301}-nfd.txt",
    ] {
        stage.put(name, format!("{name:?}\n"));
    }
    for name in [
        "sp ace.txt",
        "new\nline.txt",
        "back\\slash.txt",
        "\u{e9}-nfc.txt",
        "e\u{301}-nfd.txt",
    ] {
        assert_eq!(
            stage.said("read", &json!({ "path": name })).await,
            format!("     1\t{name:?}\n")
        );
    }
}

#[test]
fn only_a_path_outside_the_folder_is_asked_about() {
    let stage = Stage::new();
    let within = stage.folder().join("a");
    for (path, expected) in [
        ("a", false),
        ("../a", true),
        ("/etc/hosts", true),
        (within.to_str().expect("plain"), false),
    ] {
        assert_eq!(stage.asks("read", &json!({ "path": path })), expected, "{path}");
    }
}

#[tokio::test]
async fn a_read_that_was_cancelled_gives_nothing() {
    let stage = Stage::new();
    stage.put("a.txt", "a\n");
    let result = stage.cancelled("read", &json!({ "path": "a.txt" })).await;
    assert!(result.is_error());
    let stop = CancellationToken::new();
    stop.cancel();
    assert!(page::scan(&b"a\n"[..], &want(1, 1), &stop).is_err());
}

#[test]
fn the_card_says_what_is_read_and_shows_it_verbatim() {
    let read = Read::new(FilesConfig::default()).expect("the defaults are sound");
    for (arguments, title, line) in [
        (json!({ "path": "a.rs" }), "read a.rs", None),
        (
            json!({ "path": "a.rs", "offset": 5 }),
            "read a.rs, from line 5",
            Some(5),
        ),
        (
            json!({ "path": "a.rs", "offset": 5, "limit": 2 }),
            "read a.rs, lines 5 to 6",
            Some(5),
        ),
    ] {
        let Some(CallView::Generic {
            title: shown,
            kind,
            locations,
            ..
        }) = read.present_call(&arguments)
        else {
            panic!("a card of its own");
        };
        assert_eq!((shown.as_str(), kind), (title, ToolKind::Read));
        assert_eq!(
            locations,
            [Location {
                path: "a.rs".into(),
                line
            }]
        );
    }
    let content = [ContentBlock::text("     1\t# a\n"), ContentBlock::text("[note]")];
    let result = ResultForView {
        content: &content,
        is_error: false,
        meta: None,
    };
    let Some(ResultView::Generic {
        content: Some(shown), ..
    }) = read.present_result(&json!({}), &result)
    else {
        panic!("content of its own");
    };
    assert_eq!(text_of(&shown), "```\n     1\t# a\n[note]\n```");
    let failed = ResultForView {
        is_error: true,
        ..result
    };
    assert_eq!(read.present_result(&json!({}), &failed), None);
}
