use super::*;

#[track_caller]
fn round_trip(bytes: &[u8], encoding: Encoding, body: &str) {
    let file = TextFile::parse(bytes);
    assert_eq!((file.encoding, file.is_lossy), (encoding, false));
    assert_eq!(String::from_utf8_lossy(&file.body), body);
    assert_eq!(file.to_bytes(), bytes);
}

#[test]
fn every_encoding_is_taken_apart_and_put_together_again() {
    round_trip(b"", Encoding::Utf8, "");
    round_trip("é\n".as_bytes(), Encoding::Utf8, "é\n");
    round_trip(b"\xef\xbb\xbfa\r\n", Encoding::Utf8Marked, "a\r\n");
    round_trip(b"\xef\xbb\xbf", Encoding::Utf8Marked, "");
    round_trip(b"\xff\xfea\0\xe9\0", Encoding::Utf16Le, "aé");
    round_trip(b"\xfe\xff\0a\0\xe9", Encoding::Utf16Be, "aé");
    round_trip(b"\xff\xfe\x3d\xd8\x00\xde", Encoding::Utf16Le, "😀");
}

#[test]
fn bytes_that_are_no_utf8_stay_as_they_are() {
    let bytes = b"caf\xe9\n";
    assert_eq!(TextFile::parse(bytes).to_bytes(), bytes);
}

#[test]
fn half_a_pair_or_half_a_unit_is_told() {
    for bytes in [&b"\xff\xfe\x3d\xd8"[..], b"\xff\xfea\0b"] {
        assert!(TextFile::parse(bytes).is_lossy, "{bytes:?}");
    }
}

#[test]
fn files_that_are_no_text_are_known_by_their_first_bytes() {
    for (head, expected) in [
        (&b"\x89PNG\r\n\x1a\n"[..], Unreadable::Image("PNG")),
        (b"\xff\xd8\xff\xe0", Unreadable::Image("JPEG")),
        (b"GIF89a", Unreadable::Image("GIF")),
        (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Unreadable::Image("WebP")),
        (b"%PDF-1.7", Unreadable::Binary("a PDF document")),
        (b"MZ\0\x01\xff", Unreadable::Binary("binary data")),
        (b"MZ\x90\0\x03", Unreadable::Binary("a Windows program or library")),
        (b"text\0", Unreadable::Binary("binary data")),
        (b"\xff\xfe\0\0a\0\0\0", Unreadable::Binary("binary data")),
    ] {
        assert_eq!(Unreadable::of(head), Some(expected), "{head:?}");
    }
    for head in [
        &b""[..],
        b"plain",
        b"caf\xe9",
        b"\xff\xfea\0",
        b"\xfe\xff\0a",
        b"\xef\xbb\xbfa",
    ] {
        assert_eq!(Unreadable::of(head), None, "{head:?}");
    }
}
