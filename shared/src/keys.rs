//! What clients and customers choose or are given: deployment keys, labels, client ids, binary versions, names.

use crate::Invalid;
use crate::hash::sha256;
use crate::text::{self, parsed_text};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The key by which a deployment's clients are known: 10 to 100 of `A-Z a-z 0-9 _ -`. Customers bring their own, so there is no prefix
/// and no checksum.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct DeploymentKey(String);

parsed_text!(DeploymentKey, |text: &str| {
    let shaped = (10..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if shaped { Ok(()) } else { Err(Invalid::from("must be 10 to 100 of A-Z a-z 0-9 _ -")) }
});

impl DeploymentKey {
    /// A generated key: base64url of 32 random bytes. A leading `-`, which command lines would take for an option, becomes `_`.
    pub fn from_random(random: [u8; 32]) -> Self {
        let text = URL_SAFE_NO_PAD.encode(random);
        Self(match text.strip_prefix('-') {
            Some(rest) => format!("_{rest}"),
            None => text,
        })
    }
}

/// The key is all that a client needs to know, so debug output shows its beginning only.
impl fmt::Debug for DeploymentKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DeploymentKey({}…)", self.0.get(..4).unwrap_or_default())
    }
}

/// The label of a release: `v1` to `v999999999`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(u32);

impl Label {
    const MAX: u32 = 999_999_999;

    /// The label with this number; none for 0 and for more than nine digits.
    pub fn new(number: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&number).then_some(Self(number))
    }

    /// The number after the `v`.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl TryFrom<&str> for Label {
    type Error = Invalid;

    fn try_from(text: &str) -> Result<Self, Invalid> {
        text.strip_prefix('v')
            .filter(|digits| !digits.starts_with('0') && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .and_then(Self::new)
            .ok_or(Invalid::from("must be v followed by a number from 1 to 999999999"))
    }
}

impl TryFrom<String> for Label {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::try_from(text.as_str())
    }
}

impl FromStr for Label {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.to_string()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "v{}", self.0)
    }
}

/// The id a client gives itself, stable per installation: 1 to 128 characters, none of them a control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct ClientId(String);

parsed_text!(ClientId, |text: &str| check_plain(text, 128)
    .map_err(|()| Invalid::from("must be 1 to 128 characters, no control characters")));

impl ClientId {
    /// The first 16 bytes of its SHA-256: what is stored of it.
    pub fn digest(&self) -> [u8; 16] {
        let [digest @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = sha256(self.0.as_bytes());
        digest
    }
}

/// The version of a store binary as a report names it: 1 to 100 characters, none of them a control character. It is counted, never
/// compared, so it need not be a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct BinaryVersion(String);

parsed_text!(BinaryVersion, |text: &str| check_plain(text, 100)
    .map_err(|()| Invalid::from("must be 1 to 100 characters, no control characters")));

/// The name of an app or a deployment, in normalization form C: 1 to 255 characters, not `.` or `..`, no space at either end, none of `\ / ? : #`, so
/// that it can be a path segment, and no character that [`crate::text::name`] refuses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

parsed_text!(Name, text::nfc, |text: &str| text::check(text, 255).and_then(|()| check_segment(text)));

impl Name {
    /// A name to look up, as it was given: one that was stored before may have characters that a new one may not. What cannot be a path segment
    /// is refused, since nothing ever had such a name.
    pub fn sought(text: &str) -> Result<&str, Invalid> {
        check_plain(text, 255).map_err(|()| Invalid::from("must be 1 to 255 characters, no control characters"))?;
        check_segment(text)?;
        Ok(text)
    }
}

/// What a path segment, as programs and people write it, cannot be.
fn check_segment(text: &str) -> Result<(), Invalid> {
    if text == "." || text == ".." {
        return Err(Invalid::from("must not be . or .."));
    }
    if text.trim() != text {
        return Err(Invalid::from("must not begin or end with a space"));
    }
    if text.contains(['\\', '/', '?', ':', '#']) {
        return Err(Invalid::from("must not contain any of \\ / ? : #"));
    }
    Ok(())
}

/// 1 to `most` characters, no control characters.
fn check_plain(text: &str, most: usize) -> Result<(), ()> {
    // No character takes more than four bytes; the first test spares the count of a very long text.
    let fits = !text.is_empty() && text.len() <= most * 4 && text.chars().count() <= most;
    if fits && !text.chars().any(char::is_control) { Ok(()) } else { Err(()) }
}
