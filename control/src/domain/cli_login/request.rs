//! A command line's request: what is stored of it, and where it stands.

use shared::ids::{AccessKeyId, AccountId, CliAuthorizationId};
use shared::time::UnixMillis;

use super::redirect;
use crate::domain::credentials::session::{Device, SessionOrigin};
use crate::stored_text;

/// By which way a command line wants to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Through a browser on the same machine, which takes a code back to the command line.
    Pkce,
    /// By a code that the user copies into a browser.
    Device,
}

stored_text!(Mode, "must be pkce or device", Pkce = "pkce", Device = "device");

impl Mode {
    /// What a credential that comes by this way is.
    pub fn origin(self) -> SessionOrigin {
        match self {
            Self::Pkce => SessionOrigin::CliBrowser,
            Self::Device => SessionOrigin::CliDevice,
        }
    }
}

/// Where a request stands. It begins pending; each of the others is the end but `Approved`, of which `Consumed`, `Expired`, `Cancelled` and `Ended` come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has decided.
    Pending,
    /// Somebody has approved it, and it waits to be exchanged.
    Approved,
    /// It was exchanged for a credential.
    Consumed,
    /// Somebody has denied it.
    Denied,
    /// Its time ran out before it was decided or exchanged; what is stored is where it stood then.
    Expired,
    /// The account that approved it has a new password, or the session that did has ended.
    Cancelled,
    /// A wrong proof came with its code, or the code came again.
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

/// A request as it is stored. It cannot be printed, for the sake of the state.
#[derive(Clone, sqlx::FromRow)]
pub struct AuthorizationRow {
    /// Its id.
    pub id: CliAuthorizationId,
    /// By which way.
    pub mode: Mode,
    status: State,
    /// The hash of the verifier, base64url; none of devices.
    pub code_challenge: Option<String>,
    /// Where the browser takes the code; none of devices.
    pub redirect_uri: Option<String>,
    state: Option<String>,
    code_expires: Option<UnixMillis>,
    /// From when on a poll is not too fast.
    pub next_poll_time: UnixMillis,
    /// What the command line says of itself.
    #[sqlx(flatten)]
    pub device: Device,
    /// The address it was made from.
    pub created_by: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// Until when it can be decided on, and exchanged by a device.
    pub expires: UnixMillis,
    /// Who decided.
    pub account_id: Option<AccountId>,
    /// The session that approved it.
    pub session_id: Option<AccessKeyId>,
    /// What it was exchanged for.
    pub credential_id: Option<AccessKeyId>,
}

impl AuthorizationRow {
    /// Where it stands.
    pub fn state(&self, now: UnixMillis) -> State {
        match self.status {
            State::Pending if now < self.expires => State::Pending,
            // A code has a time of its own, which may reach beyond the request's.
            State::Approved if now < self.code_expires.unwrap_or(self.expires) => State::Approved,
            State::Pending | State::Approved => State::Expired,
            decided => decided,
        }
    }

    /// Whether the account may know of it: before somebody has decided whoever has its id, afterwards only who decided.
    pub fn is_seen_by(&self, account: &AccountId) -> bool {
        self.account_id.as_ref().is_none_or(|decided| decided == account)
    }

    /// Where the browser goes with this answer, which never is a credential; none of devices.
    pub fn redirect_with(&self, name: &str, value: &str) -> Option<String> {
        let parameters = [Some((name, value)), self.state.as_deref().map(|state| ("state", state))];
        let parameters: Vec<_> = parameters.into_iter().flatten().collect();
        self.redirect_uri.as_deref().map(|uri| redirect::with_query(uri, &parameters))
    }
}
