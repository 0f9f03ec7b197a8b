//! The rules of access keys.

use std::borrow::Cow;

use serde_json::json;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, LoginSession, NotApiKey, SignedIn};
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::change::Change;
use crate::domain::cli_login::notice;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::{self, Credential, NewKeyRow};
use crate::domain::credentials::session::{self, Device, LAST_EXPIRY};
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::login::{Fresh, fresh};
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// The lifetime of a key that names none: 60 days, in milliseconds.
pub const DEFAULT_TTL: i64 = 60 * 86_400_000;

/// An access key to be made.
#[derive(Clone, Debug)]
pub struct NewAccessKey {
    /// Its name, which [`judge_friendly_name`] gave.
    pub friendly_name: String,
    /// How long it is valid, in milliseconds, which [`judge_ttl`] let pass.
    pub ttl: i64,
}

/// What is to change of a credential; what is `None` stays.
#[derive(Clone, Debug)]
pub struct AccessKeyPatch {
    /// Its name, which [`judge_friendly_name`] gave.
    pub friendly_name: Option<String>,
    /// How long it is valid from now on, in milliseconds, which [`judge_ttl`] let pass.
    pub ttl: Option<i64>,
}

/// A name as it is stored. It can stand in a path: clients resolve `.` and `..` before they send one.
pub fn judge_friendly_name(name: &str) -> Result<String, Invalid> {
    let name = shared::text::name(name, 255).map(Cow::into_owned)?;
    if matches!(name.as_str(), "." | "..") { Err(Invalid::from("must not be . or ..")) } else { Ok(name) }
}

/// A lifetime that a key can have, in milliseconds.
pub fn judge_ttl(ttl: i64) -> Result<i64, Invalid> {
    if ttl >= 1 { Ok(ttl) } else { Err(Invalid::from("must be at least 1 ms")) }
}

fn end(ttl: i64, now: UnixMillis) -> UnixMillis {
    UnixMillis(now.plus_millis(ttl).0.min(LAST_EXPIRY))
}

/// Makes a named access key and gives its raw form, the only time it is known. What comes after it must write the audit trail's row: the operator's
/// command goes by [`create_by_operator`], requests by [`add`].
pub async fn create(
    tx: &mut WriteTx,
    account: &AccountId,
    friendly_name: &str,
    created_by: &str,
    ttl: i64,
    dice: &Dice,
    now: UnixMillis,
) -> Result<PlainToken> {
    let mut errors = FieldErrors::default();
    let name = errors.take("friendlyName", judge_friendly_name(friendly_name));
    let (Some(friendly_name), Some(ttl)) = (name, errors.take("ttl", judge_ttl(ttl))) else { return Err(errors.into()) };
    let token = PlainToken::named_key(dice)?;
    let id = AccessKeyId::v7(now, dice.bytes()?);
    let row = NewKeyRow {
        id: &id,
        account,
        hash: &token.hash(),
        friendly_name: &friendly_name,
        created_by,
        created: now,
        expires: end(ttl, now),
        kind: CredentialKind::NamedKey,
        device: &Device::default(),
    };
    repo::insert(tx, &row).await.or_conflict(|| taken(&friendly_name))?;
    Ok(token)
}

/// [`create`] for the operator, who needs no e-mail to know of it; in the transaction's last statements.
pub async fn create_by_operator(
    tx: &mut WriteTx,
    account: &AccountId,
    friendly_name: &str,
    ttl: i64,
    dice: &Dice,
    now: UnixMillis,
) -> Result<PlainToken> {
    let token = create(tx, account, friendly_name, "127.0.0.1", ttl, dice, now).await?;
    let key = repo::find_by_name(tx, account, friendly_name).await?.ok_or(Error::NotFound(Thing::AccessKey))?;
    let event = Event::new(Action::CreateAccessKey, &key.id).with(json!({ "friendlyName": friendly_name, "expires": key.expires }));
    audit::note(tx, &Actor::operator(), event, dice, now).await?;
    Ok(token)
}

fn taken(friendly_name: &str) -> Conflict {
    Conflict::AccessKeyName(friendly_name.to_owned())
}

/// Makes a named access key for a caller and tells the owner.
pub async fn add(
    app: &Context,
    caller: &DashboardSession,
    _right: NewCredentials,
    _fresh: Fresh,
    NewAccessKey { friendly_name, ttl }: &NewAccessKey,
) -> Result<(Credential, PlainToken)> {
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now, from) = (&mut change, app.now(), caller.from().0.to_string());
    NewCredentials::of(tx, caller.account(), app).await?;
    app.settings.limits.quotas.check_access_keys(tx, caller.account()).await?;
    let token = create(tx, caller.account(), friendly_name, &from, *ttl, &app.dice, now).await?;
    let key = repo::find_by_name(tx, caller.account(), friendly_name).await?.ok_or(Error::NotFound(Thing::AccessKey))?;
    tell(tx, caller, friendly_name, Kind::KeyAdded).await?;
    let details = json!({ "friendlyName": friendly_name, "expires": key.expires });
    change.commit(Event::new(Action::CreateAccessKey, &key.id).with(details)).await?;
    Ok((key, token))
}

/// What the caller may see of its account's credentials: a login also sees sessions that have not ended, a key only named keys.
pub async fn list(tx: &mut ReadTx, app: &Context, caller: &NotApiKey) -> Result<Vec<Credential>> {
    let found = repo::list(tx, caller.account()).await?;
    Ok(found.into_iter().filter(|key| is_seen_by(key, caller.kind(), app)).collect())
}

fn is_seen_by(key: &Credential, caller: CredentialKind, app: &Context) -> bool {
    // A named key that has expired still holds its name; a session that has ended is only waiting to be forgotten.
    !key.kind().is_login() || (caller.is_login() && session::is_alive(key, &app.settings.limits.sessions, app.now()))
}

/// The caller's credential of this name, or 404.
pub async fn find(tx: &mut ReadTx, app: &Context, caller: &LoginSession, friendly_name: &str) -> Result<Credential> {
    find_seen(tx, app, caller.account(), caller.kind(), friendly_name).await
}

async fn find_seen(tx: &mut ReadTx, app: &Context, account: &AccountId, caller: CredentialKind, friendly_name: &str) -> Result<Credential> {
    let found = repo::find_by_name(tx, account, friendly_name).await?;
    found.filter(|key| is_seen_by(key, caller, app)).ok_or(Error::NotFound(Thing::AccessKey))
}

/// The guards of a new lifetime, as far as it can be read, before the other members are judged: whether a fresh proof was needed, and there. Errors: 403
/// with the code that says what would help; 429.
pub async fn prove(
    app: &Context,
    caller: &LoginSession,
    friendly_name: &str,
    ttl: &Result<Option<i64>, Invalid>,
    proof: Option<Proof>,
) -> Result<Option<Fresh>> {
    if matches!(ttl, Ok(None)) {
        return Ok(None);
    }
    DashboardSession::of(caller)?;
    let mut tx = app.db.read().await?;
    NewCredentials::of(&mut tx, caller.account(), app).await?;
    let Ok(Some(ttl)) = ttl else { return Ok(None) };
    // What cannot be changed so is refused elsewhere.
    let lasts_longer = match find(&mut tx, app, caller, friendly_name).await {
        Ok(key) => !key.kind().is_login() && key.expires < end(*ttl, app.now()),
        Err(Error::NotFound(_)) => false,
        Err(error) => return Err(error),
    };
    drop(tx);
    if lasts_longer { fresh::prove(app, caller, proof).await.map(Some) } else { Ok(None) }
}

/// Renames a credential, or gives a named key a new lifetime from now on, which is the dashboard's to do and like a new credential. One that ends later
/// needs what [`prove`] gives. Errors: 404, 409; 403 with the code that says what would help.
pub async fn update(
    app: &Context,
    caller: &LoginSession,
    fresh: Option<Fresh>,
    friendly_name: &str,
    patch: &AccessKeyPatch,
) -> Result<Credential> {
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now, name) = (&mut change, app.now(), patch.friendly_name.as_deref());
    if patch.ttl.is_some() {
        DashboardSession::of(caller)?;
        NewCredentials::of(tx, caller.account(), app).await?;
    }
    let before = find(tx, app, caller, friendly_name).await?;
    if patch.ttl.is_some() && before.kind().is_login() {
        return Err(Error::Conflict(Conflict::IsSession));
    }
    let expires = patch.ttl.map(|ttl| end(ttl, now));
    if fresh.is_none() && expires.is_some_and(|expires| before.expires < expires) {
        // The key's end has moved at the same moment.
        fresh::check(tx, app, caller).await?;
    }
    if repo::update(tx, &before.id, name, expires).await.or_conflict(|| taken(name.unwrap_or(friendly_name)))? == 0 {
        return Err(Error::NotFound(Thing::AccessKey));
    }
    let key = repo::find(tx, caller.account(), &before.id).await?.ok_or(Error::NotFound(Thing::AccessKey))?;
    let before = json!({ "friendlyName": before.friendly_name, "expires": before.expires });
    let details = json!({ "friendlyName": key.friendly_name, "expires": key.expires, "before": before });
    change.commit(Event::new(Action::UpdateAccessKey, &key.id).with(details)).await?;
    Ok(key)
}

/// Ends a credential. The owner is told of a named key, and of a command line's.
pub async fn remove(app: &Context, caller: &NotApiKey, friendly_name: &str) -> Result<()> {
    let mut change = caller.begin_holding_account(app).await?;
    let tx = &mut change;
    let key = find_seen(tx, app, caller.account(), caller.kind(), friendly_name).await?;
    if repo::delete(tx, caller.account(), &key.id).await? == 0 {
        return Err(Error::NotFound(Thing::AccessKey));
    }
    if key.kind() == CredentialKind::NamedKey {
        tell(tx, caller, friendly_name, Kind::KeyRemoved).await?;
    }
    notice::put_removed(tx, caller, &[&key]).await?;
    let action = if key.kind().is_login() { Action::EndSession } else { Action::DeleteAccessKey };
    change.commit(Event::new(action, &key.id).with(json!({ "friendlyName": friendly_name }))).await
}

async fn tell(change: &mut Change<'_>, owner: &SignedIn, name: &str, kind: fn(KeyNotice) -> Kind) -> Result<()> {
    let app = change.context();
    let notice = KeyNotice { time: app.now(), address: owner.from().0.to_string(), key: Key::Access, name: name.to_owned() };
    notices::put(change, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}
