//! Passwords that many people have chosen: the first that somebody tries who knows nothing of an account's owner.
//!
//! The list is a file of fingerprints, made by `cargo xtask common-passwords` from the package that `control/data/README.md` names. It is part of the
//! program and is read where it lies: it takes no time at the start, and no memory but the pages of the few entries that were looked up.
//!
//! A fingerprint is the first 48 bits of the SHA-256 of a password in its folded form. The file has, for each value of the first 16 bits, how many
//! fingerprints begin with it (one byte each), and then the other 32 bits of all of them, in order. That a password that is not on the list has a
//! fingerprint that is: once in two hundred million.

use sha2::{Digest, Sha256};
use shared::text::fold;

/// The file.
static LIST: &[u8] = include_bytes!("../../../data/common-passwords.bin");

/// How many values the first 16 bits have.
const GROUPS: usize = 1 << 16;

/// The bytes of a fingerprint that stand in its group.
const REST: usize = 4;

/// Whether the password is on the list, whatever the case of its letters.
pub fn contains(password: &str) -> bool {
    let digest = Sha256::digest(fold(password));
    let Some((&[first, second, rest @ ..], _)) = digest.split_first_chunk::<{ 2 + REST }>() else { return false };
    let group = usize::from(u16::from_be_bytes([first, second]));
    let Some((counts, fingerprints)) = LIST.split_at_checked(GROUPS) else { return false };
    let before: usize = counts.iter().take(group).map(|count| usize::from(*count)).sum();
    let count = counts.get(group).copied().map_or(0, usize::from);
    fingerprints.chunks_exact(REST).skip(before).take(count).any(|found| found == rest)
}

/// How many passwords are on the list.
pub fn count() -> usize {
    LIST.len().saturating_sub(GROUPS) / REST
}
