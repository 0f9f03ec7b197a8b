//! Values with a form of their own: sizes and networks.

use std::net::IpAddr;
use std::str::FromStr;

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

/// A network in CIDR form; a bare address is a network of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    /// Whether the address is in this network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                same_prefix(u128::from(network.to_bits()) << 96, u128::from(address.to_bits()) << 96, self.prefix)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => same_prefix(network.to_bits(), address.to_bits(), self.prefix),
            _ => false,
        }
    }
}

fn same_prefix(left: u128, right: u128, prefix: u32) -> bool {
    let difference = left ^ right;
    difference.leading_zeros() >= prefix
}

impl FromStr for Network {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse::<u32>().map_err(|_| ())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(bits);
        if prefix > bits { Err(()) } else { Ok(Self { address, prefix }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("200MiB"), Ok(209_715_200));
        assert_eq!(parse_size("512"), Ok(512));
        assert!(
            parse_size("0").is_err()
                && parse_size("2 parsecs").is_err()
                && parse_size("99999999999GiB").is_err()
                && parse_size("").is_err()
        );
    }

    #[test]
    fn a_network_holds_its_addresses() {
        let network: Network = "10.1.0.0/16".parse().unwrap();
        assert!(network.contains("10.1.255.3".parse().unwrap()));
        assert!(!network.contains("10.2.0.1".parse().unwrap()));
        assert!(network.contains("::ffff:10.1.0.1".parse().unwrap()));
        assert!("::1".parse::<Network>().unwrap().contains("::1".parse().unwrap()));
        assert!("0.0.0.0/0".parse::<Network>().unwrap().contains("1.2.3.4".parse().unwrap()));
        assert!("10.0.0.0/33".parse::<Network>().is_err());
    }
}
