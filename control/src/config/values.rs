//! Parsers for values: URLs, sizes, networks, counts, durations. Errors never repeat the value, because it may contain a password.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ipnet::IpNet;
use reqwest::Url;
use shared::limit::Rate;
use shared::time::parse_duration;

use crate::http::reserved::{is_of_codepush, is_taken};
use crate::infra::db::DatabaseUrl;
use crate::infra::loopback::is_loopback_address;

type Parsed<T> = Result<T, &'static str>;

/// Parses a size in bytes, such as `200MiB`, `1GiB`, `10KiB` or `512` (binary units).
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

/// A size that fits into Workers KV, which limits values to 25 MiB.
pub(super) fn snapshot_size(text: &str) -> Result<u64, String> {
    const MAX: u64 = 24 << 20;
    let bytes = parse_size(text)?;
    if bytes <= MAX { Ok(bytes) } else { Err("must be at most 24MiB".to_owned()) }
}

/// A network in CIDR notation, such as `10.0.0.0/8`; a bare address is a network of one.
pub fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// Networks, separated by commas.
pub(super) fn networks(text: &str) -> Result<Vec<IpNet>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let wrong = |part: &str| format!("{part} is not an IP address or a network such as 10.0.0.0/8");
    parts.map(|part| parse_network(part).ok_or_else(|| wrong(part))).collect()
}

/// An http or https URL, without a trailing slash.
pub(super) fn address(text: &str) -> Parsed<String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    let is_plain = url.is_some_and(|url| url.query().is_none() && url.fragment().is_none());
    if is_plain { Ok(text.trim_end_matches('/').to_owned()) } else { Err("must be an http or https URL without a query or fragment") }
}

/// A URL that secrets are sent to: http is allowed only to this machine.
pub(super) fn secret_address(text: &str) -> Parsed<String> {
    let is_safe = |address: &String| address.starts_with("https:") || is_loopback_address(address);
    address(text).and_then(|address| {
        Some(address).filter(is_safe).ok_or("must be https, because a secret is sent there; http is allowed only to this machine")
    })
}

/// The service's own URL: cookies, signed URLs and all links start at the root.
pub(super) fn root_address(text: &str) -> Parsed<String> {
    let has_no_path = |address: &String| Url::parse(address).is_ok_and(|url| url.path() == "/");
    address(text)
        .and_then(|address| Some(address).filter(has_no_path).ok_or("must have no path: serve Updraft at the root of a host of its own"))
}

/// The dashboard's URL: with a path of its own, or at the root.
pub(super) fn dashboard_address(text: &str) -> Parsed<String> {
    let address = address(text)?;
    let url = Url::parse(&address).map_err(|_| "must be a URL")?;
    let is_plain = |segment: &str| {
        let of = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !segment.is_empty() && segment.bytes().all(of) && !segment.starts_with('.')
    };
    let mut segments = url.path().trim_end_matches('/').split('/').skip(1);
    if !segments.clone().all(is_plain) {
        return Err("must have no path, or one of letters, digits, dashes, dots and underscores");
    }
    if segments.next().is_some_and(|first| is_taken(first) || is_of_codepush(first)) {
        return Err("must not be under a path of the API, such as /v1");
    }
    Ok(address)
}

/// A database URL.
pub(super) fn database_address(text: &str) -> Parsed<DatabaseUrl> {
    let is_known = ["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    if is_known { Ok(DatabaseUrl(text.to_owned())) } else { Err("must start with sqlite: or postgres://") }
}

/// An address to listen on.
pub(super) fn listen(text: &str) -> Parsed<SocketAddr> {
    text.parse().map_err(|_| "must be an address and a port, such as 127.0.0.1:8080")
}

/// An address to listen on for a self-hosted edge. It needs no credential to post reports and read snapshots, so no other machine may reach it.
pub(super) fn loopback(text: &str) -> Parsed<SocketAddr> {
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.ip().to_canonical().is_loopback());
    address.ok_or("must be a loopback address and a port, such as 127.0.0.1:8081")
}

/// A whole number above 0.
pub(super) fn count(text: &str) -> Parsed<u32> {
    text.parse().ok().filter(|count| *count > 0).ok_or("must be a whole number above 0")
}

/// A rate whose timestamps are stored in the database: a full window is one row.
pub(super) fn counted(text: &str) -> Result<Rate, String> {
    let rate = Rate::parse(text).map_err(|error| error.to_string())?;
    if rate.count > 100_000 { Err("must have a count of at most 100000".to_owned()) } else { Ok(rate) }
}

/// A timeout of connections.
pub(super) fn pause(text: &str) -> Result<Duration, String> {
    let millis = u64::try_from(parse_duration(text).map_err(|error| error.to_string())?).ok();
    millis.filter(|millis| *millis <= 86_400_000).map(Duration::from_millis).ok_or_else(|| "must be at most 1d".to_owned())
}
