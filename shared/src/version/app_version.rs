//! The version of a client's binary: read with the liberties the protocol takes, echoed exactly as it was sent.

use super::MAX_NUMBER;
use super::grammar::is_space;
use crate::Invalid;
use semver::Version;

/// The longest version node reads, in UTF-16 code units.
const MAX_LENGTH: usize = 256;

/// The version a client sent, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppVersion {
    sent: String,
    version: Version,
}

impl AppVersion {
    /// Reads a client's version: `1` means `1.0.0`, `1.2` means `1.2.0`, `1.2-rc` means `1.2.0-rc`; anything else must be a full
    /// semantic version, with at most a leading `v` and white space around it.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let version = match padding(text) {
            Some((head, zeros, tail)) => parse_strict(&format!("{head}{zeros}{tail}")),
            None => parse_strict(text),
        };
        let version = version.ok_or(Invalid::from("must be a semantic version, for example 1.0.0"))?;
        Ok(Self { sent: text.to_owned(), version })
    }

    /// Exactly what the client sent. An answer must repeat it: clients compare it with their own text, character by character, and
    /// download again at every start when it differs.
    pub fn sent(&self) -> &str {
        &self.sent
    }

    /// What it stands for.
    pub fn version(&self) -> &Version {
        &self.version
    }
}

/// Where a short version lacks zeros: the text before, the zeros, and the text after; none when it is not short.
fn padding(text: &str) -> Option<(&str, &str, &str)> {
    let major = digits(text)?;
    let Some(rest) = text.get(major..)?.strip_prefix('.') else {
        return (major == text.len()).then_some((text, ".0.0", ""));
    };
    let minor = digits(rest)?;
    let (head, tail) = text.split_at_checked(major + 1 + minor)?;
    // The reference's pattern ends in `.*`, which does not run over line ends.
    let is_short = tail.is_empty() || (tail.starts_with(['+', '-']) && !tail.contains(['\n', '\r', '\u{2028}', '\u{2029}']));
    is_short.then_some((head, ".0", tail))
}

/// The length of the digits that `text` begins with; none when there are none.
fn digits(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then_some(length)
}

/// What node's `semver.valid` accepts without `loose`: a full version, with at most one leading `v` and white space around it, at most
/// 256 characters, every number at most 2^53 - 1.
pub fn parse_strict(text: &str) -> Option<Version> {
    if text.encode_utf16().take(MAX_LENGTH + 1).count() > MAX_LENGTH {
        return None;
    }
    let trimmed = text.trim_matches(is_space);
    let version = Version::parse(trimmed.strip_prefix('v').unwrap_or(trimmed)).ok()?;
    let in_bounds = [version.major, version.minor, version.patch].into_iter().all(|number| number <= MAX_NUMBER);
    in_bounds.then_some(version)
}
