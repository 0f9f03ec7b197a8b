//! Sizes and networks in settings.

use std::net::IpAddr;

use control::testing::settings::{parse_network, parse_size};

#[test]
fn sizes_have_units() {
    assert_eq!(parse_size("200MiB"), Ok(209_715_200));
    assert_eq!(parse_size("512"), Ok(512));
    assert!(
        parse_size("0").is_err() && parse_size("2 parsecs").is_err() && parse_size("99999999999GiB").is_err() && parse_size("").is_err()
    );
}

#[test]
fn a_network_contains_its_addresses() {
    let holds = |network: &str, address: &str| parse_network(network).unwrap().contains(&address.parse::<IpAddr>().unwrap());
    assert!(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1") && !holds("10.1.0.0/16", "::1"));
    assert!(holds("::1", "::1") && !holds("::1", "::2") && holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
    assert!(holds("10.1.2.3/16", "10.1.0.1") && holds("0.0.0.0/0", "1.2.3.4"));
    for text in ["10.0.0.0/33", "::/129", "10.0.0.0/", "localhost", "", "10.0.0"] {
        assert_eq!(parse_network(text), None, "{text}");
    }
}
