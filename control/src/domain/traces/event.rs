//! Kinds of failures, of warnings to owners, and of notices that are held back.

use serde::{Deserialize, Serialize};

use crate::domain::audit::event::Action;
use crate::stored_text;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A login: wrong address or password, or a rejected passkey.
    Login,
    /// The second factor of a pending login, or the code that confirms a new authenticator app.
    SecondFactor,
    /// A second-factor proof by a signed-in user.
    StepUp,
    /// A CLI token exchange.
    Exchange,
    /// A bearer token with one of our prefixes.
    Bearer,
    /// An invalid signature from the edge; the outcome says over what.
    EdgeSignature,
    /// A refusal by a limit; the outcome names the limit.
    Limit,
}

stored_text!(
    Event,
    "must be a kind of failure",
    Login = "login",
    SecondFactor = "second_factor",
    StepUp = "step_up",
    Exchange = "exchange",
    Bearer = "bearer",
    EdgeSignature = "edge_signature",
    Limit = "limit"
);

impl Event {
    /// The action in the audit trail. A refusal by a limit has none: the failures that used up the limit are in the trail. An edge signature belongs
    /// to no account.
    pub(crate) fn action(self) -> Option<Action> {
        match self {
            Self::Login => Some(Action::FailLogIn),
            Self::SecondFactor => Some(Action::FailSecondFactor),
            Self::StepUp => Some(Action::FailStepUp),
            Self::Exchange => Some(Action::FailExchange),
            Self::Bearer => Some(Action::FailBearer),
            Self::EdgeSignature | Self::Limit => None,
        }
    }
}

/// Reasons for a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Someone has the password but not the second factor.
    WrongFactor,
    /// Failed logins have locked the account for a while.
    LoginStopped,
    /// Failed second factors have blocked its codes.
    CodesStopped,
    /// Someone signed in from a new network with a new browser.
    NewNetwork,
}

/// Kinds of notices to an owner. One email sums up many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// New passwords.
    Passwords,
    /// Keys that were added.
    KeysAdded,
    /// Keys that were deleted or revoked.
    KeysRemoved,
    /// Devices that were authorized.
    DevicesAuthorized,
    /// Revoked devices.
    DevicesRevoked,
    /// Second factors and recovery codes.
    Factors,
    /// Apps that were transferred.
    Transfers,
}

stored_text!(
    Notice,
    "must be a kind of notice",
    Passwords = "notice/passwords",
    KeysAdded = "notice/keys_added",
    KeysRemoved = "notice/keys_removed",
    DevicesAuthorized = "notice/machines_added",
    DevicesRevoked = "notice/machines_removed",
    Factors = "notice/factors",
    Transfers = "notice/transfers"
);
