//! Lists of encryption keys.

use control::testing::encryption::EncryptionKeys;

const ONE: &str = "k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const TWO: &str = "k2:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

#[test]
fn the_first_key_encrypts_and_all_keys_decrypt() {
    let keys = EncryptionKeys::parse(&format!("{TWO}, {ONE}")).unwrap();
    assert_eq!(keys.first().id, "k2");
    assert_eq!(keys.all().iter().map(|key| (key.id.as_str(), key.bytes[0])).collect::<Vec<_>>(), [("k2", 2), ("k1", 1)]);
}

#[test]
fn an_invalid_key_list_is_refused_without_being_echoed() {
    for text in ["", ",", "k1:", "k1:AQEB", &format!("{ONE},"), &format!("{ONE},{ONE}"), &ONE.replace("k1", "k-1")] {
        let reason = EncryptionKeys::parse(text).unwrap_err();
        assert!(!reason.contains("AQEB"), "{text}");
    }
}
