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
/// What is wrong with the other server's own name.
const MOVED_OUT: &str = "its name led into a private network before, and leads elsewhere now";

/// Whether packages may come from inside a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    allows_inside: bool,
}

impl Reach {
    /// From inside only if the other server is there itself, with all its addresses.
    pub(super) async fn of(base: &Url) -> Self {
        let found = addresses(base).await.unwrap_or_default();
        Self { allows_inside: !found.is_empty() && found.iter().all(|address| is_inside(address.ip())) }
    }

    /// Whether no package may come from there. Clouds serve credentials on the link of a machine and at addresses of their own: no package is there.
    fn refuses(self, address: IpAddr) -> bool {
        is_link_local(address) || is_metadata(address) || (!self.allows_inside && is_inside(address))
    }

    /// Refuses an address that leads inside. One that cannot be found is left to the download.
    pub(super) async fn check(self, url: &Url) -> Result<(), Fault> {
        match addresses(url).await {
            Ok(found) if found.iter().any(|address| self.refuses(address.ip())) => Err(Fault::Package(LEADS_INSIDE.to_owned())),
            _ => Ok(()),
        }
    }

    /// The client for packages: the same for redirects, and for names whose address changes after the check.
    pub(super) fn guard(self, builder: ClientBuilder) -> ClientBuilder {
        let builder = builder.redirect(Policy::custom(move |attempt| {
            if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("too many redirects")
            } else if literal(attempt.url()).is_some_and(|address| self.refuses(address)) {
                attempt.error(LEADS_INSIDE)
            } else {
                attempt.follow()
            }
        }));
        resolving(builder, self.of_packages())
    }

    fn of_packages(self) -> Guarded {
        Guarded { why: LEADS_INSIDE, refuses: Arc::new(move |address| self.refuses(address)) }
    }

    /// The client for the other server itself. If its name leads inside, it must go on doing so: a server outside could have its name lead inside for a
    /// moment, to be allowed what only servers inside are.
    pub(super) fn hold(self, builder: ClientBuilder) -> ClientBuilder {
        if self.allows_inside { resolving(builder, Self::inside()) } else { builder }
    }

    fn inside() -> Guarded {
        Guarded { why: MOVED_OUT, refuses: Arc::new(|address| !is_inside(address)) }
    }
}

/// A client that finds no name with a refused address. A proxy finds the addresses itself, and is often inside.
fn resolving(builder: ClientBuilder, names: Guarded) -> ClientBuilder {
    if has_proxy() { builder } else { builder.dns_resolver(Arc::new(names)) }
}

/// Finds names, but none with a refused address.
struct Guarded {
    why: &'static str,
    refuses: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (why, refuses) = (self.why, Arc::clone(&self.refuses));
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| refuses(address.ip())) {
                return Err(why.into());
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
    match plain(address) {
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

/// Whether an address is on the link of one machine only.
fn is_link_local(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Whether a cloud serves credentials or its machines' settings there, though the address is not link-local: Alibaba Cloud, Azure and Oracle Cloud, and
/// Amazon's for IPv6.
fn is_metadata(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => matches!(address.octets(), [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192]),
        IpAddr::V6(address) => matches!(address.segments(), [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]),
    }
}

/// The IPv4 address in an IPv6 address, if there is one: mapped (RFC 4291), translated (NAT64, RFC 6052) or tunneled (6to4, RFC 3056).
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(whole) = address.to_canonical() else { return address.to_canonical() };
    match whole.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
            IpAddr::from([first, second, third, fourth])
        }
        _ => IpAddr::V6(whole),
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
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:a00:1::",
        ] {
            assert!(is_inside(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::808:808", "2002:808:808::1"] {
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
        // Not even then.
        for url in [
            "http://169.254.169.254/latest",
            "http://[fe80::1]/a",
            "http://[64:ff9b::a9fe:a9fe]/a",
            "http://[fd00:ec2::254]/latest",
            "http://100.100.100.200/latest",
            "http://168.63.129.16/machine",
            "http://192.0.0.192/opc",
        ] {
            assert!(inside.check(&url.parse().unwrap()).await.is_err(), "{url}");
        }
        assert!(!Reach::of(&"http://8.8.8.8".parse().unwrap()).await.allows_inside);
    }

    #[tokio::test]
    async fn a_name_that_led_inside_must_not_lead_elsewhere() {
        let find = async |names: Guarded, name: &str| names.resolve(name.parse().unwrap()).await.map(Iterator::count);
        let (inside, outside) = (Reach { allows_inside: true }, Reach { allows_inside: false });
        assert!(find(inside.of_packages(), "localhost").await.is_ok_and(|count| count > 0));
        assert_eq!(find(outside.of_packages(), "localhost").await.unwrap_err().to_string(), LEADS_INSIDE);
        assert!(find(Reach::inside(), "localhost").await.is_ok());
        // An address is its own name, which needs no server to be found.
        assert_eq!(find(Reach::inside(), "8.8.8.8").await.unwrap_err().to_string(), MOVED_OUT);
        assert!(find(outside.of_packages(), "8.8.8.8").await.is_ok());
    }
}
