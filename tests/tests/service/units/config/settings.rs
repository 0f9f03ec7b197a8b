//! Names that look like settings and are none.

use control::testing::settings::unknown_names;

#[test]
fn a_name_that_is_no_settings_comes_with_the_nearest() {
    let given = ["UPDRAFT_LIMIT_LOGIN_ADRESS", "UPDRAFT_BASEURL", "UPDRAFT_BASE_URL", "UPDRAFT_CACHE", "PATH", "UPDRAFT_TRUSTED_PROXY"];
    let found = unknown_names(given.into_iter().map(str::to_owned));
    let expected = [
        ("UPDRAFT_BASEURL", "UPDRAFT_BASE_URL"),
        ("UPDRAFT_LIMIT_LOGIN_ADRESS", "UPDRAFT_LIMIT_LOGIN_ADDRESS"),
        ("UPDRAFT_TRUSTED_PROXY", "UPDRAFT_TRUSTED_PROXIES"),
    ];
    assert_eq!(found, expected.map(|(name, nearest)| (name.to_owned(), nearest.to_owned())));
}
