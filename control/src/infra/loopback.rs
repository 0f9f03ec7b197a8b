//! Recognizes loopback addresses: what is sent there does not leave this machine.

use std::net::IpAddr;

use reqwest::Url;

/// Whether a URL such as `http://localhost:8080` is a loopback address.
pub fn is_loopback_address(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| url.host_str().is_some_and(is_loopback))
}

/// The port of a loopback address, such as 8080; `None` for other addresses.
pub fn loopback_port(address: &str) -> Option<u16> {
    let url = Url::parse(address).ok().filter(|url| url.host_str().is_some_and(is_loopback))?;
    url.port_or_known_default()
}

/// The same for a host.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || host.ends_with(".localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
