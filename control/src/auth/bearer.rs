//! `Authorization: Bearer`, and nothing else: never a cookie, never a query.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use shared::ids::{AccessKeyId, AccountId};

use super::keys::repo;
use super::token::TokenHash;
use crate::app::AppState;
use crate::error::{AppError, AppResult};

/// Last-used times are written at most this often, in milliseconds.
const LAST_USED_EVERY: i64 = 5 * 60_000;

/// A caller with a valid access key.
#[derive(Clone, Debug)]
pub struct SignedIn {
    account: AccountId,
    email: String,
    credential: AccessKeyId,
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

    /// The access key that was used.
    pub fn credential(&self) -> &AccessKeyId {
        &self.credential
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

async fn sign_in(app: &AppState, headers: &HeaderMap) -> AppResult<SignedIn> {
    let token = bearer(headers).ok_or(AppError::Unauthenticated)?;
    let now = app.now();
    let mut tx = app.db.read().await?;
    let key = repo::find_by_hash(&mut tx, &TokenHash::of(token)).await?.ok_or(AppError::Unauthenticated)?;
    drop(tx);
    if key.expires <= now {
        return Err(AppError::Unauthenticated);
    }
    if key.last_used_time.is_none_or(|last| now.0 - last.0 >= LAST_USED_EVERY) {
        let mut tx = app.db.write().await?;
        repo::touch(&mut tx, &key.id, now).await?;
        tx.commit().await?;
    }
    Ok(SignedIn { account: key.account_id, email: key.email, credential: key.id })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
