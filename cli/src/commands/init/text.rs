//! Files as text and back, in the encoding that they have.

/// How a file encodes its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8, with a byte order mark or without.
    Utf8,
    /// UTF-16, least significant byte first, with a byte order mark.
    Utf16Le,
    /// UTF-16, most significant byte first, with a byte order mark.
    Utf16Be,
    /// One byte per letter, the first 128 as in ASCII. Other bytes pass through as they are.
    OneByte,
}

impl Encoding {
    /// The text of a file.
    pub(super) fn decode(bytes: &[u8]) -> (Self, String) {
        let units = |pair: fn([u8; 2]) -> u16| -> Option<String> {
            let pairs = bytes.chunks(2).map(|chunk| <[u8; 2]>::try_from(chunk).ok().map(pair));
            String::from_utf16(&pairs.collect::<Option<Vec<u16>>>()?).ok()
        };
        let utf16 = match bytes {
            [0xFF, 0xFE, ..] => units(u16::from_le_bytes).map(|text| (Self::Utf16Le, text)),
            [0xFE, 0xFF, ..] => units(u16::from_be_bytes).map(|text| (Self::Utf16Be, text)),
            _ => None,
        };
        utf16.unwrap_or_else(|| match std::str::from_utf8(bytes) {
            Ok(text) => (Self::Utf8, text.to_owned()),
            Err(_) => (Self::OneByte, bytes.iter().copied().map(char::from).collect()),
        })
    }

    /// The bytes of a text; `None` if the encoding does not have a letter of it.
    pub(super) fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::OneByte => text.chars().map(|letter| u8::try_from(letter).ok()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive() {
        let latin = b"<a>caf\xe9</a>".as_slice();
        let utf8 = "\u{feff}<a>café</a>".as_bytes();
        let utf16: Vec<u8> = "\u{feff}<a>é😀</a>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, encoding) in
            [(latin, Encoding::OneByte), (utf8, Encoding::Utf8), (&utf16, Encoding::Utf16Be), (b"\xff\xfe\x00", Encoding::OneByte)]
        {
            let (found, text) = Encoding::decode(bytes);
            assert_eq!(found, encoding);
            assert_eq!(found.encode(&text).as_deref(), Some(bytes));
        }
        assert_eq!(Encoding::OneByte.encode("→"), None);
    }
}
