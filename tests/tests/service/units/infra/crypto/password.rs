//! Password hashes: their form, and which stored ones are taken.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use control::testing::credentials::{Verdict, hash, unmatched, verify_in};
use tests::Dice;

/// Made by the crate itself, with the parameters that OWASP lists third (m = 9,216 KiB, t = 4, p = 1).
fn made_elsewhere(password: &str) -> String {
    use argon2::password_hash::PasswordHasher;
    let params = Params::new(9_216, 4, 1, None).unwrap();
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_with_salt(password.as_bytes(), &[7; 16]).unwrap().to_string()
}

#[test]
fn a_hash_uses_owasp_parameters_and_matches_only_its_password() {
    let made = hash("correct horse", &Dice::test()).unwrap();
    assert!(made.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{made}");
    let mut blocks = Vec::new();
    let verdict = |blocks: &mut Vec<Block>, password| verify_in(blocks, password, &made).unwrap();
    assert_eq!(verdict(&mut blocks, "correct horse"), Verdict { matches: true, is_outdated: false });
    assert_eq!(verdict(&mut blocks, "correct horse "), Verdict { matches: false, is_outdated: false });
    // The memory that an earlier hash has left in it changes nothing.
    assert_eq!(verdict(&mut blocks, "correct horse"), Verdict { matches: true, is_outdated: false });
}

#[test]
fn an_account_without_a_password_costs_a_full_hash_comparison() {
    let dice = Dice::test();
    let (unmatched, hashed) = (unmatched(&dice).unwrap(), hash("correct horse", &dice).unwrap());
    assert_eq!((unmatched.len(), unmatched.split('$').nth(3)), (hashed.len(), hashed.split('$').nth(3)));
    let verdict = verify_in(&mut Vec::new(), "correct horse", &unmatched).unwrap();
    assert_eq!(verdict, Verdict { matches: false, is_outdated: false });
}

#[test]
fn a_hash_with_other_parameters_matches_and_is_outdated() {
    let stored = made_elsewhere("correct horse");
    assert_eq!(verify_in(&mut Vec::new(), "correct horse", &stored).unwrap(), Verdict { matches: true, is_outdated: true });
    assert!(!verify_in(&mut Vec::new(), "battery staple", &stored).unwrap().matches);
}

#[test]
fn a_hash_with_excessive_parameters_is_refused_before_any_work() {
    let stored = made_elsewhere("correct horse");
    for (own, greedy) in [("m=9216", "m=4000000"), ("t=4", "t=100000"), ("p=1", "p=100"), ("argon2id", "argon2i"), ("v=19", "v=16")] {
        assert!(verify_in(&mut Vec::new(), "correct horse", &stored.replace(own, greedy)).is_err(), "{greedy}");
    }
    for nonsense in ["none", "", "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ"] {
        assert!(verify_in(&mut Vec::new(), "correct horse", nonsense).is_err(), "{nonsense}");
    }
}
