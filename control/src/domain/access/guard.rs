//! The kinds of credentials that an operation accepts, as values that only this file creates. A handler takes one as an argument; without it, the service
//! function cannot be called.

use std::ops::Deref;

use shared::ids::AccessKeyId;

use super::bearer::{CredentialId, SignedIn};
use crate::domain::change::{self, Change};
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::scope::{Scope, Scopes};
use crate::domain::error::{Error, Refusal, Result};

/// A caller with any credential except an API key.
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

/// A caller that signed in, on the dashboard or for a CLI. Named access keys and API keys are refused.
#[derive(Clone, Debug)]
pub struct LoginSession {
    caller: SignedIn,
    session: AccessKeyId,
}

impl LoginSession {
    /// The caller, if it signed in.
    pub fn of(caller: &SignedIn) -> Option<Self> {
        match caller.credential() {
            CredentialId::AccessKey(id) if caller.kind().is_login() => Some(Self { session: id.clone(), caller: caller.clone() }),
            _ => None,
        }
    }

    /// The same, or an error. Errors: 403.
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

/// A caller that signed in on the dashboard. Keys are refused as by [`LoginSession`]; other sessions get a code that says what to do.
#[derive(Clone, Debug)]
pub struct DashboardSession(LoginSession);

impl DashboardSession {
    /// The caller, if the session is a dashboard session; otherwise an error. For operations that need it only in part.
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

/// A caller that signed in on the dashboard. Every other credential, including keys, is told to use the dashboard: creating an API key requires nothing else.
#[derive(Clone, Debug)]
pub struct DashboardSessionOnly(DashboardSession);

impl DashboardSessionOnly {
    /// The caller, if the session is a dashboard session. Errors: 403.
    pub fn of(caller: &SignedIn) -> Result<Self> {
        if caller.kind() != CredentialKind::DashboardSession {
            return Err(NO_DASHBOARD_SESSION);
        }
        DashboardSession::of(&LoginSession::require(caller)?).map(Self)
    }
}

impl Deref for DashboardSessionOnly {
    type Target = DashboardSession;

    fn deref(&self) -> &DashboardSession {
        &self.0
    }
}

const NO_DASHBOARD_SESSION: Error = Error::Refused(Refusal::NoDashboardSession);

/// A caller that may create apps.
#[derive(Clone, Debug)]
pub struct AppCreator(SignedIn);

impl AppCreator {
    /// The caller, unless its API key lacks the scope. Errors: 403.
    pub fn of(caller: SignedIn) -> Result<Self> {
        Self::check(caller.scopes())?;
        Ok(Self(caller))
    }

    /// Like [`SignedIn::begin`], but of an API key's scopes only the required one must still be there.
    pub async fn begin<'c>(&self, app: &'c Context) -> Result<Change<'c>> {
        let mut change = change::begin(app, self.0.actor()).await?;
        Self::check(self.0.recheck(&mut change, app).await?)?;
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
