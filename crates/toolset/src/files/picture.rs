//! Pictures by what they hold: their format and their size.

/// A format of pictures that models are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl Format {
    /// Judges a file by its first bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Width and height in pixels, if the file says so where its format has it.
    pub(crate) fn size(self, bytes: &[u8]) -> Option<(u32, u32)> {
        match self {
            Self::Png => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
            Self::Gif => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
            Self::Jpeg => jpeg_size(bytes),
            Self::WebP => webp_size(bytes),
        }
    }
}

/// Tells a picture that models are shown by its content: its media type.
///
/// # Errors
/// The bytes are no such picture, or only the beginning of one.
pub fn picture_type(bytes: &[u8]) -> Result<&'static str, NoPicture> {
    let format = Format::of(bytes).ok_or(NoPicture::Other)?;
    match format.size(bytes) {
        Some(_pixels) => Ok(format.media_type()),
        None => Err(NoPicture::Broken(format.media_type())),
    }
}

/// Why bytes are no picture that models are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// They are something else.
    #[error("found no picture, expected PNG, JPEG, GIF or WebP")]
    Other,
    /// They begin as one, of this media type.
    #[error("found a broken picture ({0}): it is cut off, or its size in pixels cannot be told")]
    Broken(&'static str),
}

/// The segments of a JPEG stand one behind the other, each with its length; the frame's tells the size.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = match bytes.get(at..at + 2)? {
            // Any number of these may stand before a marker.
            [0xff, 0xff] => {
                at += 1;
                continue;
            }
            [0xff, marker] => *marker,
            _ => return None,
        };
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
        }
        let length = usize::try_from(big(bytes, at + 2, 2)?).ok()?;
        at += 2 + length.max(2);
    }
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        _ => None,
    }
}

fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], format: Format, size: Option<(u32, u32)>) {
        assert_eq!(Format::of(bytes), Some(format));
        assert_eq!(format.size(bytes), size);
        // However it is cut, it is judged without a panic.
        for end in 0..bytes.len() {
            let _size = Format::of(&bytes[..end]).and_then(|format| format.size(&bytes[..end]));
        }
    }

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn each_format_is_known_by_its_content_and_tells_its_size() {
        let png = joined(&[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &[0, 0, 1, 2, 0, 0, 0, 9]]);
        check(&png, Format::Png, Some((258, 9)));
        check(&joined(&[b"GIF89a", &[2, 1, 9, 0]]), Format::Gif, Some((258, 9)));
        let jpeg = joined(&[
            &[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 1],
            &[0xff, 0xff, 0xc4, 0, 3, 7],
            &[0xff, 0xc2, 0, 11, 8, 0, 9, 1, 2, 1],
        ]);
        check(&jpeg, Format::Jpeg, Some((258, 9)));
        let head = b"RIFF\0\0\0\0WEBP";
        let lossy = joined(&[head, b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a", &[2, 1, 9, 0]]);
        check(&lossy, Format::WebP, Some((258, 9)));
        let lossless = joined(&[head, b"VP8L\0\0\0\0\x2f", &(257_u32 | 8 << 14).to_le_bytes()]);
        check(&lossless, Format::WebP, Some((258, 9)));
        let extended = joined(&[head, b"VP8X\0\0\0\0\0\0\0\0", &[1, 1, 0, 8, 0, 0]]);
        check(&extended, Format::WebP, Some((258, 9)));
    }

    #[test]
    fn what_is_cut_off_or_no_picture_has_no_size() {
        check(&[0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff], Format::Jpeg, None);
        check(&[0xff, 0xd8, 0xff, 0xe0, 0, 2, 7, 7, 7], Format::Jpeg, None);
        check(b"RIFF\0\0\0\0WEBPXXXX", Format::WebP, None);
        assert_eq!(picture_type(b"GIF89a"), Err(NoPicture::Broken("image/gif")));
        assert_eq!(picture_type(b"BM6"), Err(NoPicture::Other));
        assert_eq!(Format::of(b"BM6"), None);
        assert_eq!(Format::of(b""), None);
    }
}
