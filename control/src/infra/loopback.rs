//! Which addresses are of this machine alone, so that what is sent there leaves it for nobody.

use std::net::IpAddr;

use reqwest::Url;

/// Whether an address such as `http://localhost:8080` is of this machine alone.
pub fn is_loopback_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.host_str().is_some_and(is_loopback))
}

/// The same for its host alone.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || host.ends_with(".localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
