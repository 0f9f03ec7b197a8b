//! The signature of a snapshot: neither KV nor anyone who can write to it is trusted.
//!
//! A signed snapshot is `updraft-snapshot-2 <MAC>`, a line feed and the JSON of [`super::format`]. The MAC covers the key of the deployment, so that a
//! value no longer works under another key. It is made with a key of its own, derived from `EDGE_SECRET`, so that no signature of another kind
//! can stand in for it.

use crate::keys::DeploymentKey;
use crate::kv::snapshot_key;
use crate::signature::{Secrets, mac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use hmac::Mac;
use sha2::Sha256;
use std::fmt;

/// What the first line of a signed snapshot starts with.
const PREFIX: &str = "updraft-snapshot-2 ";
/// The length of the first line without its line feed: [`PREFIX`] and 32 bytes in base64url.
const LINE: usize = PREFIX.len() + 43;
/// The HKDF `info` of the keys that sign.
const SIGNING: &[u8] = b"updraft snapshot";
/// The HKDF `info` of their names.
const NAMING: &[u8] = b"updraft snapshot signer";

/// The keys that sign and verify snapshots, derived from the edge's secrets by HKDF-SHA256 (RFC 5869): the first signs, all verify.
#[derive(Clone)]
pub struct SnapshotKeys {
    keys: Vec<[u8; 32]>,
    signer: String,
}

/// Why a value is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It has no signature.
    #[error("it is not signed")]
    Unsigned,
    /// None of the secrets made its signature, or it was made for another key or other contents.
    #[error("its signature is wrong")]
    WrongSignature,
}

impl SnapshotKeys {
    /// Derives the keys from the values of `EDGE_SECRET`.
    pub fn derive(secrets: &Secrets) -> Self {
        let derived = |secret: &[u8], info: &[u8]| {
            let mut key = [0; 32];
            // Cannot fail: HKDF-SHA256 gives up to 8,160 bytes.
            let _: Result<(), hkdf::InvalidLength> = Hkdf::<Sha256>::new(None, secret).expand(info, &mut key);
            key
        };
        let [first, second, third, fourth, ..] = derived(secrets.first(), NAMING);
        let signer = crate::hash::hex(&[first, second, third, fourth]);
        Self { keys: secrets.all().map(|secret| derived(secret, SIGNING)).collect(), signer }
    }

    /// The name of the key that signs: eight hexadecimal digits that say nothing about the secret, but differ from one secret to the next.
    pub fn signer(&self) -> &str {
        &self.signer
    }

    /// The signed form of a snapshot's JSON, as it is stored for this deployment key.
    pub fn sign(&self, key: &DeploymentKey, json: &str) -> String {
        let secret = self.keys.first().map(<[u8; 32]>::as_slice).unwrap_or_default();
        let signature = URL_SAFE_NO_PAD.encode(mac(secret, &head(key)).chain_update(json).finalize().into_bytes());
        [PREFIX, &signature, "\n", json].concat()
    }

    /// Verifies a value that was stored for this deployment key, and returns its JSON. Compares in constant time.
    pub fn verify<'v>(&self, key: &DeploymentKey, value: &'v [u8]) -> Result<&'v [u8], Distrust> {
        let Signed { signature, head, json } = Signed::of(key, value)?;
        let is_right = |secret: &[u8; 32]| mac(secret, &head).chain_update(json).verify_slice(&signature).is_ok();
        if self.keys.iter().any(is_right) { Ok(json) } else { Err(Distrust::WrongSignature) }
    }

    /// The keys of HMAC-SHA-256, to verify a [`Signed`] value by other means than [`verify`](Self::verify).
    pub fn keys(&self) -> &[[u8; 32]] {
        &self.keys
    }
}

/// The parts of a signed value that was stored for a deployment key. It is not verified.
#[derive(Clone, Debug)]
pub struct Signed<'v> {
    /// The MAC.
    pub signature: Vec<u8>,
    /// The beginning of what the MAC covers; the JSON follows.
    pub head: Vec<u8>,
    /// The JSON.
    pub json: &'v [u8],
}

impl<'v> Signed<'v> {
    /// Takes a value apart. Errors: it has no signature, or one of another form.
    pub fn of(key: &DeploymentKey, value: &'v [u8]) -> Result<Self, Distrust> {
        let line = signature_line(value).ok_or(Distrust::Unsigned)?;
        let signature = line.get(PREFIX.len()..).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).ok_or(Distrust::WrongSignature)?;
        Ok(Self { signature, head: head(key), json: value.get(LINE + 1..).unwrap_or_default() })
    }
}

/// Shows the number of keys, never the keys.
impl fmt::Debug for SnapshotKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SnapshotKeys({})", self.keys.len())
    }
}

/// The first line of a signed snapshot, which no two signed snapshots share; `None` if the value has no signature.
pub fn signature_line(value: &[u8]) -> Option<&[u8]> {
    let (line, rest) = value.split_at_checked(LINE)?;
    (line.starts_with(PREFIX.as_bytes()) && rest.first() == Some(&b'\n')).then_some(line)
}

/// What the MAC covers, up to the JSON.
fn head(key: &DeploymentKey) -> Vec<u8> {
    [b"updraft-snapshot-v2\n", snapshot_key(key).as_bytes(), b"\n"].concat()
}
