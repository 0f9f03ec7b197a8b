//! Extractors for callers and their permissions. Only [`crate::domain::access`] can create the values.
//!
//! Credentials come only from `Authorization: Bearer`, never from a cookie or a query parameter.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::path::parameter;
use crate::domain::access::bearer::by_bearer;
use crate::domain::access::grant::AppReference;
use crate::domain::access::{AppCreator, AppGrant, DashboardSession, DashboardSessionOnly, LoginSession, NotApiKey, Permission, SignedIn};
use crate::domain::audit::ClientAddress;
use crate::domain::error::{Error, Result};
use crate::domain::login::RecentLogin;
use crate::domain::releases::{ImportAllowance, UploadAllowance};
use crate::domain::second_factors::NewCredentials;
use crate::http::AppState;

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl FromRequestParts<AppState> for SignedIn {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        if let Some(signed_in) = parts.extensions.get::<Self>() {
            return Ok(signed_in.clone());
        }
        let from = ClientAddress::from_request_parts(parts, app).await?;
        let signed_in = by_bearer(app, bearer(&parts.headers), from).await?;
        parts.extensions.insert(signed_in.clone());
        Ok(signed_in)
    }
}

impl FromRequestParts<AppState> for NotApiKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Self::of(SignedIn::from_request_parts(parts, app).await?)
    }
}

impl FromRequestParts<AppState> for LoginSession {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Self::require(&SignedIn::from_request_parts(parts, app).await?)
    }
}

impl FromRequestParts<AppState> for DashboardSession {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Self::of(&LoginSession::from_request_parts(parts, app).await?)
    }
}

impl FromRequestParts<AppState> for DashboardSessionOnly {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Self::of(&SignedIn::from_request_parts(parts, app).await?)
    }
}

impl FromRequestParts<AppState> for AppCreator {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        Self::of(SignedIn::from_request_parts(parts, app).await?)
    }
}

impl<N: Permission> FromRequestParts<AppState> for AppGrant<N> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        // Pages that emails link to use the app's id.
        let named = match parameter(parts, app, "app_id").await {
            Ok(id) => AppReference::Id(id),
            Err(_) => AppReference::Name(parameter(parts, app, "app").await?),
        };
        Self::of(app, caller, named).await
    }
}

/// Extract it after the credential's guard, whose refusal comes first.
impl FromRequestParts<AppState> for NewCredentials {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(&mut app.db.read().await?, caller.account(), app).await
    }
}

/// Extract it after the credential's guard and [`NewCredentials`], whose refusals come first.
impl FromRequestParts<AppState> for RecentLogin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(&mut app.db.read().await?, &caller, app).await
    }
}

/// Extract it after the credential's guard, whose refusal comes first.
impl FromRequestParts<AppState> for ImportAllowance {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(app, &caller)
    }
}

/// Extract it after the grant, so that callers without permission to upload do not use up the allowance.
impl FromRequestParts<AppState> for UploadAllowance {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self> {
        let caller = SignedIn::from_request_parts(parts, app).await?;
        Self::of(app, &caller)
    }
}
