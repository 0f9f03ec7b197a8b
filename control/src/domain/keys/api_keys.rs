//! The rules of API keys.

use std::borrow::Cow;

use serde_json::{Value, json};
use shared::ids::{AccountId, ApiKeyId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, DashboardSessionOnly, LoginSession};
use crate::domain::accounts;
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::api_keys::repo::{self, ApiKey, NewApiKeyRow};
use crate::domain::credentials::scope::ScopeSet;
use crate::domain::credentials::session::LAST_EXPIRY;
use crate::domain::credentials::token::{ApiKeyToken, PlainToken};
use crate::domain::error::{Error, Quota, Result, Thing};
use crate::domain::login::fresh;
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::infra::db::{ReadTx, WriteTx};

/// An API key to create.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// Its name, as returned by [`validate_name`].
    pub name: String,
    /// Its scopes.
    pub scopes: ScopeSet,
    /// Its expiry.
    pub end: End,
    /// The id that [`new_id`] generated for the caller's account, so that a repeated request creates only one key. Without it, the key gets a new id.
    pub id: Option<ApiKeyId>,
}

/// Changes to an API key; `None` keeps the current value. Each part is validated separately: the rights for an update are checked before the errors are
/// reported.
pub struct ApiKeyPatch {
    /// Its name, as returned by [`validate_name`].
    pub name: Result<Option<String>, Invalid>,
    /// Its scopes.
    pub scopes: Result<Option<ScopeSet>, Invalid>,
    /// Its expiry.
    pub end: Result<Option<End>, Invalid>,
    /// A second-factor proof; required if the key would allow more and the session is not fresh.
    pub proof: Result<Option<Proof>, Invalid>,
}

/// When an API key expires.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Never.
    Never,
    /// At this time, which [`End::validate`] has checked.
    At(UnixMillis),
}

impl End {
    /// Returns it unchanged if it is a valid expiry.
    pub fn validate(self, now: UnixMillis) -> Result<Self, Invalid> {
        match self {
            Self::At(time) if time <= now => Err(Invalid::from("must be in the future")),
            Self::At(UnixMillis(millis)) if millis > LAST_EXPIRY => Err(Invalid::from("must be before the year 10000 in UTC")),
            _ => Ok(self),
        }
    }

    fn time(self) -> Option<UnixMillis> {
        match self {
            Self::Never => None,
            Self::At(time) => Some(time),
        }
    }
}

/// Validates a name and returns its stored form.
pub fn validate_name(name: &str) -> Result<String, Invalid> {
    accounts::service::validate_name(name).map(Cow::into_owned)
}

/// A new ID for a key.
pub fn new_id(app: &Context) -> Result<ApiKeyId> {
    Ok(ApiKeyId::v7(app.now(), app.entropy.bytes()?))
}

/// Creates an API key if the account's limit allows it. Returns the plain key, which cannot be recovered later. A session that is not fresh needs the proof,
/// which is checked before errors in the key are reported. Errors: 403 with `reauth_required`; 400; 409 when the account has a key with this id; 429.
pub async fn create(
    app: &Context,
    caller: &DashboardSessionOnly,
    _right: NewCredentials,
    new: Result<NewApiKey>,
    proof: Option<&Proof>,
) -> Result<(ApiKey, PlainToken)> {
    fresh::prove(app, caller, proof).await?;
    let new = new?;
    let id = &new.id.map_or_else(|| new_id(app), Ok)?;
    let token = PlainToken::api_key(&app.entropy)?;
    let prefix = ApiKeyToken::parse(token.reveal()).ok_or_else(|| Error::internal("a new API key has an invalid format"))?.prefix();
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, account, created) = (&mut change, caller.account(), app.now());
    NewCredentials::of(tx, account, app).await?;
    if repo::find(tx, account, id.as_str()).await?.is_some() {
        return Err(Error::Conflict(Conflict::ApiKeyMade));
    }
    check_quota(tx, account, created).await?;
    let (scopes, expires) = (new.scopes, new.end.time());
    let row = NewApiKeyRow { id, account, name: &new.name, prefix, hash: &token.hash(), scopes, expires, created };
    repo::insert(tx, &row).await?;
    let stored = repo::find(tx, account, id.as_str()).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    tell(tx, caller, &stored, Kind::KeyAdded).await?;
    change.commit(Event::new(Action::CreateApiKey, &stored.id).with(details(&stored)?)).await?;
    Ok((stored, token))
}

/// How an update changes what a key allows.
#[derive(Clone, Copy)]
struct AccessChange {
    /// Whether its expiry changes.
    changes_expiry: bool,
    /// Whether it will allow more, or expire later.
    extends: bool,
}

impl AccessChange {
    fn of(before: &ApiKey, scopes: ScopeSet, expires: Option<UnixMillis>) -> Result<Self> {
        let lasts_longer = before.expires_time.is_some_and(|until| expires.is_none_or(|expires| until < expires));
        Ok(Self { changes_expiry: expires != before.expires_time, extends: lasts_longer || !scopes.is_within(before.scopes()?) })
    }

    /// Requires the right to create credentials, if the update needs it. Errors: 403 with `mfa_setup_required`.
    async fn check_right(self, tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> Result<()> {
        if self.changes_expiry || self.extends {
            NewCredentials::of(tx, caller.account(), app).await?;
        }
        Ok(())
    }
}

/// Checks the rights for an update, as far as its members can be parsed, before their errors are returned. Requires a fresh proof if the key would allow
/// more, and returns whether it did. A missing key needs none. Errors: 403 with the code that says what to do; 429.
async fn prove(app: &Context, caller: &DashboardSession, id: &str, patch: &ApiKeyPatch) -> Result<bool> {
    let mut tx = app.db.read().await?;
    let Some(before) = repo::find(&mut tx, caller.account(), id).await? else { return Ok(false) };
    let scopes = patch.scopes.as_ref().ok().copied().flatten().unwrap_or(before.scopes()?);
    let expires = patch.end.as_ref().ok().copied().flatten().map_or(before.expires_time, End::time);
    let change_of_access = AccessChange::of(&before, scopes, expires)?;
    change_of_access.check_right(&mut tx, app, caller).await?;
    drop(tx);
    if change_of_access.extends {
        fresh::prove(app, caller, Proof::parsed(&patch.proof)).await?;
    }
    Ok(change_of_access.extends)
}

/// Updates name, scopes and expiry. Errors: 403 with the code that says what to do when the key is extended or its expiry changed and the account lacks the
/// right, or the session is not fresh; 400, also when no member is given; 404; 409 when the key is revoked; 429.
pub async fn update(app: &Context, caller: &DashboardSession, id: &str, patch: ApiKeyPatch) -> Result<ApiKey> {
    let is_proven = prove(app, caller, id, &patch).await?;
    let mut errors = FieldErrors::default();
    let (name, scopes) = (errors.take("name", patch.name), errors.take("scopes", patch.scopes));
    let (end, proof) = (errors.take("expires_at", patch.end), errors.take("stepUp", patch.proof));
    let (Some(name), Some(scopes), Some(end), Some(_)) = (name, scopes, end, proof) else { return Err(errors.into()) };
    if name.is_none() && scopes.is_none() && end.is_none() {
        return Err(Error::Invalid(FieldErrors::of_request("at least one of name, scopes and expires_at is required")));
    }
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now) = (&mut change, app.now());
    let before = repo::find(tx, caller.account(), id).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    if before.revoked_time.is_some() {
        return Err(Error::Conflict(Conflict::ApiKeyRevoked));
    }
    let (name, scopes) = (name.as_deref().unwrap_or(&before.name), scopes.unwrap_or(before.scopes()?));
    let expires = end.map_or(before.expires_time, End::time);
    let change_of_access = AccessChange::of(&before, scopes, expires)?;
    change_of_access.check_right(tx, app, caller).await?;
    if change_of_access.extends && !is_proven {
        // A concurrent request restricted the key.
        fresh::check(tx, app, caller).await?;
    }
    if !before.is_alive(now) && expires.is_none_or(|expires| now < expires) {
        check_quota(tx, caller.account(), now).await?;
    }
    repo::update(tx, &before.id, name, scopes, expires, now).await?;
    let after = repo::find(tx, caller.account(), id).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    let (scopes, before) = (after.scopes()?.names(), details(&before)?);
    let changed = json!({ "name": after.name, "scopes": scopes, "expires": after.expires_time, "before": before });
    change.commit(Event::new(Action::UpdateApiKey, &after.id).with(changed)).await?;
    Ok(after)
}

/// Revokes a key; revoking it again changes nothing.
pub async fn revoke(app: &Context, caller: &LoginSession, id: &str) -> Result<()> {
    let mut change = caller.begin_holding_account(app).await?;
    let tx = &mut change;
    let key = repo::find(tx, caller.account(), id).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    if repo::revoke(tx, &key.id, app.now()).await? == 0 {
        return Ok(());
    }
    tell(tx, caller, &key, Kind::KeyRemoved).await?;
    change.commit(Event::new(Action::RevokeApiKey, &key.id).with(details(&key)?)).await
}

/// Checks the limit of keys per account. Locks the account's row, so that concurrent requests cannot exceed it.
async fn check_quota(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> Result<()> {
    let max = accounts::repo::hold(tx, account).await?.ok_or(Error::Unauthenticated)?.max_api_keys;
    if repo::count_alive(tx, account, now).await? >= max {
        return Err(Error::Quota(Quota::ApiKeys));
    }
    Ok(())
}

/// The audit details of a key.
fn details(key: &ApiKey) -> Result<Value> {
    Ok(json!({ "name": key.name, "scopes": key.scopes()?.names(), "expires": key.expires_time }))
}

async fn tell(change: &mut Change<'_>, owner: &LoginSession, key: &ApiKey, kind: fn(KeyNotice) -> Kind) -> Result<()> {
    let app = change.context();
    let notice = KeyNotice { time: app.now(), address: owner.from().0.to_string(), key: Key::Api, name: key.name.clone() };
    notices::enqueue(change, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}
