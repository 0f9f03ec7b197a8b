//! SHA-256 as lower-case hexadecimal text, and the key of a blob.

use crate::Invalid;
use crate::ids::AppId;
use crate::text::parsed_text;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// A SHA-256 digest: 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Hex(String);

/// The package hash that clients compute: over the manifest for a ZIP, over the bytes for a single file.
pub type PackageHash = Sha256Hex;

impl Sha256Hex {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_digest(sha256(bytes))
    }

    /// Wraps a digest that was computed elsewhere, for instance while streaming a file.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(hex(&digest))
    }
}

parsed_text!(Sha256Hex, |text: &str| {
    let shaped = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if shaped { Ok(()) } else { Err(Invalid::from("must be 64 lowercase hexadecimal digits")) }
});

/// The key of a blob in object storage: `{app}/{sha256}`. Apps never share blobs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey {
    /// The app the blob belongs to.
    pub app: AppId,
    /// The hash of the blob's bytes.
    pub sha256: Sha256Hex,
}

impl BlobKey {
    /// The key as used in URLs: `{app}/{sha256}` in base64url without padding.
    pub fn encoded(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.to_string())
    }

    /// Parses the output of [`BlobKey::encoded`]; rejects everything else.
    pub fn from_encoded(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("is not the key of a blob");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        let key = std::str::from_utf8(&bytes).map_err(|_| wrong())?;
        let (app, sha256) = key.split_once('/').ok_or_else(wrong)?;
        Ok(Self { app: AppId::try_from(app).map_err(|_| wrong())?, sha256: Sha256Hex::try_from(sha256).map_err(|_| wrong())? })
    }
}

impl fmt::Display for BlobKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.app, self.sha256)
    }
}

/// The SHA-256 digest of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
