//! A CLI authorization request: its row and its state.

use shared::ids::{AccessKeyId, AccountId, CliAuthorizationId};
use shared::time::UnixMillis;

use super::redirect;
use crate::domain::credentials::session::{Device, SessionOrigin};
use crate::stored_text;

/// The flow by which a CLI requests authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Authorization code with PKCE: a browser on the same machine delivers a code to the CLI.
    Pkce,
    /// Device flow: the user enters a code in a browser.
    Device,
}

stored_text!(Mode, "must be pkce or device", Pkce = "pkce", Device = "device");

impl Mode {
    /// The origin of a credential issued by this flow.
    pub fn origin(self) -> SessionOrigin {
        match self {
            Self::Pkce => SessionOrigin::CliBrowser,
            Self::Device => SessionOrigin::CliDevice,
        }
    }
}

/// The state of a request. It starts as `Pending`. All other states are final except `Approved`, which leads to `Consumed`, `Expired`, `Cancelled` or
/// `Ended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not decided yet.
    Pending,
    /// Approved, waiting for the exchange.
    Approved,
    /// Exchanged for a credential.
    Consumed,
    /// Denied.
    Denied,
    /// It expired before it was decided or exchanged. The stored status is still the one from before.
    Expired,
    /// The approving account has a new password, or the approving session is no longer valid.
    Cancelled,
    /// Its code came with a wrong proof, or was used twice.
    Ended,
}

stored_text!(
    State,
    "must be pending, approved, consumed, denied, expired, cancelled or ended",
    Pending = "pending",
    Approved = "approved",
    Consumed = "consumed",
    Denied = "denied",
    Expired = "expired",
    Cancelled = "cancelled",
    Ended = "ended"
);

/// A stored request. It has no `Debug`, because of the state.
#[derive(Clone, sqlx::FromRow)]
pub struct AuthorizationRow {
    /// Its ID.
    pub id: CliAuthorizationId,
    /// The flow.
    pub mode: Mode,
    status: State,
    /// The hash of the verifier, base64url-encoded; none for the device flow.
    pub code_challenge: Option<String>,
    /// Where the browser delivers the code; none for the device flow.
    pub redirect_uri: Option<String>,
    state: Option<String>,
    code_expires: Option<UnixMillis>,
    /// The earliest time for the next poll.
    pub next_poll_time: UnixMillis,
    /// How the CLI describes itself.
    #[sqlx(flatten)]
    pub device: Device,
    /// The client address that created it.
    pub created_by: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// When it expires: until then it can be decided on, and exchanged in the device flow.
    pub expires: UnixMillis,
    /// The account that decided.
    pub account_id: Option<AccountId>,
    /// The session that approved it.
    pub session_id: Option<AccessKeyId>,
    /// The credential it was exchanged for.
    pub credential_id: Option<AccessKeyId>,
}

impl AuthorizationRow {
    /// The current state.
    pub fn state(&self, now: UnixMillis) -> State {
        match self.status {
            State::Pending if now < self.expires => State::Pending,
            // A code has its own expiry, which may be later than the request's.
            State::Approved if now < self.code_expires.unwrap_or(self.expires) => State::Approved,
            State::Pending | State::Approved => State::Expired,
            decided => decided,
        }
    }

    /// Whether the account may see it: before a decision, anyone with its ID; afterwards, only the account that decided.
    pub fn is_seen_by(&self, account: &AccountId) -> bool {
        self.account_id.as_ref().is_none_or(|decided| decided == account)
    }

    /// Where to redirect the browser with this result, which is never a credential; none for the device flow.
    pub fn redirect_with(&self, name: &str, value: &str) -> Option<String> {
        let parameters = [Some((name, value)), self.state.as_deref().map(|state| ("state", state))];
        let parameters: Vec<_> = parameters.into_iter().flatten().collect();
        self.redirect_uri.as_deref().map(|uri| redirect::with_query(uri, &parameters))
    }
}
