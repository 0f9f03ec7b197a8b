//! The app version that a device sends: parsed as leniently as the protocol requires, echoed exactly as sent.

use super::MAX_NUMBER;
use super::grammar::is_space;
use crate::Invalid;
use semver::Version;

/// The longest version that node accepts, in UTF-16 code units.
const MAX_LENGTH: usize = 256;

/// An app version, as sent and as parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppVersion {
    sent: String,
    version: Version,
}

impl AppVersion {
    /// Parses an app version: `1` means `1.0.0`, `1.2` means `1.2.0`, `1.2-rc` means `1.2.0-rc`. Anything else must be a full semantic version;
    /// a leading `v` and surrounding whitespace are allowed.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let version = match padding(text) {
            Some((head, zeros, tail)) => parse_strict(&format!("{head}{zeros}{tail}")),
            None => parse_strict(text),
        };
        let version = version.ok_or(Invalid::from("must be a semantic version, such as 1.0.0"))?;
        Ok(Self { sent: text.to_owned(), version })
    }

    /// The text exactly as sent. Responses must echo it: clients compare it character by character and, if it differs, download the update again
    /// at every start.
    pub fn sent(&self) -> &str {
        &self.sent
    }

    /// The parsed version.
    pub fn version(&self) -> &Version {
        &self.version
    }
}

/// Splits a short version where zeros are missing: the text before, the zeros to insert, the text after. `None` if it is not short.
fn padding(text: &str) -> Option<(&str, &str, &str)> {
    let major = digits(text)?;
    let Some(rest) = text.get(major..)?.strip_prefix('.') else {
        return (major == text.len()).then_some((text, ".0.0", ""));
    };
    let minor = digits(rest)?;
    let (head, tail) = text.split_at_checked(major + 1 + minor)?;
    // The reference's pattern ends in `.*`, which does not match line breaks.
    let is_short = tail.is_empty() || (tail.starts_with(['+', '-']) && !tail.contains(['\n', '\r', '\u{2028}', '\u{2029}']));
    is_short.then_some((head, ".0", tail))
}

/// The number of leading digits; `None` if there are none.
fn digits(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then_some(length)
}

/// Parses what node's `semver.valid` accepts without `loose`: a full version of at most 256 characters, every number at most 2^53 - 1, with an
/// optional leading `v` and surrounding whitespace.
pub fn parse_strict(text: &str) -> Option<Version> {
    if text.encode_utf16().take(MAX_LENGTH + 1).count() > MAX_LENGTH {
        return None;
    }
    let trimmed = text.trim_matches(is_space);
    let version = Version::parse(trimmed.strip_prefix('v').unwrap_or(trimmed)).ok()?;
    let in_bounds = [version.major, version.minor, version.patch].into_iter().all(|number| number <= MAX_NUMBER);
    in_bounds.then_some(version)
}
