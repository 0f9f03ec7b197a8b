//! Paths of requests.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What RFC 3986 lets stand in a segment as it is: its unreserved characters.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path of encoded segments: `/v1/apps/my%20app`.
pub(crate) fn path<const N: usize>(segments: [&str; N]) -> String {
    segments.iter().flat_map(|segment| ["/".to_owned(), utf8_percent_encode(segment, SEGMENT).to_string()]).collect()
}
