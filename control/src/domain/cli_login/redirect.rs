//! Where a browser takes a code: to a command line that listens on the same machine (RFC 8252 part 7.3).
//!
//! An address is judged by its text, not by what a URL parser makes of it: it is compared byte by byte later, and browsers must not read another
//! host in it than we do.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use shared::Invalid;

/// The longest address, in bytes.
const LONGEST: usize = 1_000;

/// What a value may hold unencoded: unreserved characters of RFC 3986, part 2.3.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An address that a command line may be reached at: `http` on a loopback address in its shortest form, with a port, perhaps with a path, and nothing
/// else. Names are refused, `localhost` too, since what they lead to can be changed.
pub fn judge(uri: &str) -> Result<&str, Invalid> {
    let rest = uri.strip_prefix("http://").filter(|_| uri.len() <= LONGEST);
    let rest = rest.and_then(|rest| ["127.0.0.1:", "[::1]:"].into_iter().find_map(|host| rest.strip_prefix(host)));
    let parts = rest.map(|rest| rest.split_at(rest.find('/').unwrap_or(rest.len())));
    if parts.is_some_and(|(port, path)| is_port(port) && is_path(path)) {
        Ok(uri)
    } else {
        Err(Invalid::from("must be http://127.0.0.1:PORT or http://[::1]:PORT with or without a path, and of at most 1000 bytes"))
    }
}

fn is_port(text: &str) -> bool {
    // The parser would also take a sign, and zeros before the number.
    text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0') && text.parse::<u16>().is_ok()
}

/// Whether these are path characters of RFC 3986 part 3.3, which neither end the path nor are changed on the way.
fn is_path(text: &str) -> bool {
    let mut pieces = text.split('%');
    pieces.next().is_some_and(is_plain)
        && pieces.all(|piece| piece.len() >= 2 && piece.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()) && is_plain(piece))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte))
}

/// The address with parameters, of which none has a value that could be taken for more than that.
pub fn with_query(uri: &str, parameters: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, VALUE))).collect();
    format!("{uri}?{}", pairs.join("&"))
}
