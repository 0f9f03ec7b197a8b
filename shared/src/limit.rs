//! How many requests of one kind a stranger may make: counted per key in windows of fixed length, in memory, bounded.
//!
//! The time comes in as an argument. What is counted, and under which key, is the caller's: [`network`] makes one of a client's address.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Invalid;
use crate::time::parse_duration;

/// Keys that are remembered. Beyond it the oldest window is forgotten, so that a flood of keys costs memory no more than this, and at worst lets
/// through what it was meant to keep out.
const MOST_KEYS: usize = 16_384;

/// The most that a site's limit counts to.
const MOST_OF_SITE: u32 = 100_000;

/// So many in such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In how many milliseconds.
    pub window: i64,
}

impl Rate {
    /// Reads `600/1m`: a count, a slash, a duration in `ms`, `s`, `m`, `h` or `d`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("must be a count and a duration such as 600/1m");
        let (count, duration) = text.trim().split_once('/').ok_or_else(wrong)?;
        let count = count.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
        let window = parse_duration(duration).map_err(|_| wrong())?;
        Ok(Self { count, window })
    }
}

/// Counts by key.
#[derive(Debug, Default)]
pub struct Limiter {
    keys: Windows,
    /// Counts by site, beside: keys that come and go within one site do not push it out.
    sites: Windows,
}

impl Limiter {
    /// Counts one request of `key`. When it is one too many, the error says in how many seconds (at least 1) the next may come.
    pub fn admit(&mut self, key: &str, rate: Rate, now: i64) -> Result<(), u64> {
        self.keys.wait(key, rate, now).map_or(Ok(()), Err)?;
        self.keys.add(key, now);
        Ok(())
    }

    /// Counts one request of an address about `what`: by its [`network`], and on IPv6 also by its [`site`], which gets ten times as many.
    pub fn admit_address(&mut self, address: IpAddr, what: &str, rate: Rate, now: i64) -> Result<(), u64> {
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
    /// Windows by their beginning; all are equally long, so that the first to begin is the first to end.
    order: VecDeque<(i64, String)>,
}

#[derive(Debug)]
struct Window {
    began: i64,
    count: u32,
}

impl Windows {
    /// The seconds until one more may come, when there were as many as `rate` allows.
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

    /// Forgets windows that are over, those that a clock set back has left in the future, and the oldest beyond the bound.
    fn forget(&mut self, length: i64, now: i64) {
        while let Some((began, _)) = self.order.front()
            && (!(0..length).contains(&now.saturating_sub(*began)) || self.order.len() >= MOST_KEYS)
            && let Some((began, key)) = self.order.pop_front()
        {
            if self.windows.get(&key).is_some_and(|window| window.began == began) {
                self.windows.remove(&key);
            }
        }
    }
}

/// What a site may ask for where a network may ask for `rate`: ten times as many, but no more than can be kept of one subject.
pub fn site_rate(rate: Rate) -> Rate {
    Rate { count: rate.count.saturating_mul(10).min(MOST_OF_SITE).max(rate.count), ..rate }
}

/// What a client's address counts for besides its [`network`]: its /48 on IPv6, which one customer easily has.
pub fn site(address: IpAddr) -> Option<String> {
    address.to_canonical().is_ipv6().then(|| wide_network(address))
}

/// The block of addresses that usually has one owner: the /24 on IPv4, the /48 on IPv6, as `198.51.100.0/24`.
pub fn wide_network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("{}/24", Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(address) => format!("{}/48", Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 80))),
    }
}

/// What a client's address counts as: itself on IPv4, its /64 on IPv6, where a customer has at least that many addresses.
pub fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:x}", address.to_bits() >> 64),
    }
}
