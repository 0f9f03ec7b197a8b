//! Encrypted values: what decrypts them, and that every modification is detected.

use control::testing::encryption::{EncryptionKey, OpenError, open, seal};
use tests::Entropy;

fn key(id: &str, byte: u8) -> EncryptionKey {
    EncryptionKey { id: id.to_owned(), bytes: [byte; 32] }
}

#[test]
fn a_value_decrypts_only_with_its_key_and_purpose() {
    let (old, new) = (key("k1", 1), key("k2", 2));
    let sealed = seal(&old, &Entropy::test(), "mail/1", b"a token").unwrap();
    let keys = [new.clone(), old.clone()];
    assert_eq!(open(&keys, "mail/1", &sealed), Ok(b"a token".to_vec()), "the old key still decrypts after a rotation");
    assert_eq!(open(&keys, "mail/2", &sealed), Err(OpenError::NotAuthentic));
    assert_eq!(open(&[new], "mail/1", &sealed), Err(OpenError::UnknownKey));
    assert_eq!(open(&[key("k1", 3)], "mail/1", &sealed), Err(OpenError::NotAuthentic));
    assert!(!sealed.windows(7).any(|window| window == b"a token"));
}

#[test]
fn encrypting_the_same_text_twice_gives_different_ciphertexts() {
    let (key, entropy) = (key("k1", 1), Entropy::test());
    assert_ne!(seal(&key, &entropy, "p", b"same").unwrap(), seal(&key, &entropy, "p", b"same").unwrap());
}

#[test]
fn every_changed_or_missing_byte_is_detected() {
    let key = key("k1", 1);
    let sealed = seal(&key, &Entropy::test(), "p", b"text").unwrap();
    for place in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        assert!(open(std::slice::from_ref(&key), "p", &changed).is_err(), "byte {place}");
        assert!(open(std::slice::from_ref(&key), "p", &sealed[..place]).is_err(), "length {place}");
    }
}
