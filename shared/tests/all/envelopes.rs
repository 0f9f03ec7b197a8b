//! A signed snapshot is accepted only for the key that it was signed for, and only unaltered.

use proptest::prelude::*;
use shared::Invalid;
use shared::keys::DeploymentKey;
use shared::signature::Secrets;
use shared::snapshot::{Distrust, SnapshotKeys, signature_line};

const OLD: &str = "the old secret that has 32 characters";
const NEW: &str = "the new secret that has 32 characters";
const JSON: &str = r#"{"f":2}"#;

fn keys(secrets: &[&str]) -> Result<SnapshotKeys, Invalid> {
    Ok(SnapshotKeys::derive(&Secrets::parse(&secrets.join(","))?))
}

fn key(text: &str) -> Result<DeploymentKey, Invalid> {
    DeploymentKey::try_from(text)
}

/// The vector was made by another implementation of HKDF and HMAC.
#[test]
fn a_snapshot_is_signed_as_documented() {
    let signed = keys(&[NEW, OLD]).unwrap().sign(&key("0123456789-key").unwrap(), JSON);
    assert_eq!(signed, include_str!("../vectors/signed-snapshot.txt").trim_end());
    assert_eq!(keys(&[NEW, OLD]).unwrap().signer(), "47b8f5d1");
    assert_ne!(keys(&[OLD, NEW]).unwrap().signer(), keys(&[NEW, OLD]).unwrap().signer());
    assert_eq!(format!("{:?}", keys(&[NEW, OLD]).unwrap()), "SnapshotKeys(2)");
}

#[test]
fn the_first_secret_signs_and_all_verify() {
    let (here, there) = (key("0123456789-key").unwrap(), key("0123456789-kez").unwrap());
    let by_old = keys(&[OLD]).unwrap().sign(&here, JSON);
    for active in [vec![OLD], vec![NEW, OLD], vec![OLD, NEW]] {
        assert_eq!(keys(&active).unwrap().verify(&here, by_old.as_bytes()), Ok(JSON.as_bytes()));
        assert_eq!(keys(&active).unwrap().verify(&there, by_old.as_bytes()), Err(Distrust::WrongSignature));
    }
    assert_eq!(keys(&[NEW]).unwrap().verify(&here, by_old.as_bytes()), Err(Distrust::WrongSignature));
    let by_new = keys(&[NEW, OLD]).unwrap().sign(&here, JSON);
    assert_eq!(keys(&[NEW]).unwrap().verify(&here, by_new.as_bytes()), Ok(JSON.as_bytes()));
}

#[test]
fn a_value_without_a_whole_first_line_has_no_signature() {
    let signed = keys(&[NEW]).unwrap().sign(&key("0123456789-key").unwrap(), JSON);
    let line = signed.split_once('\n').unwrap().0;
    assert_eq!(signature_line(signed.as_bytes()), Some(line.as_bytes()));
    let without = [
        "",
        JSON,
        line,
        &signed.replacen("-2 ", "-3 ", 1),
        &signed.replacen('\n', "\r\n", 1),
        &signed.replacen(' ', "", 1),
        &format!(" {signed}"),
    ];
    for value in without {
        assert_eq!(signature_line(value.as_bytes()), None, "{value}");
        assert_eq!(keys(&[NEW]).unwrap().verify(&key("0123456789-key").unwrap(), value.as_bytes()), Err(Distrust::Unsigned), "{value}");
    }
}

proptest! {
    #[test]
    fn nothing_altered_is_accepted(json in ".{0,200}", at in any::<prop::sample::Index>(), bit in 0_u32..8) {
        let (keys, key) = (keys(&[NEW]).unwrap(), key("0123456789-key").unwrap());
        let mut signed = keys.sign(&key, &json).into_bytes();
        prop_assert_eq!(keys.verify(&key, &signed), Ok(json.as_bytes()));
        let at = at.index(signed.len());
        signed[at] ^= 1 << bit;
        prop_assert!(keys.verify(&key, &signed).is_err());
    }

    #[test]
    fn no_value_panics(value in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(keys(&[NEW]).unwrap().verify(&key("0123456789-key").unwrap(), &value).is_err());
    }
}
