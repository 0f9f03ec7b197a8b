//! Recognizes loopback addresses: what is sent there does not leave this machine.

use std::net::IpAddr;

use reqwest::Url;

/// Whether a URL such as `http://localhost:8080` is a loopback address.
pub fn is_loopback_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.host_str().is_some_and(is_loopback))
}

/// The same for a host.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || host.ends_with(".localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
