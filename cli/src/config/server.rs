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
