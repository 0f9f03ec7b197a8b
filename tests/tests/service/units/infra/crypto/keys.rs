//! Lists of encryption keys.

use control::testing::encryption::EncryptionKeys;

const ONE: &str = "k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const TWO: &str = "k2:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

#[test]
fn the_first_key_of_a_list_seals_and_all_open() {
    let keys = EncryptionKeys::parse(&format!("{TWO}, {ONE}")).unwrap();
    assert_eq!(keys.first().id, "k2");
    assert_eq!(keys.all().iter().map(|key| (key.id.as_str(), key.bytes[0])).collect::<Vec<_>>(), [("k2", 2), ("k1", 1)]);
}

#[test]
fn a_list_that_is_no_list_of_keys_is_refused_without_being_repeated() {
    for text in ["", ",", "k1:", "k1:AQEB", &format!("{ONE},"), &format!("{ONE},{ONE}"), &ONE.replace("k1", "k-1")] {
        let reason = EncryptionKeys::parse(text).unwrap_err();
        assert!(!reason.contains("AQEB"), "{text}");
    }
}
