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
fn a_narrower_scope_is_within_a_wider_one() {
    let (read, both) = (ScopeSet::parse(&["read"]).unwrap(), ScopeSet::parse(&["read", "apps"]).unwrap());
    assert!(read.is_within(both) && read.is_within(read) && !both.is_within(read));
}
