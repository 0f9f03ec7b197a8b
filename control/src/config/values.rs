//! How values are parsed: addresses, sizes, networks, counts, durations. What is wrong is said without the value, which may hold a password.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use reqwest::Url;
use shared::limit::Rate;
use shared::time::parse_duration;

use crate::http::reserved::is_taken;
use crate::infra::db::DatabaseUrl;
use crate::infra::loopback::is_loopback_address;

type Parsed<T> = Result<T, &'static str>;

/// Bytes from `200MiB`, `1GiB`, `10KiB`, `512` and the like (binary units).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "must be a size such as 200MiB".to_owned();
    let digits = text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let shift = match unit.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

/// A size that Workers KV takes, whose values have 25 MiB at most.
pub(super) fn snapshot_size(text: &str) -> Result<u64, String> {
    const MOST: u64 = 24 << 20;
    let bytes = parse_size(text)?;
    if bytes <= MOST { Ok(bytes) } else { Err("must be at most 24MiB".to_owned()) }
}

/// A network in CIDR form, such as `10.0.0.0/8`; a bare address is a network of one.
pub fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Networks, comma-separated.
pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let wrong = |part: &str| format!("{part} is neither an address nor a network such as 10.0.0.0/8");
    parts.map(|part| parse_network(part).ok_or_else(|| wrong(part))).collect()
}

/// An http or https address, without a trailing slash.
pub(super) fn address(text: &str) -> Parsed<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    let is_plain = url.is_some_and(|url| url.query().is_none() && url.fragment().is_none());
    if is_plain { Ok(text.trim_end_matches('/').to_owned()) } else { Err("must be an http or https address without query or fragment") }
}

/// The same for an address to which secrets are sent: over http only to this machine.
pub(super) fn secret_address(text: &str) -> Parsed<String> {
    let is_safe = |address: &String| address.starts_with("https:") || is_loopback_address(address);
    address(text).and_then(|address| {
        Some(address).filter(is_safe).ok_or("must be https, unless it is an address of this machine: a secret is sent there")
    })
}

/// The same for the service's own address: cookies, signed addresses and every link begin at the root.
pub(super) fn root_address(text: &str) -> Parsed<String> {
    let has_no_path = |address: &String| Url::parse(address).is_ok_and(|url| url.path() == "/");
    address(text)
        .and_then(|address| Some(address).filter(has_no_path).ok_or("must have no path: serve Updraft at the root of a host of its own"))
}

/// The same for the dashboard's pages, which have a path of their own or stand at the root.
pub(super) fn dashboard_address(text: &str) -> Parsed<String> {
    let address = address(text)?;
    let url = Url::parse(&address).map_err(|_| "must be an address")?;
    let is_plain = |segment: &str| {
        let of = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !segment.is_empty() && segment.bytes().all(of) && !segment.starts_with('.')
    };
    let mut segments = url.path().trim_end_matches('/').split('/').skip(1);
    if !segments.clone().all(is_plain) {
        return Err("must have a path of letters, digits, dashes, dots and underscores, or none");
    }
    if segments.next().is_some_and(is_taken) {
        return Err("must not be under a path of the API, such as /v1");
    }
    Ok(address)
}

/// A database's address.
pub(super) fn database_address(text: &str) -> Parsed<DatabaseUrl> {
    let is_known = ["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    if is_known { Ok(DatabaseUrl(text.to_owned())) } else { Err("must begin with sqlite: or postgres://") }
}

/// Where to listen.
pub(super) fn listen(text: &str) -> Parsed<SocketAddr> {
    text.parse().map_err(|_| "must be an address and a port, such as 127.0.0.1:8080")
}

/// Where to listen for a self-hosted edge: whoever reaches it may post reports as they like and read every snapshot, so no other machine must.
pub(super) fn loopback(text: &str) -> Parsed<SocketAddr> {
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.ip().to_canonical().is_loopback());
    address.ok_or("must be a loopback address and a port, such as 127.0.0.1:8081")
}

/// A whole number above 0.
pub(super) fn count(text: &str) -> Parsed<u32> {
    text.parse().ok().filter(|count| *count > 0).ok_or("must be a whole number above 0")
}

/// A rate whose times are kept in the database: those of a full window are one row.
pub(super) fn counted(text: &str) -> Result<Rate, String> {
    let rate = Rate::parse(text).map_err(|error| error.to_string())?;
    if rate.count > 100_000 { Err("must count to 100000 at most".to_owned()) } else { Ok(rate) }
}

/// How long a connection may wait.
pub(super) fn pause(text: &str) -> Result<Duration, String> {
    let millis = u64::try_from(parse_duration(text).map_err(|error| error.to_string())?).ok();
    millis.filter(|millis| *millis <= 86_400_000).map(Duration::from_millis).ok_or_else(|| "must be at most 1d".to_owned())
}
