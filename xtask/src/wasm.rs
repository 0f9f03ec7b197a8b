//! Removes a section from a Wasm file; parses only its outer structure.

/// The eight bytes before the first section: magic number and version.
const HEADER: usize = 8;
const CUSTOM: u8 = 0;

/// The module without its custom section `name`: function names, which only stack traces use. `None` if the bytes are not a module.
pub(crate) fn without_names(module: &[u8]) -> Option<Vec<u8>> {
    let (header, mut rest) = module.split_at_checked(HEADER)?;
    if !header.starts_with(b"\0asm") {
        return None;
    }
    let mut kept = header.to_vec();
    while let Some((kind, after_kind)) = rest.split_first() {
        let (size, body) = number(after_kind)?;
        let (content, next) = body.split_at_checked(size)?;
        let (section, _) = rest.split_at_checked(rest.len() - next.len())?;
        if !(*kind == CUSTOM && name(content)? == b"name") {
            kept.extend_from_slice(section);
        }
        rest = next;
    }
    Some(kept)
}

/// The name at the start of a custom section.
fn name(content: &[u8]) -> Option<&[u8]> {
    let (length, rest) = number(content)?;
    rest.get(..length)
}

/// Parses an unsigned LEB128 number: seven bits per byte, lowest first, with the eighth bit set in all but the last byte.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    let mut rest = bytes;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, after) = rest.split_first()?;
        rest = after;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::without_names;

    const HEADER: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn only_the_names_are_removed() {
        let (types, other, names) = (b"\x01\x01\0", b"\0\x06\x04abcd!", b"\0\x08\x04name\x01\x02\x03");
        let module = [HEADER, types, names, other].concat();
        assert_eq!(without_names(&module), Some([HEADER, types.as_slice(), other].concat()));
    }

    #[test]
    fn sizes_of_two_bytes_are_parsed() {
        let long = [b"\x0a\x80\x01".as_slice(), &[7; 128]].concat();
        let module = [HEADER, &long].concat();
        assert_eq!(without_names(&module), Some(module));
    }

    #[test]
    fn bytes_that_are_not_a_module_are_rejected() {
        for bytes in [
            b"".as_slice(),
            b"\0asm",
            b"PK\x03\x04aaaa",
            b"\0asm\x01\0\0\0\x01",
            b"\0asm\x01\0\0\0\x01\x05\0",
            b"\0asm\x01\0\0\0\x01\x80\x80\x80\x80\x80\x80",
        ] {
            assert_eq!(without_names(bytes), None, "{bytes:?}");
        }
    }
}
