//! Sets of scopes.

use control::testing::credentials::ScopeSet;

#[test]
fn scopes_are_a_set_of_known_names() {
    let set = ScopeSet::parse(&["apps", "deploy", "apps"]).unwrap();
    assert_eq!(set.names(), ["deploy", "apps"]);
    for wrong in [&[] as &[&str], &["admin"], &["read", ""], &["Read"]] {
        assert!(ScopeSet::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn narrower_is_within_wider() {
    let (read, both) = (ScopeSet::parse(&["read"]).unwrap(), ScopeSet::parse(&["read", "apps"]).unwrap());
    assert!(read.is_within(both) && read.is_within(read) && !both.is_within(read));
}
