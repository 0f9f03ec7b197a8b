//! The rules of API keys.

use std::borrow::Cow;

use serde_json::{Value, json};
use shared::ids::{AccountId, ApiKeyId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, DashboardSessionAlone, LoginSession};
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
use crate::domain::login::{Fresh, fresh};
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::infra::db::{ReadTx, WriteTx};

/// An API key to be made.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// Its name, which [`judge_name`] gave.
    pub name: String,
    /// What it may be used for.
    pub scopes: ScopeSet,
    /// When it ends.
    pub end: End,
}

/// What is to change of an API key; what is `None` stays.
#[derive(Clone, Debug)]
pub struct ApiKeyPatch {
    /// Its name, which [`judge_name`] gave.
    pub name: Option<String>,
    /// What it may be used for.
    pub scopes: Option<ScopeSet>,
    /// When it ends.
    pub end: Option<End>,
}

/// When an API key is to end.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Never.
    Never,
    /// At this time, which [`End::judge`] let pass.
    At(UnixMillis),
}

impl End {
    /// The same, unless a key cannot end then.
    pub fn judge(self, now: UnixMillis) -> Result<Self, Invalid> {
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

/// A name as it is stored.
pub fn judge_name(name: &str) -> Result<String, Invalid> {
    accounts::service::judge_name(name).map(Cow::into_owned)
}

/// Makes an API key, unless the account has as many as it may have, and gives its raw form, the only time it is known.
pub async fn create(
    app: &Context,
    caller: &DashboardSessionAlone,
    right: NewCredentials,
    fresh: Fresh,
    new: &NewApiKey,
) -> Result<(ApiKey, PlainToken)> {
    create_once(app, caller, (right, fresh), new, &new_id(app)?).await
}

/// An id for a key that is to be made.
pub fn new_id(app: &Context) -> Result<ApiKeyId> {
    Ok(ApiKeyId::v7(app.now(), app.dice.bytes()?))
}

/// The same with an id that [`new_id`] made for the caller's account before, so that a request that comes twice makes one key. Errors: 409 when the account
/// has a key with this id, and those of [`create`].
pub async fn create_once(
    app: &Context,
    caller: &DashboardSessionAlone,
    _rights: (NewCredentials, Fresh),
    new: &NewApiKey,
    id: &ApiKeyId,
) -> Result<(ApiKey, PlainToken)> {
    let token = PlainToken::api_key(&app.dice)?;
    let prefix = ApiKeyToken::parse(token.reveal()).ok_or_else(|| Error::internal("an API key was made in a wrong form"))?.prefix();
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, account, created) = (&mut change, caller.account(), app.now());
    NewCredentials::of(tx, account, app).await?;
    if repo::find(tx, account, id.as_str()).await?.is_some() {
        return Err(Error::Conflict(Conflict::ApiKeyMade));
    }
    admit_one_more(tx, account, created).await?;
    let (scopes, expires) = (new.scopes, new.end.time());
    let row = NewApiKeyRow { id, account, name: &new.name, prefix, hash: &token.hash(), scopes, expires, created };
    repo::insert(tx, &row).await?;
    let made = repo::find(tx, account, id.as_str()).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    tell(tx, caller, &made, Kind::KeyAdded).await?;
    change.commit(Event::new(Action::CreateApiKey, &made.id).with(details(&made)?)).await?;
    Ok((made, token))
}

/// How a key is to change, beside its name.
#[derive(Clone, Copy)]
struct Reach {
    /// Whether its end is to be another one.
    moves_end: bool,
    /// Whether it is to be able to do more, or for longer.
    widens: bool,
}

impl Reach {
    fn of(before: &ApiKey, scopes: ScopeSet, expires: Option<UnixMillis>) -> Result<Self> {
        let lasts_longer = before.expires_time.is_some_and(|until| expires.is_none_or(|expires| until < expires));
        Ok(Self { moves_end: expires != before.expires_time, widens: lasts_longer || !scopes.is_within(before.scopes()?) })
    }

    /// Refuses what needs the right to new credentials when the account does not have it. Errors: 403 with `mfa_setup_required`.
    async fn check_right(self, tx: &mut ReadTx, app: &Context, caller: &DashboardSession) -> Result<()> {
        if self.moves_end || self.widens {
            NewCredentials::of(tx, caller.account(), app).await?;
        }
        Ok(())
    }
}

/// The guards of a change, as far as its members are right, before what is wrong with them is told: whether a fresh proof was needed, and there. What is
/// not there needs none. Errors: 403 with the code that says what would help; 429.
pub async fn prove(
    app: &Context,
    caller: &DashboardSession,
    id: &str,
    scopes: &Result<Option<ScopeSet>, Invalid>,
    end: &Result<Option<End>, Invalid>,
    proof: Option<Proof>,
) -> Result<Option<Fresh>> {
    let mut tx = app.db.read().await?;
    let Some(before) = repo::find(&mut tx, caller.account(), id).await? else { return Ok(None) };
    let scopes = scopes.as_ref().ok().copied().flatten().unwrap_or(before.scopes()?);
    let expires = end.as_ref().ok().copied().flatten().map_or(before.expires_time, End::time);
    let reach = Reach::of(&before, scopes, expires)?;
    reach.check_right(&mut tx, app, caller).await?;
    drop(tx);
    if reach.widens { fresh::prove(app, caller, proof).await.map(Some) } else { Ok(None) }
}

/// Changes name, scopes and expiry as far as they are given; to reach further takes what [`prove`] gives. Errors: 400 when none is, 404, 409 when
/// the key is revoked, 403 when it is to reach further or end at another time and the account has no right to that, or the session is not fresh.
pub async fn update(app: &Context, caller: &DashboardSession, fresh: Option<Fresh>, id: &str, patch: &ApiKeyPatch) -> Result<ApiKey> {
    if patch.name.is_none() && patch.scopes.is_none() && patch.end.is_none() {
        return Err(Error::Invalid(FieldErrors::of_request("at least one of name, scopes and expires_at is needed")));
    }
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now) = (&mut change, app.now());
    let before = repo::find(tx, caller.account(), id).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    if before.revoked_time.is_some() {
        return Err(Error::Conflict(Conflict::ApiKeyRevoked));
    }
    let (name, scopes) = (patch.name.as_deref().unwrap_or(&before.name), patch.scopes.unwrap_or(before.scopes()?));
    let expires = patch.end.map_or(before.expires_time, End::time);
    let reach = Reach::of(&before, scopes, expires)?;
    reach.check_right(tx, app, caller).await?;
    if reach.widens && fresh.is_none() {
        // The key was narrowed at the same moment.
        fresh::check(tx, app, caller).await?;
    }
    if !before.is_alive(now) && expires.is_none_or(|expires| now < expires) {
        admit_one_more(tx, caller.account(), now).await?;
    }
    repo::update(tx, &before.id, name, scopes, expires, now).await?;
    let after = repo::find(tx, caller.account(), id).await?.ok_or(Error::NotFound(Thing::ApiKey))?;
    let (scopes, before) = (after.scopes()?.names(), details(&before)?);
    let changed = json!({ "name": after.name, "scopes": scopes, "expires": after.expires_time, "before": before });
    change.commit(Event::new(Action::UpdateApiKey, &after.id).with(changed)).await?;
    Ok(after)
}

/// Revokes a key; once more changes nothing.
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

/// Refuses when the account has as many keys as it may have. Holds the account's row, so that of many at once no more than that get through.
async fn admit_one_more(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> Result<()> {
    let most = accounts::repo::hold(tx, account).await?.ok_or(Error::Unauthenticated)?;
    if repo::count_alive(tx, account, now).await? >= most {
        return Err(Error::Quota(Quota::ApiKeys));
    }
    Ok(())
}

/// What the audit trail says of a key.
fn details(key: &ApiKey) -> Result<Value> {
    Ok(json!({ "name": key.name, "scopes": key.scopes()?.names(), "expires": key.expires_time }))
}

async fn tell(change: &mut Change<'_>, owner: &LoginSession, key: &ApiKey, kind: fn(KeyNotice) -> Kind) -> Result<()> {
    let app = change.context();
    let notice = KeyNotice { time: app.now(), address: owner.from().0.to_string(), key: Key::Api, name: key.name.clone() };
    notices::put(change, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}
