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
        let holds = |network: &str, address: &str| parse_network(network).unwrap().contains(&address.parse::<IpAddr>().unwrap());
        assert!(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1") && !holds("10.1.0.0/16", "::1"));
        assert!(holds("::1", "::1") && !holds("::1", "::2") && holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.4"));
        assert!(holds("10.1.2.3/16", "10.1.0.1") && holds("0.0.0.0/0", "1.2.3.4"));
        for text in ["10.0.0.0/33", "::/129", "10.0.0.0/", "localhost", "", "10.0.0"] {
            assert_eq!(parse_network(text), None, "{text}");
        }
    }
}
