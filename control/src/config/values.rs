//! Values with a form of their own: sizes and networks.

use std::net::IpAddr;

use ipnet::IpNet;

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

/// A network in CIDR form, such as `10.0.0.0/8`; a bare address is a network of one.
pub fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
