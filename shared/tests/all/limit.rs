//! Rate limits for unauthenticated requests.

use shared::limit::{Limiter, Rate, network, site, site_rate, wide_network};
use shared::time::parse_duration;

const RATE: Rate = Rate { count: 3, window: 60_000 };

#[test]
fn a_rate_is_a_count_and_a_duration() {
    assert_eq!(Rate::parse("600/1m").unwrap(), Rate { count: 600, window: 60_000 });
    assert_eq!(Rate::parse(" 5/250ms ").unwrap(), Rate { count: 5, window: 250 });
    for wrong in ["", "600", "600/", "/1m", "0/1m", "5/0s", "5/m", "5/1w", "-5/1m", "5/-1m", "5/99999999999999999d", "4294967296/1s"] {
        assert!(Rate::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_duration_has_a_unit() {
    assert_eq!(parse_duration("60d"), Ok(5_184_000_000));
    assert_eq!(parse_duration("500ms"), Ok(500));
    for wrong in ["", "5", "-5d", "0s", "5 d", "5w", "99999999999999999d"] {
        assert!(parse_duration(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_key_is_limited_per_window_and_allowed_again_in_the_next() {
    let mut limiter = Limiter::default();
    for now in [0, 1, 2] {
        assert_eq!(limiter.acquire("a", RATE, now), Ok(()));
    }
    assert_eq!(limiter.acquire("a", RATE, 3), Err(60));
    assert_eq!(limiter.acquire("b", RATE, 3), Ok(()), "other keys are not limited");
    assert_eq!(limiter.acquire("a", RATE, 59_001), Err(1));
    assert_eq!(limiter.acquire("a", RATE, 60_000), Ok(()));
    assert_eq!(limiter.acquire("b", RATE, 60_000), Ok(()));
}

#[test]
fn setting_the_clock_back_limits_nobody() {
    let mut limiter = Limiter::default();
    for _ in 0..3 {
        limiter.acquire("a", RATE, 1_000_000).unwrap();
    }
    assert_eq!(limiter.acquire("a", RATE, 5), Ok(()));
}

#[test]
fn memory_is_bounded_under_a_flood_of_keys() {
    let mut limiter = Limiter::default();
    for number in 0..100_000 {
        limiter.acquire(&format!("key {number}"), RATE, 7).unwrap();
    }
    let text = format!("{limiter:?}");
    assert!(text.matches("Window {").count() <= 16_384 && text.len() < 4_000_000);
}

#[test]
fn ipv6_addresses_count_by_their_64() {
    let network = |text: &str| network(text.parse().unwrap());
    assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2::1"));
    assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    assert_eq!(network("::ffff:192.0.2.7"), network("192.0.2.7"));
    assert_ne!(network("192.0.2.7"), network("192.0.2.8"));
}

#[test]
fn a_wide_network_is_a_24_on_ipv4_and_a_48_on_ipv6() {
    for (address, wide) in [
        ("198.51.100.7", "198.51.100.0/24"),
        ("::ffff:198.51.100.255", "198.51.100.0/24"),
        ("0.0.0.0", "0.0.0.0/24"),
        ("255.255.255.255", "255.255.255.0/24"),
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:1::/48"),
        ("::1", "::/48"),
    ] {
        assert_eq!(wide_network(address.parse().unwrap()), wide, "{address}");
    }
}

#[test]
fn a_site_may_send_ten_times_as_much_as_one_network() {
    let (mut limiter, rate) = (Limiter::default(), Rate { count: 3, window: 60_000 });
    let mut acquire = |address: String, what: &str| limiter.acquire_for_address(address.parse().unwrap(), what, rate, 0);
    for number in 0..10 {
        for _ in 0..3 {
            assert_eq!(acquire(format!("2001:db8:1:{number:x}::1"), "key"), Ok(()));
        }
        assert_eq!(acquire(format!("2001:db8:1:{number:x}::2"), "key"), Err(60));
    }
    // Refused requests were not counted, yet another network of the site is refused.
    assert_eq!(acquire("2001:db8:1:ffff::1".to_owned(), "key"), Err(60));
    assert_eq!(acquire("2001:db8:1:ffff::1".to_owned(), "other key"), Ok(()));
    assert_eq!(acquire("2001:db8:2::1".to_owned(), "key"), Ok(()));
    for number in 0..40 {
        assert_eq!(acquire(format!("192.0.2.{number}"), "key"), Ok(()));
    }
}

#[test]
fn changing_networks_do_not_evict_their_site() {
    let (mut limiter, rate) = (Limiter::default(), Rate { count: 6_000, window: 60_000 });
    let acquired = (0..70_000_u64).filter(|number| {
        let (network, host) = (number % 20_000, number / 20_000);
        let address = format!("2001:db8:1:{network:x}::{host:x}");
        limiter.acquire_for_address(address.parse().unwrap(), "", rate, 0).is_ok()
    });
    assert_eq!(acquired.count(), 60_000);
}

#[test]
fn the_count_of_a_site_is_capped() {
    let rate = |count| site_rate(Rate { count, window: 1 }).count;
    assert_eq!((rate(1), rate(5), rate(50_000), rate(200_000)), (10, 50, 100_000, 200_000));
    assert_eq!(site("192.0.2.1".parse().unwrap()), None);
    assert_eq!(site("::ffff:192.0.2.1".parse().unwrap()), None);
    assert_eq!(site("2001:db8:1:2::3".parse().unwrap()).as_deref(), Some("2001:db8:1::/48"));
}
