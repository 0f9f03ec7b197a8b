//! Range and conditional headers of downloads: which bytes are requested, and whether the client already has them.

use std::ops::Range;

/// The part of an object that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole object.
    Whole,
    /// This range of bytes, never empty.
    Part(Range<u64>),
    /// Bytes outside the object.
    Unsatisfiable,
}

/// Evaluates a `Range` header against `length` bytes (RFC 9110, section 14). A single range is served; multiple ranges, other units and malformed
/// headers are ignored, as the RFC allows.
pub fn requested_range(header: Option<&str>, length: u64) -> RequestedRange {
    header.and_then(|header| single(header, length)).unwrap_or(RequestedRange::Whole)
}

fn single(header: &str, length: u64) -> Option<RequestedRange> {
    let (unit, spec) = header.split_once('=')?;
    let (first, last) = spec.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let range = match (first, last) {
        ("", suffix) => length.saturating_sub(digits(suffix)?)..length,
        (first, "") => digits(first)?..length,
        (first, last) => {
            let (first, last) = (digits(first)?, digits(last)?);
            if last < first {
                return None;
            }
            first..last.saturating_add(1).min(length)
        }
    };
    Some(match range {
        range if range.is_empty() => RequestedRange::Unsatisfiable,
        // Only whole objects are verified on their way.
        range if range == (0..length) => RequestedRange::Whole,
        range => RequestedRange::Part(range),
    })
}

/// Parses digits only: `parse` alone would accept a sign.
fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Whether an `If-None-Match` header contains this tag, by weak comparison as the RFC requires.
pub fn names_tag(header: &str, tag: &str) -> bool {
    header.trim() == "*" || header.split(',').any(|named| named.trim().trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_range_is_served() {
        let cases = [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=0-99", RequestedRange::Part(0..100)),
            ("bytes=5-1000000", RequestedRange::Part(5..1_000)),
            ("Bytes=10-", RequestedRange::Part(10..1_000)),
            ("bytes= 10-19", RequestedRange::Part(10..20)),
            ("bytes=-10", RequestedRange::Part(990..1_000)),
            ("bytes=-5000", RequestedRange::Whole),
            ("bytes=0-", RequestedRange::Whole),
            ("bytes=0-999", RequestedRange::Whole),
            ("bytes=999-18446744073709551615", RequestedRange::Part(999..1_000)),
            ("bytes=1000-", RequestedRange::Unsatisfiable),
            ("bytes=1000-2000", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=5-4", RequestedRange::Whole),
            ("bytes=0-1,5-6", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=", RequestedRange::Whole),
            ("bytes", RequestedRange::Whole),
            ("lines=1-2", RequestedRange::Whole),
            ("bytes=99999999999999999999-", RequestedRange::Whole),
        ];
        for (header, expected) in cases {
            assert_eq!(requested_range(Some(header), 1_000), expected, "{header}");
        }
        assert_eq!(requested_range(None, 1_000), RequestedRange::Whole);
        assert_eq!(requested_range(Some("bytes=0-"), 0), RequestedRange::Unsatisfiable);
        assert_eq!(requested_range(Some("bytes=-5"), 0), RequestedRange::Unsatisfiable);
    }

    #[test]
    fn entity_tags_are_found_in_lists() {
        assert!(names_tag("\"a\", W/\"b\"", "\"b\"") && names_tag("*", "\"x\""));
        assert!(!names_tag("\"a\", b", "\"b\"") && !names_tag("", "\"b\""));
    }
}
