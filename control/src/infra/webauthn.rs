//! Whom passkeys are for: the dashboard, by the host of its address. Browsers offer a passkey on that host only, and authenticators sign for it.

use std::time::Duration;

use webauthn_rs::prelude::{Url, Webauthn};
use webauthn_rs::{DEFAULT_AUTHENTICATOR_TIMEOUT, WebauthnBuilder};

/// How long a challenge can be answered, in milliseconds.
pub const CHALLENGE_LIFETIME: i64 = 5 * 60_000;

/// How long browsers wait for the user: as long as the challenge can be answered.
pub const TIMEOUT: Duration = DEFAULT_AUTHENTICATOR_TIMEOUT;

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
