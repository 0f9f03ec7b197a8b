//! Loopback addresses.

use control::testing::credentials::is_loopback_address;

#[test]
fn loopback_addresses_are_recognized() {
    for address in ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:80", "http://a.localhost"] {
        assert!(is_loopback_address(address), "{address}");
    }
    for address in ["https://example.com", "http://10.0.0.1", "http://localhost.example.com", "nothing"] {
        assert!(!is_loopback_address(address), "{address}");
    }
}
