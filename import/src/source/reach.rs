//! Where packages may come from. The other server names their addresses, and this machine fetches them: a server on the internet must not have it fetch
//! from the network that it is in, such as a cloud's metadata service, and pass that on as a package.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use tokio::net::lookup_host;

use super::Fault;

/// The most redirects of a package's address.
const MOST_REDIRECTS: usize = 10;
/// What is wrong with an address.
const LEADS_INSIDE: &str = "its address leads into a private network, where the other server is not";

/// Whether packages may come from inside a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    allows_inside: bool,
}

impl Reach {
    /// From inside only if the other server is there itself.
    pub(super) async fn of(base: &Url) -> Self {
        Self { allows_inside: addresses(base).await.is_ok_and(|found| found.iter().any(|address| is_inside(address.ip()))) }
    }

    /// Refuses an address that leads inside. One that cannot be found is left to the download.
    pub(super) async fn check(self, url: &Url) -> Result<(), Fault> {
        if self.allows_inside {
            return Ok(());
        }
        match addresses(url).await {
            Ok(found) if found.iter().any(|address| is_inside(address.ip())) => Err(Fault::Package(LEADS_INSIDE.to_owned())),
            _ => Ok(()),
        }
    }

    /// The same for redirects, and for names whose address changes after the check.
    pub(super) fn guard(self, builder: ClientBuilder) -> ClientBuilder {
        let allows_inside = self.allows_inside;
        let builder = builder.redirect(Policy::custom(move |attempt| {
            if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("too many redirects")
            } else if !allows_inside && literal(attempt.url()).is_some_and(is_inside) {
                attempt.error(LEADS_INSIDE)
            } else {
                attempt.follow()
            }
        }));
        // A proxy finds the addresses, and is often inside itself.
        if allows_inside || has_proxy() { builder } else { builder.dns_resolver(Arc::new(Outside)) }
    }
}

/// Finds addresses outside only.
#[derive(Debug)]
struct Outside;

impl Resolve for Outside {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| is_inside(address.ip())) {
                return Err(LEADS_INSIDE.into());
            }
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}

async fn addresses(url: &Url) -> io::Result<Vec<SocketAddr>> {
    match (literal(url), url.host_str()) {
        (Some(address), _) => Ok(vec![SocketAddr::new(address, 0)]),
        (None, Some(name)) => Ok(lookup_host((name, 0)).await?.collect()),
        (None, None) => Ok(Vec::new()),
    }
}

/// The address that a URL has instead of a name.
fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is of this machine, of a private network, or of none.
fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_broadcast()
                || address.is_multicast()
                || first == 0
                || is_shared
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

fn has_proxy() -> bool {
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
        .iter()
        .any(|name| [name.to_string(), name.to_lowercase()].iter().any(|name| std::env::var(name).is_ok_and(|value| !value.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_inside_a_network_are_known() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_inside(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1"] {
            assert!(!is_inside(outside.parse().unwrap()), "{outside}");
        }
    }

    #[tokio::test]
    async fn a_server_outside_cannot_lead_inside() {
        let outside = Reach { allows_inside: false };
        for url in ["http://127.0.0.1:8080/a", "http://[::1]/a", "http://0x7f.1/a", "https://169.254.169.254/latest", "http://localhost/a"]
        {
            assert!(outside.check(&url.parse().unwrap()).await.is_err(), "{url}");
        }
        assert!(outside.check(&"https://8.8.8.8/a".parse().unwrap()).await.is_ok());
        let inside = Reach::of(&"http://127.0.0.1:1".parse().unwrap()).await;
        assert!(inside.check(&"http://10.0.0.1/a".parse().unwrap()).await.is_ok());
        assert!(!Reach::of(&"http://8.8.8.8".parse().unwrap()).await.allows_inside);
    }
}
