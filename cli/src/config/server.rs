//! The URL of a server.

use std::fmt;

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The base URL of a server, without a trailing slash. Plain http is accepted only for this machine, unless `UPDRAFT_INSECURE=yes`: credentials are sent
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ServerUrl(String);

impl ServerUrl {
    /// Parses a URL. A host without a scheme means https, or http for this machine. Errors: usage (2).
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Self::checked(text, std::env::var("UPDRAFT_INSECURE").is_ok_and(|value| value == "yes"))
    }

    fn checked(text: &str, allows_http: bool) -> Result<Self> {
        // What may be a password is not repeated.
        let shown = if text.contains('@') { "this" } else { text };
        let wrong =
            |why: &str| Error::usage(format!("{shown} is not a server's URL: {why}"), "Give a URL such as https://updraft.example.com.");
        let text = text.trim().trim_end_matches('/');
        let with_scheme = match text.split_once("://") {
            Some(_) => text.to_owned(),
            None if is_loopback(text.split([':', '/']).next().unwrap_or_default()) => format!("http://{text}"),
            None => format!("https://{text}"),
        };
        let url = Url::parse(&with_scheme).map_err(|error| wrong(&error.to_string()))?;
        let Some(host) = url.host_str() else { return Err(wrong("it has no host")) };
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it must have no user, query or fragment"));
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(host) || allows_http => {}
            "http" => {
                let next = "Use https, or set UPDRAFT_INSECURE=yes if the network between is yours.";
                return Err(Error::usage(format!("{text} would send your credential unencrypted"), next));
            }
            _ => return Err(wrong("it must begin with https:// or http://")),
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// The URL, without a trailing slash.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The host and port, as a short name.
    pub(crate) fn host(&self) -> &str {
        self.0.split_once("://").map_or(self.0.as_str(), |(_, host)| host)
    }
}

/// The port of a server whose URL leads to this machine, and from every other one to itself; `None` for every other URL.
pub(crate) fn port_on_this_machine(url: &str) -> Option<u16> {
    let url = Url::parse(url).ok()?;
    url.port_or_known_default().filter(|_| url.host_str().is_some_and(is_loopback))
}

/// What an emulator of Android calls the machine that it runs on.
const HOST_OF_EMULATOR: &str = "10.0.2.2";

/// Whether an address that devices ask is that of a server: with or without a slash or `/v1` at its end, and by any name of this machine.
pub(crate) fn is_address_of(address: &str, server: &str) -> bool {
    comparable(address).is_some_and(|address| comparable(server).is_some_and(|server| address == server))
}

/// What two addresses of a server have in common: scheme, host, port and path.
fn comparable(address: &str) -> Option<(String, String, u16, String)> {
    let url = Url::parse(address.trim()).ok()?;
    let host = url.host_str().map(|host| if is_loopback(host) || host == HOST_OF_EMULATOR { "localhost" } else { host })?;
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path);
    Some((url.scheme().to_owned(), host.to_owned(), url.port_or_known_default()?, path.to_owned()))
}

/// Whether this host is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Reads a URL that was stored when the user signed in, plain http included: they accepted it then.
impl TryFrom<String> for ServerUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::checked(&text, true).map_err(|error| error.what)
    }
}

impl From<ServerUrl> for String {
    fn from(url: ServerUrl) -> Self {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_several_spellings() {
        let server = "https://u.example";
        for same in
            ["https://u.example", " https://U.example/ ", "https://u.example:443//", "https://u.example/v1", "https://u.example/v1/"]
        {
            assert!(is_address_of(same, server), "{same}");
        }
        for other in ["http://u.example/", "https://u.example:8443/", "https://u.example/other/", "u.example", "YOUR_SERVER_URL", ""] {
            assert!(!is_address_of(other, server), "{other}");
        }
        let here = "http://127.0.0.1:8787";
        assert!(["http://localhost:8787/", "http://10.0.2.2:8787"].iter().all(|same| is_address_of(same, here)));
        assert!(!is_address_of("http://localhost:8788/", here) && !is_address_of("http://10.0.2.3:8787/", here));
    }
}
