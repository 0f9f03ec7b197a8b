//! The rules of access keys.

use std::borrow::Cow;

use serde_json::json;
use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};

use crate::domain::access::{DashboardSession, LoginSession, NotApiKey, SignedIn};
use crate::domain::audit::{Action, Event};
use crate::domain::change::Change;
use crate::domain::cli_login::notice;
use crate::domain::conflict::Conflict;
use crate::domain::context::Context;
use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::access_keys::repo::{self, Credential, NewKeyRow};
use crate::domain::credentials::session::{self, Device, LAST_EXPIRY};
use crate::domain::credentials::token::PlainToken;
use crate::domain::error::{Error, OrConflict, Result, Thing};
use crate::domain::login::fresh;
use crate::domain::mail::{Key, KeyNotice, Kind, Mail, notices};
use crate::domain::second_factors::{NewCredentials, Proof};
use crate::infra::clock::Entropy;
use crate::infra::db::{ReadTx, WriteTx};

/// The default lifetime of a key: 60 days, in milliseconds.
pub const DEFAULT_TTL: i64 = 60 * 86_400_000;

/// An access key to create.
#[derive(Clone, Debug)]
pub struct NewAccessKey {
    /// Its name, as returned by [`validate_friendly_name`].
    pub friendly_name: String,
    /// Its lifetime in milliseconds, checked by [`validate_ttl`].
    pub ttl: i64,
}

/// Changes to a credential; `None` keeps the current value. Each part is validated separately: the rights for a new lifetime are checked before the errors
/// are reported.
pub struct AccessKeyPatch {
    /// Its name, as returned by [`validate_friendly_name`], or the errors in it and in members that only the surface parses.
    pub friendly_name: Result<Option<String>, FieldErrors>,
    /// Its lifetime from now on in milliseconds.
    pub ttl: Result<Option<i64>, Invalid>,
    /// A second-factor proof; required for a later expiry if the session is not fresh.
    pub proof: Result<Option<Proof>, Invalid>,
}

/// Validates a name and returns its stored form. It must be usable in a path: clients resolve `.` and `..` before sending.
pub fn validate_friendly_name(name: &str) -> Result<String, Invalid> {
    let name = shared::text::name(name, 255).map(Cow::into_owned)?;
    if matches!(name.as_str(), "." | "..") { Err(Invalid::from("must not be . or ..")) } else { Ok(name) }
}

/// Validates a lifetime in milliseconds.
pub fn validate_ttl(ttl: i64) -> Result<i64, Invalid> {
    if ttl >= 1 { Ok(ttl) } else { Err(Invalid::from("must be at least 1 ms")) }
}

fn expiry(ttl: i64, now: UnixMillis) -> UnixMillis {
    UnixMillis(now.plus_millis(ttl).0.min(LAST_EXPIRY))
}

/// Creates a named access key and returns the plain token, which cannot be recovered later. The surrounding change must write the audit row;
/// [`add`] does it for requests.
pub async fn create(
    tx: &mut WriteTx,
    account: &AccountId,
    friendly_name: &str,
    created_by: &str,
    ttl: i64,
    entropy: &Entropy,
    now: UnixMillis,
) -> Result<PlainToken> {
    let mut errors = FieldErrors::default();
    let name = errors.take("friendlyName", validate_friendly_name(friendly_name));
    let (Some(friendly_name), Some(ttl)) = (name, errors.take("ttl", validate_ttl(ttl))) else { return Err(errors.into()) };
    let token = PlainToken::named_key(entropy)?;
    let id = AccessKeyId::v7(now, entropy.bytes()?);
    let row = NewKeyRow {
        id: &id,
        account,
        hash: &token.hash(),
        friendly_name: &friendly_name,
        created_by,
        created: now,
        expires: expiry(ttl, now),
        kind: CredentialKind::NamedKey,
        device: &Device::default(),
    };
    repo::insert(tx, &row).await.or_conflict(|| taken(&friendly_name))?;
    Ok(token)
}

fn taken(friendly_name: &str) -> Conflict {
    Conflict::AccessKeyName(friendly_name.to_owned())
}

/// Creates a named access key for a caller and notifies the owner. A session that is not fresh needs the proof, which is checked before errors in the key
/// are reported. Errors: 403 with `reauth_required`; 400, 409, 429.
pub async fn add(
    app: &Context,
    caller: &DashboardSession,
    _right: NewCredentials,
    new: Result<NewAccessKey>,
    proof: Option<&Proof>,
) -> Result<(Credential, PlainToken)> {
    fresh::prove(app, caller, proof).await?;
    let NewAccessKey { friendly_name, ttl } = &new?;
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now, from) = (&mut change, app.now(), caller.from().0.to_string());
    NewCredentials::of(tx, caller.account(), app).await?;
    app.settings.limits.quotas.check_access_keys(tx, caller.account()).await?;
    let token = create(tx, caller.account(), friendly_name, &from, *ttl, &app.entropy, now).await?;
    let key = repo::find_by_name(tx, caller.account(), friendly_name).await?.ok_or(Error::NotFound(Thing::AccessKey))?;
    tell(tx, caller, friendly_name, Kind::KeyAdded).await?;
    let details = json!({ "friendlyName": friendly_name, "expires": key.expires });
    change.commit(Event::new(Action::CreateAccessKey, &key.id).with(details)).await?;
    Ok((key, token))
}

/// The account's credentials that the caller may see: named keys, and for a login also valid sessions.
pub async fn list(tx: &mut ReadTx, app: &Context, caller: &NotApiKey) -> Result<Vec<Credential>> {
    let found = repo::list(tx, caller.account()).await?;
    Ok(found.into_iter().filter(|key| is_seen_by(key, caller.kind(), app)).collect())
}

fn is_seen_by(key: &Credential, caller: CredentialKind, app: &Context) -> bool {
    // An expired named key still occupies its name; an expired session only waits for deletion.
    !key.kind().is_login() || (caller.is_login() && session::is_alive(key, &app.settings.limits.sessions, app.now()))
}

/// The caller's credential with this name. Errors: 404.
pub async fn find(tx: &mut ReadTx, app: &Context, caller: &LoginSession, friendly_name: &str) -> Result<Credential> {
    find_seen(tx, app, caller.account(), caller.kind(), friendly_name).await
}

async fn find_seen(tx: &mut ReadTx, app: &Context, account: &AccountId, caller: CredentialKind, friendly_name: &str) -> Result<Credential> {
    let found = repo::find_by_name(tx, account, friendly_name).await?;
    found.filter(|key| is_seen_by(key, caller, app)).ok_or(Error::NotFound(Thing::AccessKey))
}

/// Checks the rights for a new lifetime, as far as it can be parsed, before the other members are validated. Requires a fresh proof if the key would expire
/// later, and returns whether it did. Errors: 403 with the code that says what to do; 429.
async fn prove(app: &Context, caller: &LoginSession, friendly_name: &str, patch: &AccessKeyPatch) -> Result<bool> {
    if matches!(patch.ttl, Ok(None)) {
        return Ok(false);
    }
    DashboardSession::of(caller)?;
    let mut tx = app.db.read().await?;
    NewCredentials::of(&mut tx, caller.account(), app).await?;
    let Ok(Some(ttl)) = patch.ttl else { return Ok(false) };
    // Credentials that cannot be updated like this are refused elsewhere.
    let lasts_longer = match find(&mut tx, app, caller, friendly_name).await {
        Ok(key) => !key.kind().is_login() && key.expires < expiry(ttl, app.now()),
        Err(Error::NotFound(_)) => false,
        Err(error) => return Err(error),
    };
    drop(tx);
    if lasts_longer {
        fresh::prove(app, caller, Proof::parsed(&patch.proof)).await?;
    }
    Ok(lasts_longer)
}

/// Renames a credential, or gives a named key a new lifetime from now on. The latter requires the dashboard and the same rights as a new credential. A later
/// expiry requires a fresh proof. Errors: 403 with the code that says what to do; 400, 404, 409, 429.
pub async fn update(app: &Context, caller: &LoginSession, friendly_name: &str, patch: AccessKeyPatch) -> Result<Credential> {
    let is_proven = prove(app, caller, friendly_name, &patch).await?;
    let mut errors = FieldErrors::default();
    let name = patch.friendly_name.map_err(|others| errors.extend(others)).ok();
    let ttl = errors.take("ttl", patch.ttl.and_then(|ttl| ttl.map(validate_ttl).transpose()));
    let proof = errors.take("stepUp", patch.proof);
    let (Some(name), Some(ttl), Some(_)) = (name, ttl, proof) else { return Err(errors.into()) };
    let mut change = caller.begin_holding_account(app).await?;
    let (tx, now, name) = (&mut change, app.now(), name.as_deref());
    if ttl.is_some() {
        DashboardSession::of(caller)?;
        NewCredentials::of(tx, caller.account(), app).await?;
    }
    let before = find(tx, app, caller, friendly_name).await?;
    if ttl.is_some() && before.kind().is_login() {
        return Err(Error::Conflict(Conflict::IsSession));
    }
    let expires = ttl.map(|ttl| expiry(ttl, now));
    if !is_proven && expires.is_some_and(|expires| before.expires < expires) {
        // A concurrent request changed the key's expiry.
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

/// Deletes a credential. The owner is notified if it is a named key or a CLI credential.
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
    notices::enqueue(change, app, owner.account(), &Mail { to: owner.email().to_owned(), kind: kind(notice) }).await
}
