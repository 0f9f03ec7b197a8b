//! Where passkeys can be used, and the browser's timeout.

use control::testing::credentials::{CHALLENGE_LIFETIME, RelyingParty, TIMEOUT};

#[test]
fn a_relying_party_requires_a_hostname() {
    for address in [
        "https://updraft.example/dashboard",
        "https://a.b.example:8443/x/",
        "http://localhost:8080/dashboard",
        "http://localhost",
        "http://updraft.localhost:8080",
    ] {
        assert!(RelyingParty::of(address).is_configured(), "{address}");
    }
    for address in ["http://127.0.0.1:8080/dashboard", "https://192.0.2.1", "http://[::1]:8080/dashboard", "no address"] {
        assert!(!RelyingParty::of(address).is_configured(), "{address}");
    }
}

#[test]
fn without_browser_support_for_passkeys_there_is_no_relying_party() {
    for address in ["http://updraft.example/dashboard", "http://notlocalhost", "http://localhost.example:8080", "ws://updraft.example"] {
        assert!(!RelyingParty::of(address).is_configured(), "{address}");
    }
}

#[test]
fn the_browser_timeout_equals_the_challenge_lifetime() {
    assert_eq!(i64::try_from(TIMEOUT.as_millis()).unwrap(), CHALLENGE_LIFETIME);
}
