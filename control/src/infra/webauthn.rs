//! The relying party of passkeys: the dashboard, identified by its host. Browsers offer a passkey only on that host, and authenticators sign for it.

use std::time::Duration;

use webauthn_rs::prelude::{Url, Webauthn};
use webauthn_rs::{DEFAULT_AUTHENTICATOR_TIMEOUT, WebauthnBuilder};

/// The lifetime of a challenge, in milliseconds.
pub const CHALLENGE_LIFETIME: i64 = 5 * 60_000;

/// How long browsers wait for the user: the lifetime of the challenge.
pub const TIMEOUT: Duration = DEFAULT_AUTHENTICATOR_TIMEOUT;

/// The relying party (Web Authentication Level 3, section 4), or none.
#[derive(Debug)]
pub struct RelyingParty(Option<Webauthn>);

impl RelyingParty {
    /// The relying party of a dashboard at this URL: its host is the ID, its origin the only one allowed. None if the host is an IP address, which cannot
    /// be an ID (section 5.1.2), or if the URL is plain http and not localhost, because browsers do not offer passkeys there.
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

    /// The configuration of the ceremonies; `None` if passkeys cannot be used.
    pub(crate) fn webauthn(&self) -> Option<&Webauthn> {
        self.0.as_ref()
    }
}

/// Whether browsers treat this origin as a secure context (Secure Contexts, section 3.1), which passkeys require.
fn is_secure(origin: &Url) -> bool {
    let is_local = |host: &str| host == "localhost" || host.ends_with(".localhost");
    origin.scheme() == "https" || origin.domain().is_some_and(is_local)
}
