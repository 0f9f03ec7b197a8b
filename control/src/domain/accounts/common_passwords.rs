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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_in_order() {
        let (counts, fingerprints) = LIST.split_at(GROUPS);
        assert_eq!(counts.iter().map(|count| usize::from(*count)).sum::<usize>(), count());
        assert_eq!(fingerprints.len(), count() * REST);
        let mut all = fingerprints.chunks_exact(REST);
        for count in counts {
            let group: Vec<&[u8]> = all.by_ref().take(usize::from(*count)).collect();
            assert!(group.is_sorted_by(|left, right| left < right));
        }
    }

    #[test]
    fn a_password_is_found_in_any_case_and_nothing_else_is() {
        for common in ["passwordpassword", "PasswordPassword", "progressive62", "windows.setup.win95"] {
            assert!(contains(common), "{common}");
        }
        for other in ["", "a long passphrase nobody guesses", "passwordpasswordx", "correct horse battery staple of mine"] {
            assert!(!contains(other), "{other}");
        }
    }

    #[test]
    fn the_security_page_says_how_long_the_list_is() {
        let digits = count().to_string();
        let (head, tail) = digits.split_at(digits.len() - 3);
        let (first, middle) = head.split_at(head.len() - 3);
        let written = format!("{first},{middle},{tail}");
        assert!(include_str!("../../../../docs/security.md").contains(&written), "docs/security.md does not say {written}");
    }
}
