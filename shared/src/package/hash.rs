//! The hash of a package, exactly as clients compute it from the files they unpacked.

use crate::hash::{PackageHash, Sha256Hex};

/// SHA-256 over the JSON array of `name:hash`, sorted.
///
/// The sort is by UTF-16 code units of the whole text, as JavaScript's and Java's are: `a.js` comes after `a.js.map`, because `.` comes
/// before `:`. The JSON is that of `JSON.stringify`, which `serde_json` writes byte for byte.
pub(super) fn package_hash<'f>(files: impl Iterator<Item = (&'f str, &'f Sha256Hex)>) -> PackageHash {
    let mut lines: Vec<String> = files.map(|(name, hash)| format!("{name}:{hash}")).collect();
    lines.sort_unstable_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    // Texts always have a JSON form; there is no error to give.
    Sha256Hex::of(&serde_json::to_vec(&lines).unwrap_or_default())
}
