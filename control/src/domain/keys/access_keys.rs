//! The rules of access keys.

use std::borrow::Cow;

use serde_json::json;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, LoginSession, NotApiKey, SignedIn};
use crate::domain::audit::{self, Action, Actor, ClientAddress, Event};
use crate::domain::cli_login::notice;
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::{self, Credential, NewKeyRow};
use crate::domain::credentials::session::{self, Device, LAST_EXPIRY};
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{AppError, AppResult, OrConflict};
use crate::domain::login::{Fresh, fresh};
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::NewCredentials;
use crate::domain::second_factors::Proof;
use crate::http::AppState;
use crate::http::api::access_keys::{AccessKeyPatch, NewAccessKey};
use crate::http::extract::Member;
use crate::infra::clock::Dice;
use crate::infra::db::{ReadTx, WriteTx};

/// The lifetime of a key that names none: 60 days, in milliseconds.
pub const DEFAULT_TTL: i64 = 60 * 86_400_000;

/// A name that can stand in a path: clients resolve `.` and `..` before they send one.
fn judge_friendly_name(name: &str) -> Result<Cow<'_, str>, Invalid> {
    let name = shared::text::name(name, 255)?;
    if matches!(name.as_ref(), "." | "..") { Err(Invalid::from("must not be . or ..")) } else { Ok(name) }
}

fn judge_ttl(ttl: i64) -> Result<i64, Invalid> {
    if ttl >= 1 { Ok(ttl) } else { Err(Invalid::from("must be at least 1 ms")) }
}

/// The raw key is the server's to make.
fn refuse_raw_key(name: &Member) -> Result<(), Invalid> {
    if name.is_given() { Err(Invalid::from("must not be given: the key is made by the server")) } else { Ok(()) }
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
) -> AppResult<PlainToken> {
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
) -> AppResult<PlainToken> {
    let token = create(tx, account, friendly_name, "127.0.0.1", ttl, dice, now).await?;
    let key = repo::find_by_name(tx, account, friendly_name).await?.ok_or(AppError::NotFound("access key"))?;
    let event = Event::new(Action::CreateAccessKey, &key.id).with(json!({ "friendlyName": friendly_name, "expires": key.expires }));
    audit::note(tx, &Actor::operator(), event, dice, now).await?;
    Ok(token)
}

fn taken(friendly_name: &str) -> String {
    format!("an access key named {friendly_name} exists")
}

/// Makes a named access key for a caller and tells the owner.
pub async fn add(
    app: &Context,
    caller: &DashboardSession,
    _right: NewCredentials,
    _fresh: Fresh,
    from: ClientAddress,
    new: &NewAccessKey,
) -> AppResult<(Credential, PlainToken)> {
    let mut errors = FieldErrors::default();
    let raw = errors.take("name", refuse_raw_key(&new.name));
    let friendly_name = errors.take("friendlyName", new.friendly_name.text().and_then(judge_friendly_name));
    let description = errors.take("description", new.description.optional_text());
    let ttl = errors.take("ttl", new.ttl.optional_integer().and_then(|ttl| judge_ttl(ttl.unwrap_or(DEFAULT_TTL))));
    let proof = errors.take("stepUp", Proof::of(&new.step_up));
    let (Some(()), Some(friendly_name), Some(_), Some(ttl), Some(_)) = (raw, friendly_name, description, ttl, proof) else {
        return Err(errors.into());
    };
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let now = app.now();
    NewCredentials::of(&mut tx, caller.account(), app).await?;
    app.settings.limits.quotas.check_access_keys(&mut tx, caller.account()).await?;
    let token = create(&mut tx, caller.account(), &friendly_name, &from.0.to_string(), ttl, &app.dice, now).await?;
    let key = repo::find_by_name(&mut tx, caller.account(), &friendly_name).await?.ok_or(AppError::NotFound("access key"))?;
    tell(&mut tx, app, caller, from, &friendly_name, Kind::KeyAdded).await?;
    let event = Event::new(Action::CreateAccessKey, &key.id).with(json!({ "friendlyName": friendly_name, "expires": key.expires }));
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok((key, token))
}

/// What the caller may see of its account's credentials: a login also sees sessions that have not ended, a key only named keys.
pub async fn list(tx: &mut ReadTx, app: &Context, caller: &NotApiKey) -> AppResult<Vec<Credential>> {
    let found = repo::list(tx, caller.account()).await?;
    Ok(found.into_iter().filter(|key| is_seen_by(key, caller.kind(), app)).collect())
}

fn is_seen_by(key: &Credential, caller: CredentialKind, app: &Context) -> bool {
    // A named key that has expired still holds its name; a session that has ended is only waiting to be forgotten.
    !key.kind().is_login() || (caller.is_login() && session::is_alive(key, &app.settings.limits.sessions, app.now()))
}

/// The caller's credential of this name, or 404.
pub async fn find(tx: &mut ReadTx, app: &Context, caller: &LoginSession, friendly_name: &str) -> AppResult<Credential> {
    find_seen(tx, app, caller.account(), caller.kind(), friendly_name).await
}

async fn find_seen(
    tx: &mut ReadTx,
    app: &Context,
    account: &AccountId,
    caller: CredentialKind,
    friendly_name: &str,
) -> AppResult<Credential> {
    let found = repo::find_by_name(tx, account, friendly_name).await?;
    found.filter(|key| is_seen_by(key, caller, app)).ok_or(AppError::NotFound("access key"))
}

/// Whether this lifetime, if it is one, would end a named key later than it does. What cannot be changed so is refused elsewhere.
async fn lasts_longer(app: &Context, caller: &LoginSession, friendly_name: &str, ttl: &Member) -> AppResult<bool> {
    let Ok(Some(ttl)) = ttl.optional_integer() else { return Ok(false) };
    match find(&mut app.db.read().await?, app, caller, friendly_name).await {
        Ok(key) => Ok(!key.kind().is_login() && key.expires < end(ttl, app.now())),
        Err(AppError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Renames a credential, or gives a named key a new lifetime from now on, which is the dashboard's to do and like a new credential. One that ends later
/// needs a fresh proof. Errors: 400, 404, 409; 403 with the code that says what would help; 429.
pub async fn update(
    app: &AppState,
    caller: &LoginSession,
    from: ClientAddress,
    friendly_name: &str,
    patch: &AccessKeyPatch,
) -> AppResult<Credential> {
    if patch.ttl.is_given() {
        DashboardSession::of(caller)?;
        NewCredentials::of(&mut app.db.read().await?, caller.account(), app).await?;
    }
    let fresh = if lasts_longer(app, caller, friendly_name, &patch.ttl).await? {
        Some(fresh::prove(app, caller, Proof::of(&patch.step_up).ok().flatten()).await?)
    } else {
        None
    };
    let mut errors = FieldErrors::default();
    let raw = errors.take("name", refuse_raw_key(&patch.name));
    let name = errors.take("friendlyName", patch.friendly_name.optional_text().and_then(|name| name.map(judge_friendly_name).transpose()));
    let description = errors.take("description", patch.description.optional_text());
    let ttl = errors.take("ttl", patch.ttl.optional_integer().and_then(|ttl| ttl.map(judge_ttl).transpose()));
    let proof = errors.take("stepUp", Proof::of(&patch.step_up));
    let (Some(()), Some(name), Some(_), Some(ttl), Some(_)) = (raw, name, description, ttl, proof) else {
        return Err(errors.into());
    };
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let now = app.now();
    if ttl.is_some() {
        NewCredentials::of(&mut tx, caller.account(), app).await?;
    }
    let before = find(&mut tx, app, caller, friendly_name).await?;
    if ttl.is_some() && before.kind().is_login() {
        return Err(AppError::Conflict("this is a session: how long it lasts cannot be changed".to_owned()));
    }
    if fresh.is_none() && ttl.is_some_and(|ttl| before.expires < end(ttl, now)) {
        // The key's end has moved at the same moment.
        fresh::check(&mut tx, app, caller).await?;
    }
    let changed = repo::update(&mut tx, &before.id, name.as_deref(), ttl.map(|ttl| end(ttl, now))).await;
    if changed.or_conflict(|| taken(name.as_deref().unwrap_or(friendly_name)))? == 0 {
        return Err(AppError::NotFound("access key"));
    }
    let key = repo::find(&mut tx, caller.account(), &before.id).await?.ok_or(AppError::NotFound("access key"))?;
    let before = json!({ "friendlyName": before.friendly_name, "expires": before.expires });
    let details = json!({ "friendlyName": key.friendly_name, "expires": key.expires, "before": before });
    let event = Event::new(Action::UpdateAccessKey, &key.id).with(details);
    audit::note(&mut tx, &caller.actor(), event, &app.dice, now).await?;
    tx.commit().await?;
    Ok(key)
}

/// Ends a credential. The owner is told of a named key, and of a command line's.
pub async fn remove(app: &Context, caller: &NotApiKey, from: ClientAddress, friendly_name: &str) -> AppResult<()> {
    let mut tx = caller.begin_tx_holding_account(app).await?;
    let key = find_seen(&mut tx, app, caller.account(), caller.kind(), friendly_name).await?;
    if repo::delete(&mut tx, caller.account(), &key.id).await? == 0 {
        return Err(AppError::NotFound("access key"));
    }
    if key.kind() == CredentialKind::NamedKey {
        tell(&mut tx, app, caller, from, friendly_name, Kind::KeyRemoved).await?;
    }
    notice::put_removed(&mut tx, app, caller, from, &[&key]).await?;
    let action = if key.kind().is_login() { Action::EndSession } else { Action::DeleteAccessKey };
    let event = Event::new(action, &key.id).with(json!({ "friendlyName": friendly_name }));
    audit::note(&mut tx, &caller.actor(), event, &app.dice, app.now()).await?;
    tx.commit().await?;
    app.mailer.wake();
    Ok(())
}

async fn tell(
    tx: &mut WriteTx,
    app: &Context,
    owner: &SignedIn,
    from: ClientAddress,
    name: &str,
    kind: fn(KeyNotice) -> Kind,
) -> AppResult<()> {
    let notice = KeyNotice { time: app.now(), address: from.0.to_string(), key: Key::Access, name: name.to_owned() };
    notices::put(tx, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}
