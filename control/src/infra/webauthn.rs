//! Whom passkeys are for: the dashboard, by the host of its address. Browsers offer a passkey on that host only, and authenticators sign for it.

use std::time::Duration;

use webauthn_rs::prelude::{Url, Webauthn};
use webauthn_rs::{DEFAULT_AUTHENTICATOR_TIMEOUT, WebauthnBuilder};

/// How long a challenge can be answered, in milliseconds.
pub const CHALLENGE_LIFETIME: i64 = 5 * 60_000;

/// How long browsers wait for the user: as long as the challenge can be answered.
const TIMEOUT: Duration = DEFAULT_AUTHENTICATOR_TIMEOUT;

/// The relying party (Web Authentication level 3, section 4), or that there is none.
#[derive(Debug)]
pub struct RelyingParty(Option<Webauthn>);

impl RelyingParty {
    /// That of a dashboard at this address: its host, and its origin as the only one. There is none when the host is an IP address, which cannot be
    /// one (section 5.1.2), and none over plain http, where browsers have no passkeys, but on the machine itself.
    pub fn of(dashboard_url: &str) -> Self {
        Self(Url::parse(dashboard_url).ok().filter(is_secure).and_then(|origin| {
            let builder = WebauthnBuilder::new(origin.domain()?, &origin).ok()?;
            builder.rp_name("Updraft").timeout(TIMEOUT).build().ok()
        }))
    }

    /// Whether passkeys can be used on this server.
    pub fn is_configured(&self) -> bool {
        self.0.is_some()
    }

    /// What the ceremonies go by; none where passkeys cannot be used.
    pub(crate) fn webauthn(&self) -> Option<&Webauthn> {
        self.0.as_ref()
    }
}

/// Whether browsers take what comes from this address for a secure context (Secure Contexts, section 3.1), as they must for passkeys.
fn is_secure(origin: &Url) -> bool {
    let is_local = |host: &str| host == "localhost" || host.ends_with(".localhost");
    origin.scheme() == "https" || origin.domain().is_some_and(is_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relying_party_has_a_name_for_a_host() {
        for address in [
            "https://updraft.example/dashboard",
            "https://a.b.example:8443/x/",
            "http://localhost:8080/dashboard",
            "http://localhost",
            "http://updraft.localhost:8080",
        ] {
            assert!(RelyingParty::of(address).is_configured(), "{address}");
        }
        for address in ["http://127.0.0.1:8080/dashboard", "https://192.0.2.1", "http://[::1]:8080/dashboard", "no address"] {
            assert!(!RelyingParty::of(address).is_configured(), "{address}");
        }
    }

    #[test]
    fn there_is_none_where_browsers_have_no_passkeys() {
        for address in ["http://updraft.example/dashboard", "http://notlocalhost", "http://localhost.example:8080", "ws://updraft.example"]
        {
            assert!(!RelyingParty::of(address).is_configured(), "{address}");
        }
    }

    #[test]
    fn the_browser_waits_as_long_as_the_challenge_lives() {
        assert_eq!(i64::try_from(TIMEOUT.as_millis()).unwrap(), CHALLENGE_LIFETIME);
    }
}
