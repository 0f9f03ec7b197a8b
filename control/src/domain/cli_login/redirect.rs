//! Redirect URIs: where a browser delivers a code to a CLI that listens on the same machine (RFC 8252 section 7.3).
//!
//! A URI is checked as text, not as the output of a URL parser: it is compared byte by byte later, and a browser must not see a different host in it than we
//! do.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use shared::Invalid;

/// The maximum length, in bytes.
const MAX_LENGTH: usize = 1_000;

/// The characters that a value may contain unencoded: the unreserved characters of RFC 3986 section 2.3.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Checks a redirect URI: `http`, a loopback address in its shortest form, a port, an optional path, and nothing else. Names are refused, even `localhost`,
/// because what they resolve to can be changed.
pub fn validate(uri: &str) -> Result<&str, Invalid> {
    let rest = uri.strip_prefix("http://").filter(|_| uri.len() <= MAX_LENGTH);
    let rest = rest.and_then(|rest| ["127.0.0.1:", "[::1]:"].into_iter().find_map(|host| rest.strip_prefix(host)));
    let parts = rest.map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())));
    if parts.is_some_and(|(port, path)| is_port(port) && is_path(path)) {
        Ok(uri)
    } else {
        Err(Invalid::from("must be http://127.0.0.1:PORT or http://[::1]:PORT, with or without a path, of at most 1000 bytes"))
    }
}

fn is_port(text: &str) -> bool {
    // The parser would also accept a sign and leading zeros.
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.parse::<u16>().is_ok()
}

/// Whether these are path characters (RFC 3986 section 3.3), which neither end the path nor are rewritten on the way.
fn is_path(text: &str) -> bool {
    let mut pieces = text.split('%');
    pieces.next().is_some_and(is_plain)
        && pieces.all(|piece| piece.len() >= 2 && piece.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()) && is_plain(piece))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte))
}

/// Adds query parameters; values are encoded, so that none can break out of its parameter.
pub fn with_query(uri: &str, parameters: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, VALUE))).collect();
    format!("{uri}?{}", pairs.join("&"))
}
