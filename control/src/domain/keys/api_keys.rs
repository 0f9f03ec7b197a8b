//! The rules of API keys.

use serde_json::{Value, json};
use shared::ids::{AccountId, ApiKeyId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::domain::access::{DashboardSession, DashboardSessionAlone, LoginSession};
use crate::domain::accounts;
use crate::domain::accounts::service::judge_name;
use crate::domain::audit::{self, Action, ClientAddress, Event};
use crate::domain::context::Context;
use crate::domain::credentials::api_keys::repo::{self, ApiKey, NewApiKeyRow};
use crate::domain::credentials::scope::ScopeSet;
use crate::domain::credentials::session::LAST_EXPIRY;
use crate::domain::credentials::token::{ApiKeyToken, PlainToken};
use crate::domain::error::{AppError, AppResult};
use crate::domain::login::{Fresh, fresh};
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::NewCredentials;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::api::api_keys::{ApiKeyPatch, NewApiKey};
use crate::http::extract::{Member, Nullable};
use crate::infra::db::{ReadTx, WriteTx};

/// Makes an API key, unless the account has as many as it may have, and gives its raw form, the only time it is known.
pub async fn create(
    app: &Context,
    caller: &DashboardSessionAlone,
    right: NewCredentials,
    fresh: Fresh,
    from: ClientAddress,
    new: &NewApiKey,
) -> AppResult<(ApiKey, PlainToken)> {
    create_once(app, caller, (right, fresh), from, new, &new_id(app)?).await
}

/// An id for a key that is to be made.
pub fn new_id(app: &Context) -> AppResult<ApiKeyId> {
    Ok(ApiKeyId::v7(app.now(), app.dice.bytes()?))
}

/// The same with an id that [`new_id`] made for the caller's account before, so that a request that comes twice makes one key. Errors: 409 when the account
/// has a key with this id, and those of [`create`].
pub async fn create_once(
    app: &Context,
    caller: &DashboardSessionAlone,
    _rights: (NewCredentials, Fresh),
    from: ClientAddress,
    new: &NewApiKey,
    id: &ApiKeyId,
) -> AppResult<(ApiKey, PlainToken)> {
    let mut errors = FieldErrors::default();
    let name = errors.take("name", new.name.text().and_then(judge_name));
    let scopes = errors.take("scopes", ScopeSet::of(&new.scopes));
    let expires = errors.take("expires_at", judge_expiry(&new.expires_at, app.now()));
    let proof = errors.take("stepUp", Proof::of(&new.step_up));
    let (Some(name), Some(scopes), Some(expires), Some(_)) = (name, scopes, expires, proof) else { return Err(errors.into()) };
    let token = PlainToken::api_key(&app.dice)?;
    let prefix = ApiKeyToken::parse(token.reveal()).ok_or_else(|| AppError::internal("an API key was made in a wrong form"))?.prefix();
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let now = app.now();
    NewCredentials::of(&mut tx, caller.account(), app).await?;
    if repo::find(&mut tx, caller.account(), id.as_str()).await?.is_some() {
        return Err(AppError::Conflict("this API key was made already".to_owned()));
    }
    admit_one_more(&mut tx, caller.account(), now).await?;
    let row = NewApiKeyRow { id, account: caller.account(), name: &name, prefix, hash: &token.hash(), scopes, expires, created: now };
    repo::insert(&mut tx, &row).await?;
    let made = repo::find(&mut tx, caller.account(), id.as_str()).await?.ok_or(AppError::NotFound("API key"))?;
    tell(&mut tx, app, caller, from, &made, Kind::KeyAdded).await?;
    let event = Event::new(Action::CreateApiKey, &made.id).with(details(&made)?);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok((made, token))
}

/// How a key is to change, beside its name.
#[derive(Clone, Copy)]
struct Reach {
    /// Whether its end is to be another one.
    moves_end: bool,
    /// Whether it is to be able to do more, or for longer (decisions section 4).
    widens: bool,
}

impl Reach {
    fn of(before: &ApiKey, scopes: ScopeSet, expires: Option<UnixMillis>) -> AppResult<Self> {
        let lasts_longer = before.expires_time.is_some_and(|until| expires.is_none_or(|expires| until < expires));
        Ok(Self { moves_end: expires != before.expires_time, widens: lasts_longer || !scopes.is_within(before.scopes()?) })
    }

    /// Refuses what needs the right to new credentials when the account does not have it. Errors: 403 with `mfa_setup_required`.
    async fn check_right(self, tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> AppResult<()> {
        if self.moves_end || self.widens {
            NewCredentials::of(tx, caller.account(), app).await?;
        }
        Ok(())
    }
}

/// The guards of a change, before its members are judged: whether a fresh proof was needed, and there. What is wrong or not there needs none.
async fn prove(app: &Context, caller: &DashboardSession, from: ClientAddress, id: &str, patch: &ApiKeyPatch) -> AppResult<Option<Fresh>> {
    let mut tx = app.db.read().await?;
    let Some(before) = repo::find(&mut tx, caller.account(), id).await? else { return Ok(None) };
    let scopes = if patch.scopes.is_given() { ScopeSet::of(&patch.scopes).ok() } else { None };
    let expires = match &patch.expires_at {
        Nullable::Absent => before.expires_time,
        Nullable::Given(expires) => judge_expiry(expires, app.now()).unwrap_or(before.expires_time),
    };
    let reach = Reach::of(&before, scopes.unwrap_or(before.scopes()?), expires)?;
    reach.check_right(&mut tx, app, caller).await?;
    drop(tx);
    if reach.widens { fresh::prove(app, caller, Proof::of(&patch.step_up).ok().flatten()).await.map(Some) } else { Ok(None) }
}

/// Changes name, scopes and expiry as far as they are given. Errors: 404, 409 when the key is revoked, 403 when it is to reach further or end at another
/// time and the account has no right to that, or the session is not fresh.
pub async fn update(app: &AppState, caller: &DashboardSession, from: ClientAddress, id: &str, patch: &ApiKeyPatch) -> AppResult<ApiKey> {
    let fresh = prove(app, caller, from, id, patch).await?;
    let mut errors = FieldErrors::default();
    let name = errors.take("name", patch.name.optional_text().and_then(|name| name.map(judge_name).transpose()));
    let scopes = if patch.scopes.is_given() { errors.take("scopes", ScopeSet::of(&patch.scopes).map(Some)) } else { Some(None) };
    let expires = match &patch.expires_at {
        Nullable::Absent => Some(None),
        Nullable::Given(expires) => errors.take("expires_at", judge_expiry(expires, app.now()).map(Some)),
    };
    let proof = errors.take("stepUp", Proof::of(&patch.step_up));
    let (Some(name), Some(scopes), Some(expires), Some(_)) = (name, scopes, expires, proof) else { return Err(errors.into()) };
    if name.is_none() && scopes.is_none() && expires.is_none() {
        return Err(AppError::Invalid(FieldErrors::of_request("at least one of name, scopes and expires_at is needed")));
    }
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let now = app.now();
    let before = repo::find(&mut tx, caller.account(), id).await?.ok_or(AppError::NotFound("API key"))?;
    if before.revoked_time.is_some() {
        return Err(AppError::Conflict("the API key is revoked".to_owned()));
    }
    let (name, scopes) = (name.as_deref().unwrap_or(&before.name), scopes.unwrap_or(before.scopes()?));
    let expires = expires.unwrap_or(before.expires_time);
    let reach = Reach::of(&before, scopes, expires)?;
    reach.check_right(&mut tx, app, caller).await?;
    if reach.widens && fresh.is_none() {
        // The key was narrowed at the same moment.
        fresh::check(&mut tx, app, caller).await?;
    }
    if !before.is_alive(now) && expires.is_none_or(|expires| now < expires) {
        admit_one_more(&mut tx, caller.account(), now).await?;
    }
    repo::update(&mut tx, &before.id, name, scopes, expires, now).await?;
    let after = repo::find(&mut tx, caller.account(), id).await?.ok_or(AppError::NotFound("API key"))?;
    let (scopes, before) = (after.scopes()?.names(), details(&before)?);
    let changed = json!({ "name": after.name, "scopes": scopes, "expires": after.expires_time, "before": before });
    let event = Event::new(Action::UpdateApiKey, &after.id).with(changed);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    Ok(after)
}

/// Revokes a key; once more changes nothing.
pub async fn revoke(app: &Context, caller: &LoginSession, from: ClientAddress, id: &str) -> AppResult<()> {
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let now = app.now();
    let key = repo::find(&mut tx, caller.account(), id).await?.ok_or(AppError::NotFound("API key"))?;
    if repo::revoke(&mut tx, &key.id, now).await? > 0 {
        tell(&mut tx, app, caller, from, &key, Kind::KeyRemoved).await?;
        let event = Event::new(Action::RevokeApiKey, &key.id).with(details(&key)?);
        audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
        tx.commit().await?;
        app.mailer.wake();
    }
    Ok(())
}

/// Refuses when the account has as many keys as it may have. Holds the account's row, so that of many at once no more than that get through.
async fn admit_one_more(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> AppResult<()> {
    let most = accounts::repo::hold(tx, account).await?.ok_or(AppError::Unauthenticated)?;
    if repo::count_alive(tx, account, now).await? >= most {
        return Err(AppError::QuotaReached("the account has as many API keys as it may have: revoke one first"));
    }
    Ok(())
}

/// What the audit trail says of a key.
fn details(key: &ApiKey) -> AppResult<Value> {
    Ok(json!({ "name": key.name, "scopes": key.scopes()?.names(), "expires": key.expires_time }))
}

async fn tell(
    tx: &mut WriteTx,
    app: &Context,
    owner: &LoginSession,
    from: ClientAddress,
    key: &ApiKey,
    kind: fn(KeyNotice) -> Kind,
) -> AppResult<()> {
    let notice = KeyNotice { time: app.now(), address: from.0.to_string(), key: Key::Api, name: key.name.clone() };
    notices::put(tx, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}

/// A time to come, or none.
fn judge_expiry(member: &Member, now: UnixMillis) -> Result<Option<UnixMillis>, Invalid> {
    let Some(text) = member.optional_text()? else { return Ok(None) };
    let wrong = || Invalid::from("must be a time such as 2026-01-31T09:30:00.000Z, or null");
    // The parser takes anything between date and time.
    if !matches!(text.as_bytes().get("2026-01-31".len()), Some(b'T' | b't')) {
        return Err(wrong());
    }
    let time = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| wrong())?;
    let millis = i64::try_from(time.unix_timestamp_nanos().div_euclid(1_000_000)).map_err(|_| wrong())?;
    match millis {
        millis if millis <= now.0 => Err(Invalid::from("must be in the future")),
        millis if millis > LAST_EXPIRY => Err(Invalid::from("must be before the year 10000 in UTC")),
        millis => Ok(Some(UnixMillis(millis))),
    }
}
