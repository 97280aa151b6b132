//! What the bytes of a file are.

#[cfg(test)]
mod tests;

/// How much of a file is looked at to tell what it is.
pub(crate) const HEAD_BYTES: usize = 8 << 10;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// How a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, or some other encoding that has ASCII in it.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Marked,
    /// UTF-16, low byte first, with a byte order mark.
    Utf16Le,
    /// UTF-16, high byte first, with a byte order mark.
    Utf16Be,
}

impl Encoding {
    /// The encoding that a file's first bytes say.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Self::Utf8Marked,
            // The mark of UTF-32 begins with that of UTF-16.
            [0xff, 0xfe, 0, 0, ..] => Self::Utf8,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Its name, unless it is the plain one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf8Marked => Some("UTF-8 with a byte order mark"),
            Self::Utf16Le => Some("UTF-16, little-endian"),
            Self::Utf16Be => Some("UTF-16, big-endian"),
        }
    }
}

/// Why a file is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is an image of this format.
    Image(&'static str),
    /// It is some other binary file.
    Binary(&'static str),
}

impl Unreadable {
    /// Judges a file by its first bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        let known = match head {
            [0x89, b'P', b'N', b'G', ..] => Self::Image("PNG"),
            [0xff, 0xd8, 0xff, ..] => Self::Image("JPEG"),
            [b'G', b'I', b'F', b'8', ..] => Self::Image("GIF"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Self::Image("WebP"),
            [b'%', b'P', b'D', b'F', b'-', ..] => Self::Binary("a PDF document"),
            [b'P', b'K', 3, 4, ..] => Self::Binary("a ZIP archive, or a document in one"),
            [0x1f, 0x8b, ..] => Self::Binary("compressed with gzip"),
            [0x7f, b'E', b'L', b'F', ..] => Self::Binary("an ELF program or library"),
            [b'M', b'Z', _, 0, ..] => Self::Binary("a Windows program or library"),
            [0, b'a', b's', b'm', ..] => Self::Binary("a WebAssembly module"),
            _ if head.starts_with(b"SQLite format 3\0") => Self::Binary("an SQLite database"),
            _ => {
                let is_wide = matches!(Encoding::of(head), Encoding::Utf16Le | Encoding::Utf16Be);
                let has_nul = head[..head.len().min(HEAD_BYTES)].contains(&0);
                return (has_nul && !is_wide).then_some(Self::Binary("binary data"));
            }
        };
        Some(known)
    }

    /// Why the file at `path` is not taken for text.
    pub(crate) fn told(self, path: &str, size: u64) -> String {
        match self {
            Self::Image(format) => {
                format!("{path} is an image ({format}, {size} bytes), and pictures are read with `read`, not changed")
            }
            Self::Binary(kind) => format!("{path} is no text file: it is {kind} ({size} bytes)"),
        }
    }
}

/// A text file taken apart: what stands before the text, and the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// How it is stored.
    pub(crate) encoding: Encoding,
    /// The text: UTF-8 if the file was UTF-16, the bytes as they are otherwise.
    pub(crate) body: Vec<u8>,
    /// Whether something could not be decoded and stands as U+FFFD.
    pub(crate) is_lossy: bool,
}

impl TextFile {
    /// Takes a file apart.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let encoding = Encoding::of(bytes);
        let wide = |unit: fn([u8; 2]) -> u16| {
            let (body, is_lossy) = decode_wide(&bytes[2..], unit);
            let body = body.into_bytes();
            Self {
                encoding,
                body,
                is_lossy,
            }
        };
        match encoding {
            Encoding::Utf16Le => wide(u16::from_le_bytes),
            Encoding::Utf16Be => wide(u16::from_be_bytes),
            Encoding::Utf8 | Encoding::Utf8Marked => Self {
                encoding,
                body: bytes.strip_prefix(MARK).unwrap_or(bytes).to_vec(),
                is_lossy: false,
            },
        }
    }

    /// Puts a file together again.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let wide = |bytes_of: fn(u16) -> [u8; 2]| {
            let text = String::from_utf8_lossy(&self.body);
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(bytes_of).collect()
        };
        match self.encoding {
            Encoding::Utf8 => self.body.clone(),
            Encoding::Utf8Marked => [MARK, &self.body].concat(),
            Encoding::Utf16Le => wide(u16::to_le_bytes),
            Encoding::Utf16Be => wide(u16::to_be_bytes),
        }
    }
}

fn decode_wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, bool) {
    let pairs = bytes.chunks_exact(2);
    let mut is_lossy = !pairs.remainder().is_empty();
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units)
        .map(|decoded| {
            decoded.unwrap_or_else(|_| {
                is_lossy = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, is_lossy)
}
