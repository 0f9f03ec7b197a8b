//! What fails, and what owners are warned of.

use crate::domain::audit::event::Action;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A login: a wrong address or password, or a passkey that was not accepted.
    Login,
    /// The second factor of a pending login, or the code that confirms an authenticator app.
    SecondFactor,
    /// The proof of a second factor by somebody who is signed in.
    StepUp,
    /// The exchange of a command line.
    Exchange,
    /// A bearer token that has one of our prefixes.
    Bearer,
    /// A signature of the edge that is not valid; the outcome says over what.
    EdgeSignature,
    /// Whatever a limit refuses; the outcome names the limit.
    Limit,
}

impl Event {
    /// The name in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::SecondFactor => "second_factor",
            Self::StepUp => "step_up",
            Self::Exchange => "exchange",
            Self::Bearer => "bearer",
            Self::EdgeSignature => "edge_signature",
            Self::Limit => "limit",
        }
    }

    /// How the audit trail calls it. What a limit refuses is not a failure of its own: those that used the limit up are in the trail. A signature of the
    /// edge is of no account.
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

    /// The event that is tallied under this name.
    pub(crate) fn of_tally(kind: &str) -> Option<Self> {
        [Self::Login, Self::SecondFactor, Self::StepUp, Self::Exchange, Self::Bearer].into_iter().find(|event| event.as_str() == kind)
    }
}

/// What there is to warn of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Somebody knows the password and not the second factor.
    WrongFactor,
    /// Failed logins have stopped the account for a while.
    LoginStopped,
    /// Failed second factors have stopped its codes.
    CodesStopped,
    /// Somebody signed in from a network that is new, with a browser that is new.
    NewNetwork,
}
