//! Misspelled names of settings.

use control::testing::settings::unknown_names;

#[test]
fn an_unknown_setting_suggests_the_closest_name() {
    let given = ["UPDRAFT_LIMIT_LOGIN_ADRESS", "UPDRAFT_BASEURL", "UPDRAFT_BASE_URL", "UPDRAFT_CACHE", "PATH", "UPDRAFT_TRUSTED_PROXY"];
    let found = unknown_names(given.into_iter().map(str::to_owned));
    let expected = [
        ("UPDRAFT_BASEURL", "UPDRAFT_BASE_URL"),
        ("UPDRAFT_LIMIT_LOGIN_ADRESS", "UPDRAFT_LIMIT_LOGIN_ADDRESS"),
        ("UPDRAFT_TRUSTED_PROXY", "UPDRAFT_TRUSTED_PROXIES"),
    ];
    assert_eq!(found, expected.map(|(name, nearest)| (name.to_owned(), nearest.to_owned())));
}
