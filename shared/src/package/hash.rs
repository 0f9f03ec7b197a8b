//! The package hash, exactly as clients compute it from the unpacked files.

use crate::hash::{PackageHash, Sha256Hex};

/// SHA-256 over the sorted JSON array of `name:hash`.
///
/// The order is by UTF-16 code units of the whole string, as in JavaScript and Java: `a.js` comes after `a.js.map`, because `.` comes before `:`.
/// The JSON must equal that of `JSON.stringify`; `serde_json` writes the same bytes.
pub(super) fn package_hash<'f>(files: impl Iterator<Item = (&'f str, &'f Sha256Hex)>) -> PackageHash {
    let mut lines: Vec<String> = files.map(|(name, hash)| format!("{name}:{hash}")).collect();
    lines.sort_unstable_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    // Cannot fail: strings always serialize.
    Sha256Hex::of(&serde_json::to_vec(&lines).unwrap_or_default())
}
