//! The list of common passwords: its integrity and contents.

use control::testing::credentials::{common_passwords, is_common_password};

/// The file: for each value of the first 16 bits, the number of fingerprints with it, followed by the other four bytes of each.
static LIST: &[u8] = include_bytes!("../../../../../../control/data/common-passwords.bin");
const GROUPS: usize = 1 << 16;
const REST: usize = 4;

#[test]
fn the_list_is_complete_and_sorted() {
    let (counts, fingerprints) = LIST.split_at(GROUPS);
    assert_eq!(counts.iter().map(|count| usize::from(*count)).sum::<usize>(), common_passwords());
    assert_eq!(fingerprints.len(), common_passwords() * REST);
    let mut all = fingerprints.chunks_exact(REST);
    for count in counts {
        let group: Vec<&[u8]> = all.by_ref().take(usize::from(*count)).collect();
        assert!(group.is_sorted_by(|left, right| left < right));
    }
}

#[test]
fn listed_passwords_are_found_in_any_case_and_others_are_not() {
    for common in ["passwordpassword", "PasswordPassword", "progressive62", "windows.setup.win95"] {
        assert!(is_common_password(common), "{common}");
    }
    for other in ["", "a long passphrase nobody guesses", "passwordpasswordx", "correct horse battery staple of mine"] {
        assert!(!is_common_password(other), "{other}");
    }
}

#[test]
fn the_security_page_states_the_length_of_the_list() {
    let digits = common_passwords().to_string();
    let (head, tail) = digits.split_at(digits.len() - 3);
    let (first, middle) = head.split_at(head.len() - 3);
    let written = format!("{first},{middle},{tail}");
    assert!(include_str!("../../../../../../docs/security.md").contains(&written), "docs/security.md does not say {written}");
}
