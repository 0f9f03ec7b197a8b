//! Keys and names that devices and customers choose or receive: deployment keys, labels, client IDs, binary versions, names.

use crate::Invalid;
use crate::hash::sha256;
use crate::text::{self, parsed_text};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A deployment key, which devices send to identify their deployment: 10 to 100 of `A-Z a-z 0-9 _ -`. Customers bring their own keys, so there
/// is no prefix and no checksum.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct DeploymentKey(String);

parsed_text!(DeploymentKey, |text: &str| {
    let shaped = (10..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if shaped { Ok(()) } else { Err(Invalid::from("must be 10 to 100 characters of A-Z a-z 0-9 _ -")) }
});

impl DeploymentKey {
    /// Generates a key: 32 random bytes in base64url. A leading `-` becomes `_`, because a CLI would parse it as an option.
    pub fn from_random(random: [u8; 32]) -> Self {
        let text = URL_SAFE_NO_PAD.encode(random);
        Self(match text.strip_prefix('-') {
            Some(rest) => format!("_{rest}"),
            None => text,
        })
    }
}

/// Shows only the first characters: the key is all that a device needs for access.
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

    /// The label with this number; `None` for 0 and for more than nine digits.
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

/// The ID that a device chooses for itself, stable per installation: 1 to 128 characters, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct ClientId(String);

parsed_text!(ClientId, |text: &str| check_plain(text, 128)
    .map_err(|()| Invalid::from("must be 1 to 128 characters without control characters")));

impl ClientId {
    /// The first 16 bytes of its SHA-256. Only these are stored.
    pub fn digest(&self) -> [u8; 16] {
        let [digest @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = sha256(self.0.as_bytes());
        digest
    }
}

/// The version of an app store build, as sent in reports: 1 to 100 characters, no control characters. It is counted but never compared, so it
/// need not be a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct BinaryVersion(String);

parsed_text!(BinaryVersion, |text: &str| check_plain(text, 100)
    .map_err(|()| Invalid::from("must be 1 to 100 characters without control characters")));

/// The name of an app or a deployment, in normalization form C: 1 to 255 characters, none that [`crate::text::name`] rejects. It must work as a
/// path segment: not `.` or `..`, no space at either end, none of `\ / ? : #`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

parsed_text!(Name, text::nfc, |text: &str| text::check(text, 255).and_then(|()| check_segment(text)));

impl Name {
    /// Checks a name that is only looked up, and returns it as given: names stored earlier may have characters that are no longer allowed. A name
    /// that cannot be a path segment is rejected, because no such name was ever stored.
    pub fn for_lookup(text: &str) -> Result<&str, Invalid> {
        check_plain(text, 255).map_err(|()| Invalid::from("must be 1 to 255 characters without control characters"))?;
        check_segment(text)?;
        Ok(text)
    }
}

/// Rejects text that programs or people cannot use as a path segment.
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

/// Accepts 1 to `max` characters without control characters.
fn check_plain(text: &str, max: usize) -> Result<(), ()> {
    // A character takes four bytes at most, so the byte length rejects very long text without counting it.
    let fits = !text.is_empty() && text.len() <= max * 4 && text.chars().count() <= max;
    if fits && !text.chars().any(char::is_control) { Ok(()) } else { Err(()) }
}
