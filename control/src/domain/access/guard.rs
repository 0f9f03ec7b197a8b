//! What kind of credential an operation asks for, as values that only this file makes: a handler takes one as an argument, and what it does not take,
//! the service function behind it cannot be called with. Refusals are those of the specification's Authentication point 4.

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::bearer::{CredentialId, CredentialKind, SignedIn};
use crate::domain::context::{App, AppState, Refusal};
use crate::domain::credentials::scope::{Scope, Scopes};
use crate::domain::error::{AppError, AppResult, Code};
use crate::domain::limits::under_way::Place;
use crate::domain::login::fresh;
use crate::domain::second_factors as mfa;
use crate::infra::db::{ReadTx, WriteTx};

/// In how many seconds to try again when an account has as many uploads under way as it may: nobody knows when one of them is done.
const UPLOAD_WAIT: u64 = 10;

/// A caller with any credential but an API key.
#[derive(Clone, Debug)]
pub struct NotApiKey(SignedIn);

impl Deref for NotApiKey {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

impl FromRequestParts<AppState> for NotApiKey {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        if caller.kind() == CredentialKind::ApiKey {
            return Err(AppError::Forbidden("API keys are for apps, deployments and releases; this needs another credential".into()));
        }
        Ok(Self(caller))
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

impl FromRequestParts<AppState> for LoginSession {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(&caller).ok_or(AppError::Forbidden("this needs a login session, not an access key or an API key".into()))
    }
}

/// A caller that signed in on the dashboard. Keys are refused as by [`LoginSession`], other sessions with a code that says what helps.
#[derive(Clone, Debug)]
pub struct DashboardSession(LoginSession);

impl DashboardSession {
    /// The caller, when the session is the dashboard's; else the refusal. For operations of which only a part needs that.
    pub fn of(caller: &LoginSession) -> AppResult<Self> {
        if caller.kind() == CredentialKind::DashboardSession { Ok(Self(caller.clone())) } else { Err(dashboard_needed()) }
    }
}

impl Deref for DashboardSession {
    type Target = LoginSession;

    fn deref(&self) -> &LoginSession {
        &self.0
    }
}

impl FromRequestParts<AppState> for DashboardSession {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        Self::of(&LoginSession::from_request_parts(parts, app).await?)
    }
}

/// A caller that signed in on the dashboard, where every other credential, keys too, is told that the dashboard helps: making an API key asks for
/// nothing else.
#[derive(Clone, Debug)]
pub struct DashboardSessionAlone(DashboardSession);

impl Deref for DashboardSessionAlone {
    type Target = DashboardSession;

    fn deref(&self) -> &DashboardSession {
        &self.0
    }
}

impl FromRequestParts<AppState> for DashboardSessionAlone {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        if caller.kind() == CredentialKind::DashboardSession {
            DashboardSession::from_request_parts(parts, app).await.map(Self)
        } else {
            Err(dashboard_needed())
        }
    }
}

fn dashboard_needed() -> AppError {
    AppError::Coded(Code::DashboardSessionRequired, "this needs a dashboard session: sign in on the dashboard")
}

/// The right to new credentials and to wider ones. An account without a second factor has it until its time to set one up is over.
#[derive(Clone, Copy, Debug)]
pub struct NewCredentials(PhantomData<()>);

impl NewCredentials {
    /// The right of an account, or the refusal. Operations of which only a part needs it ask here, and so does every one in its transaction, once more:
    /// the time may have run out while the body came.
    pub async fn of(tx: &mut ReadTx, account: &AccountId, app: &App) -> AppResult<Self> {
        if mfa::is_overdue(tx, account, app.now()).await? {
            let text = "the time to set up a second factor is over: set one up on the dashboard first";
            return Err(AppError::Coded(Code::MfaSetupRequired, text));
        }
        Ok(Self(PhantomData))
    }
}

/// Take it after the guard on the credential, whose refusal comes first.
impl FromRequestParts<AppState> for NewCredentials {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(&mut app.db.read().await?, caller.account(), app).await
    }
}

/// A login that is young enough to let a command line in. An account without a second factor may re-authenticate instead.
#[derive(Clone, Copy, Debug)]
pub struct RecentLogin(PhantomData<()>);

impl RecentLogin {
    /// Whether a login of this time is too old. A login is as old as its session.
    fn is_too_old(logged_in: UnixMillis, window: i64, now: UnixMillis) -> bool {
        logged_in.plus_millis(window) < now
    }

    /// Whether this login is young enough, or the refusal. Asked again in the transaction that lets a command line in: a second factor may have come since.
    pub async fn of(tx: &mut ReadTx, caller: &SignedIn, app: &App) -> AppResult<Self> {
        if !mfa::is_enabled(tx, caller.account()).await? {
            return fresh::check(tx, app, caller).await.map(|()| Self(PhantomData));
        }
        if Self::is_too_old(caller.created(), app.config.limits.cli.freshness, app.now()) {
            return Err(AppError::Coded(Code::ReauthRequired, "this login is too old to let a command line in: log in again first"));
        }
        Ok(Self(PhantomData))
    }
}

/// Take it after the guard on the credential and after [`NewCredentials`], whose refusals come first.
impl FromRequestParts<AppState> for RecentLogin {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(&mut app.db.read().await?, &caller, app).await
    }
}

/// A caller that may make apps of its own.
#[derive(Clone, Debug)]
pub struct AppCreator(SignedIn);

impl AppCreator {
    /// As [`SignedIn::begin`]; of an API key's scopes only the one that it takes must still be there.
    pub async fn begin(&self, app: &App) -> AppResult<WriteTx> {
        let mut tx = app.db.write().await?;
        Self::check(self.0.judge(&mut tx, app).await?)?;
        Ok(tx)
    }

    fn check(scopes: Scopes) -> AppResult<()> {
        if scopes.has(Scope::Apps) { Ok(()) } else { Err(AppError::Forbidden("this needs the scope apps".into())) }
    }
}

impl Deref for AppCreator {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

impl FromRequestParts<AppState> for AppCreator {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::check(caller.scopes())?;
        Ok(Self(caller))
    }
}

/// One upload of those that a credential may begin, under way until this is dropped. Take it after the grant, so that callers without the right to upload use up none.
#[derive(Debug)]
pub struct UploadAllowance {
    _place: Place,
}

impl FromRequestParts<AppState> for UploadAllowance {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        let (limits, from, account) = (&app.config.limits, parts.extensions.get().copied(), Some(caller.account()));
        // First, so that one that has to wait for another uses nothing up.
        let refusal = Refusal { limit: "uploads_at_once", text: "too many uploads of this account are under way", from, account };
        let place = app.uploads_under_way.enter(caller.account(), limits.uploads_at_once);
        let place = place.ok_or_else(|| app.refuse(&refusal, UPLOAD_WAIT))?;
        let refusal = Refusal { limit: "uploads", text: "too many uploads are made with this credential", from, account };
        app.count(&app.uploaders, caller.credential().as_str(), limits.uploads, &refusal)?;
        let text = "too many uploads are made with this account's credentials";
        let refusal = Refusal { limit: "account_uploads", text, from, account };
        app.count(&app.uploading_accounts, caller.account().as_str(), limits.account_uploads, &refusal)?;
        Ok(Self { _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_of_an_account_with_a_second_factor_gets_too_old() {
        let (logged_in, window) = (UnixMillis(1_000), 900);
        for (now, is_too_old) in [(1_000, false), (1_900, false), (1_901, true), (i64::MAX, true)] {
            assert_eq!(RecentLogin::is_too_old(logged_in, window, UnixMillis(now)), is_too_old, "{now}");
        }
    }
}
