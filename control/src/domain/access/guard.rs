//! What kind of credential an operation asks for, as values that only this file makes: a handler takes one as an argument, and what it does not take,
//! the service function behind it cannot be called with.

use std::ops::Deref;

use shared::ids::AccessKeyId;

use super::bearer::{CredentialId, SignedIn};
use crate::domain::change::Change;
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::scope::{Scope, Scopes};
use crate::domain::error::{Error, Refusal, Result};

/// A caller with any credential but an API key.
#[derive(Clone, Debug)]
pub struct NotApiKey(SignedIn);

impl NotApiKey {
    /// The caller, unless the credential is an API key. Errors: 403.
    pub fn of(caller: SignedIn) -> Result<Self> {
        if caller.kind() == CredentialKind::ApiKey {
            return Err(Error::Refused(Refusal::ApiKey));
        }
        Ok(Self(caller))
    }
}

impl Deref for NotApiKey {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

/// A caller that signed in, on the dashboard or for a command line. Named access keys and API keys are refused.
#[derive(Clone, Debug)]
pub struct LoginSession {
    caller: SignedIn,
    session: AccessKeyId,
}

impl LoginSession {
    /// The caller, when it signed in.
    pub fn of(caller: &SignedIn) -> Option<Self> {
        match caller.credential() {
            CredentialId::AccessKey(id) if caller.kind().is_login() => Some(Self { session: id.clone(), caller: caller.clone() }),
            _ => None,
        }
    }

    /// The same, or the refusal. Errors: 403.
    pub fn require(caller: &SignedIn) -> Result<Self> {
        Self::of(caller).ok_or(Error::Refused(Refusal::NoLoginSession))
    }

    /// The session.
    pub fn credential(&self) -> &AccessKeyId {
        &self.session
    }
}

impl Deref for LoginSession {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.caller
    }
}

/// A caller that signed in on the dashboard. Keys are refused as by [`LoginSession`], other sessions with a code that says what helps.
#[derive(Clone, Debug)]
pub struct DashboardSession(LoginSession);

impl DashboardSession {
    /// The caller, when the session is the dashboard's; else the refusal. For operations of which only a part needs that.
    pub fn of(caller: &LoginSession) -> Result<Self> {
        if caller.kind() == CredentialKind::DashboardSession { Ok(Self(caller.clone())) } else { Err(NO_DASHBOARD_SESSION) }
    }
}

impl Deref for DashboardSession {
    type Target = LoginSession;

    fn deref(&self) -> &LoginSession {
        &self.0
    }
}

/// A caller that signed in on the dashboard, where every other credential, keys too, is told that the dashboard helps: making an API key asks for
/// nothing else.
#[derive(Clone, Debug)]
pub struct DashboardSessionAlone(DashboardSession);

impl DashboardSessionAlone {
    /// The caller, when the session is the dashboard's. Errors: 403.
    pub fn of(caller: &SignedIn) -> Result<Self> {
        if caller.kind() != CredentialKind::DashboardSession {
            return Err(NO_DASHBOARD_SESSION);
        }
        DashboardSession::of(&LoginSession::require(caller)?).map(Self)
    }
}

impl Deref for DashboardSessionAlone {
    type Target = DashboardSession;

    fn deref(&self) -> &DashboardSession {
        &self.0
    }
}

const NO_DASHBOARD_SESSION: Error = Error::Refused(Refusal::NoDashboardSession);

/// A caller that may make apps of its own.
#[derive(Clone, Debug)]
pub struct AppCreator(SignedIn);

impl AppCreator {
    /// The caller, unless its API key does not have the scope. Errors: 403.
    pub fn of(caller: SignedIn) -> Result<Self> {
        Self::check(caller.scopes())?;
        Ok(Self(caller))
    }

    /// As [`SignedIn::begin`]; of an API key's scopes only the one that it takes must still be there.
    pub async fn begin<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut change = Change::begin(app, self.0.actor()).await?;
        Self::check(self.0.judge(&mut change, app).await?)?;
        Ok(change)
    }

    fn check(scopes: Scopes) -> Result<()> {
        if scopes.has(Scope::Apps) { Ok(()) } else { Err(Error::Refused(Refusal::AppsScope)) }
    }
}

impl Deref for AppCreator {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}
