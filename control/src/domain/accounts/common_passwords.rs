//! Common passwords: the first ones that an attacker tries without knowing the account's owner.
//!
//! The list is a file of fingerprints, created by `cargo xtask common-passwords` from the package that `control/data/README.md` names. It is embedded in the
//! program and read in place: it costs no startup time, and memory only for the pages that lookups touch.
//!
//! A fingerprint is the first 48 bits of the SHA-256 of a case-folded password. For each value of the first 16 bits, the file contains the number of its
//! fingerprints (one byte each). Then come the other 32 bits of all fingerprints, sorted. A password that is not on the list matches by chance once in two
//! hundred million.

use sha2::{Digest, Sha256};
use shared::text::fold;

/// The embedded file.
static LIST: &[u8] = include_bytes!("../../../data/common-passwords.bin");

/// How many values the first 16 bits have.
const GROUPS: usize = 1 << 16;

/// The bytes of a fingerprint after the first 16 bits.
const SUFFIX_BYTES: usize = 4;

/// Whether the password is on the list, ignoring case.
pub fn contains(password: &str) -> bool {
    let digest = Sha256::digest(fold(password));
    let Some((&[first, second, rest @ ..], _)) = digest.split_first_chunk::<{ 2 + SUFFIX_BYTES }>() else { return false };
    let group = usize::from(u16::from_be_bytes([first, second]));
    let Some((counts, fingerprints)) = LIST.split_at_checked(GROUPS) else { return false };
    let before: usize = counts.iter().take(group).map(|count| usize::from(*count)).sum();
    let count = counts.get(group).copied().map_or(0, usize::from);
    fingerprints.chunks_exact(SUFFIX_BYTES).skip(before).take(count).any(|found| found == rest)
}

/// How many passwords are on the list.
pub fn count() -> usize {
    LIST.len().saturating_sub(GROUPS) / SUFFIX_BYTES
}
