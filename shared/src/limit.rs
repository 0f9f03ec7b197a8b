//! Rate limits for unauthenticated requests: counts per key in fixed windows, in bounded memory.
//!
//! The time is an argument. The caller decides what to count and under which key: [`network`] turns a client address into one.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Invalid;
use crate::time::parse_duration;

/// The number of keys to remember. Beyond that, the oldest window is dropped: a flood of keys cannot exhaust memory, and at worst lets requests
/// through that the limit should have stopped.
const MAX_KEYS: usize = 16_384;

/// The highest count in a site's limit.
const MAX_SITE_COUNT: u32 = 100_000;

/// A rate: a count per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The count.
    pub count: u32,
    /// The window, in milliseconds.
    pub window: i64,
}

impl Rate {
    /// Parses `600/1m`: a count, a slash, a duration in `ms`, `s`, `m`, `h` or `d`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("must be a count and a duration, such as 600/1m");
        let (count, duration) = text.trim().split_once('/').ok_or_else(wrong)?;
        let count = count.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
        let window = parse_duration(duration).map_err(|_| wrong())?;
        Ok(Self { count, window })
    }
}

/// Request counts by key.
#[derive(Debug, Default)]
pub struct Limiter {
    keys: Windows,
    /// Counts by site, kept apart so that changing keys within a site cannot evict the site itself.
    sites: Windows,
}

impl Limiter {
    /// Counts a request for `key`. Over the limit, the error is the number of seconds (at least 1) until the next is allowed.
    pub fn acquire(&mut self, key: &str, rate: Rate, now: i64) -> Result<(), u64> {
        self.keys.wait(key, rate, now).map_or(Ok(()), Err)?;
        self.keys.add(key, now);
        Ok(())
    }

    /// Counts a request from an address for `what`: by [`network`], and on IPv6 also by [`site`], which is allowed ten times as many.
    pub fn acquire_for_address(&mut self, address: IpAddr, what: &str, rate: Rate, now: i64) -> Result<(), u64> {
        let key = format!("{} {what}", network(address));
        let site = site(address).map(|site| format!("{site} {what}"));
        let refused_site = site.as_ref().and_then(|site| self.sites.wait(site, site_rate(rate), now));
        self.keys.wait(&key, rate, now).max(refused_site).map_or(Ok(()), Err)?;
        self.keys.add(&key, now);
        if let Some(site) = site {
            self.sites.add(&site, now);
        }
        Ok(())
    }
}

/// Windows of one length, by key.
#[derive(Debug, Default)]
struct Windows {
    windows: HashMap<String, Window>,
    /// Windows by start time. All have the same length, so the first to start is the first to end.
    order: VecDeque<(i64, String)>,
}

#[derive(Debug)]
struct Window {
    began: i64,
    count: u32,
}

impl Windows {
    /// The seconds until the next request is allowed, if `rate` is exhausted.
    fn wait(&mut self, key: &str, rate: Rate, now: i64) -> Option<u64> {
        self.forget(rate.window, now);
        let window = self.windows.get(key).filter(|window| window.count >= rate.count)?;
        let left = window.began.saturating_add(rate.window).saturating_sub(now);
        Some(u64::try_from(left).unwrap_or(0).div_ceil(1_000).max(1))
    }

    fn add(&mut self, key: &str, now: i64) {
        if let Some(window) = self.windows.get_mut(key) {
            window.count += 1;
            return;
        }
        self.windows.insert(key.to_owned(), Window { began: now, count: 1 });
        self.order.push_back((now, key.to_owned()));
    }

    /// Drops expired windows, windows in the future (the clock was set back), and the oldest ones over [`MAX_KEYS`].
    fn forget(&mut self, length: i64, now: i64) {
        while let Some((began, _)) = self.order.front()
            && (!(0..length).contains(&now.saturating_sub(*began)) || self.order.len() >= MAX_KEYS)
            && let Some((began, key)) = self.order.pop_front()
        {
            if self.windows.get(&key).is_some_and(|window| window.began == began) {
                self.windows.remove(&key);
            }
        }
    }
}

/// The rate for a site whose networks are limited to `rate`: ten times the count, up to what is kept for one subject.
pub fn site_rate(rate: Rate) -> Rate {
    Rate { count: rate.count.saturating_mul(10).min(MAX_SITE_COUNT).max(rate.count), ..rate }
}

/// The site to count a client address under, besides its [`network`]: its /48 on IPv6, which one customer can easily get.
pub fn site(address: IpAddr) -> Option<String> {
    address.to_canonical().is_ipv6().then(|| wide_network(address))
}

/// The address block that usually has one owner: the /24 on IPv4, the /48 on IPv6, written as `198.51.100.0/24`.
pub fn wide_network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("{}/24", Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(address) => format!("{}/48", Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 80))),
    }
}

/// The network to count a client address under: the address itself on IPv4, its /64 on IPv6, the smallest block that a customer gets.
pub fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:x}", address.to_bits() >> 64),
    }
}
