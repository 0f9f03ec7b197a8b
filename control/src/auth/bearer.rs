//! `Authorization: Bearer`, and nothing else: never a cookie, never a query. And what kind of credential an operation asks for.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::keys::repo::{self, KeyRow};
use super::session;
use super::token::TokenHash;
use crate::app::AppState;
use crate::error::{AppError, AppResult, Code};

/// Last-used times are written at most this often, in milliseconds.
pub const LAST_USED_EVERY: i64 = 5 * 60_000;

/// What a credential is, by how it came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    /// A login on the dashboard, or with an e-mail address and a password.
    DashboardSession,
    /// A command line that was let in through the browser.
    CliBrowser,
    /// A command line that was let in by a device code.
    CliDevice,
    /// A login from before origins were kept: a session, but not one of the dashboard.
    SessionWithoutOrigin,
    /// A named access key.
    NamedKey,
}

impl CredentialKind {
    /// The kind of a stored credential. An origin that this version does not know is not taken for more than a session.
    pub fn of(is_session: bool, origin: Option<&str>) -> Self {
        match (origin, is_session) {
            (Some("dashboard_session"), _) => Self::DashboardSession,
            (Some("cli_browser"), _) => Self::CliBrowser,
            (Some("cli_device"), _) => Self::CliDevice,
            (Some(_), _) | (None, true) => Self::SessionWithoutOrigin,
            (None, false) => Self::NamedKey,
        }
    }

    /// `credentialOrigin` in answers and in the database; none of named keys and of sessions without one.
    pub fn origin(self) -> Option<&'static str> {
        match self {
            Self::DashboardSession => Some("dashboard_session"),
            Self::CliBrowser => Some("cli_browser"),
            Self::CliDevice => Some("cli_device"),
            Self::SessionWithoutOrigin | Self::NamedKey => None,
        }
    }

    /// Whether somebody signed in for it, on the dashboard or for a command line.
    pub fn is_login(self) -> bool {
        self != Self::NamedKey
    }

    /// Whether it is a command line's.
    pub fn is_cli(self) -> bool {
        matches!(self, Self::CliBrowser | Self::CliDevice)
    }
}

/// A caller with a valid credential of any kind.
#[derive(Clone, Debug)]
pub struct SignedIn {
    account: AccountId,
    email: String,
    credential: AccessKeyId,
    kind: CredentialKind,
    friendly_name: String,
    created: UnixMillis,
}

impl SignedIn {
    /// The caller's account.
    pub fn account(&self) -> &AccountId {
        &self.account
    }

    /// The account's e-mail address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The credential that was used.
    pub fn credential(&self) -> &AccessKeyId {
        &self.credential
    }

    /// What kind of credential it is.
    pub fn kind(&self) -> CredentialKind {
        self.kind
    }

    /// The credential's name, unique within the account.
    pub fn friendly_name(&self) -> &str {
        &self.friendly_name
    }

    /// When the credential was made; of a session, when its owner signed in.
    pub fn created(&self) -> UnixMillis {
        self.created
    }
}

impl FromRequestParts<AppState> for SignedIn {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        if let Some(signed_in) = parts.extensions.get::<Self>() {
            return Ok(signed_in.clone());
        }
        let signed_in = sign_in(app, &parts.headers).await?;
        parts.extensions.insert(signed_in.clone());
        Ok(signed_in)
    }
}

/// A caller that signed in, on the dashboard or for a command line. Named access keys are refused.
#[derive(Clone, Debug)]
pub struct LoginSession(SignedIn);

impl Deref for LoginSession {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

impl FromRequestParts<AppState> for LoginSession {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        if caller.kind.is_login() {
            Ok(Self(caller))
        } else {
            Err(AppError::Forbidden("this needs a login session, not an access key".into()))
        }
    }
}

/// A caller that signed in on the dashboard. Named access keys are refused as by [`LoginSession`], other sessions with a code that says what helps.
#[derive(Clone, Debug)]
pub struct DashboardSession(LoginSession);

impl Deref for DashboardSession {
    type Target = SignedIn;

    fn deref(&self) -> &SignedIn {
        &self.0
    }
}

impl FromRequestParts<AppState> for DashboardSession {
    type Rejection = AppError;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> AppResult<Self> {
        let caller = LoginSession::from_request_parts(parts, app).await?;
        if caller.kind == CredentialKind::DashboardSession {
            Ok(Self(caller))
        } else {
            Err(AppError::Coded(Code::DashboardSessionRequired, "this needs a dashboard session: sign in on the dashboard"))
        }
    }
}

async fn sign_in(app: &AppState, headers: &HeaderMap) -> AppResult<SignedIn> {
    let token = bearer(headers).ok_or(AppError::Unauthenticated)?;
    let now = app.now();
    let mut tx = app.db.read().await?;
    let KeyRow { key, email } = repo::find_by_hash(&mut tx, &TokenHash::of(token)).await?.ok_or(AppError::Unauthenticated)?;
    drop(tx);
    if !session::is_alive(&key, &app.config.limits.sessions, now) {
        return Err(AppError::Unauthenticated);
    }
    if key.last_used_time.is_none_or(|last| now.0 - last.0 >= LAST_USED_EVERY) {
        let mut tx = app.db.write().await?;
        repo::touch(&mut tx, &key.id, now).await?;
        tx.commit().await?;
    }
    Ok(SignedIn {
        kind: key.kind(),
        account: key.account_id,
        email,
        credential: key.id,
        friendly_name: key.friendly_name,
        created: key.created_time,
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
