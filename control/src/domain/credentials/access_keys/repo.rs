//! SQL of credentials that are kept: named access keys, sessions, and what command lines hold.

use shared::ids::{AccessKeyId, AccountId};
use shared::text::{nfc, spellings};
use shared::time::UnixMillis;

use crate::domain::credentials::CredentialKind;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const FIND_BY_HASH: &str = "SELECT k.id, k.account_id, k.friendly_name, k.created_by, k.created_time, k.expires, k.last_used_time, k.is_session, \
    k.credential_origin, k.device_id, k.device_name, k.client_name, k.client_version, k.client_platform, a.email, a.suspended_time \
    FROM access_keys k JOIN accounts a ON a.id = k.account_id WHERE k.token_hash = $1";
const FIND: &str = "SELECT id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, \
    credential_origin, device_id, device_name, client_name, client_version, client_platform \
    FROM access_keys WHERE account_id = $1 AND id = $2";
// What may be used: the owner is not suspended.
const FIND_USABLE: &str = "SELECT k.id, k.account_id, k.friendly_name, k.created_by, k.created_time, k.expires, k.last_used_time, k.is_session, \
    k.credential_origin, k.device_id, k.device_name, k.client_name, k.client_version, k.client_platform \
    FROM access_keys k JOIN accounts a ON a.id = k.account_id WHERE k.account_id = $1 AND k.id = $2 AND a.suspended_time IS NULL";
const TOUCH: &str = "UPDATE access_keys SET last_used_time = $2 WHERE id = $1 AND COALESCE(last_used_time, 0) < $2";
const INSERT: &str = "INSERT INTO access_keys (id, account_id, token_hash, friendly_name, created_by, created_time, expires, is_session, \
    credential_origin, device_id, device_name, client_name, client_version, client_platform) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const LOGINS: &str = "SELECT id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, \
    credential_origin, device_id, device_name, client_name, client_version, client_platform \
    FROM access_keys WHERE account_id = $1 AND (is_session OR credential_origin IS NOT NULL) ORDER BY created_time, id";
const NAMED: &str = "SELECT friendly_name FROM access_keys \
    WHERE account_id = $1 AND NOT is_session AND credential_origin IS NULL AND expires > $2 ORDER BY created_time, id";
const DELETE: &str = "DELETE FROM access_keys WHERE id = $1 AND account_id = $2";
const DELETE_LOGINS: &str = "DELETE FROM access_keys WHERE account_id = $1 AND (is_session OR credential_origin IS NOT NULL) AND id <> $2";
const DELETE_DASHBOARD: &str = "DELETE FROM access_keys WHERE account_id = $1 AND credential_origin = 'dashboard_session' AND id <> $2 \
    RETURNING id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, credential_origin, device_id, \
    device_name, client_name, client_version, client_platform";
const DELETE_OLDEST_DASHBOARD: &str = "DELETE FROM access_keys WHERE account_id = $1 AND credential_origin = 'dashboard_session' AND id <> $2 \
    AND id NOT IN (SELECT id FROM access_keys WHERE account_id = $1 AND credential_origin = 'dashboard_session' AND id <> $2 \
    ORDER BY created_time DESC, id DESC LIMIT $3) RETURNING id";
const DELETE_FROM_SOURCE: &str = "DELETE FROM access_keys \
    WHERE account_id = $1 AND (is_session OR credential_origin IS NOT NULL) AND (created_by = $2 OR device_name IN ($2, $3)) \
    RETURNING id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, credential_origin, device_id, \
    device_name, client_name, client_version, client_platform";
const DELETE_NAMED: &str =
    "DELETE FROM access_keys WHERE account_id = $1 AND NOT is_session AND credential_origin IS NULL RETURNING friendly_name";
const LIST: &str = "SELECT id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, \
    credential_origin, device_id, device_name, client_name, client_version, client_platform \
    FROM access_keys WHERE account_id = $1 ORDER BY created_time, id";
const FIND_BY_NAME: &str = "SELECT id, account_id, friendly_name, created_by, created_time, expires, last_used_time, is_session, \
    credential_origin, device_id, device_name, client_name, client_version, client_platform \
    FROM access_keys WHERE account_id = $1 AND friendly_name = $2";
const UPDATE: &str = "UPDATE access_keys SET friendly_name = COALESCE($2, friendly_name), expires = COALESCE($3, expires) WHERE id = $1";

const EXPIRED: &str = "SELECT id, id FROM access_keys WHERE expires <= $1 AND (is_session OR credential_origin IS NOT NULL) \
    ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM access_keys WHERE id = $1 AND id = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    FIND_BY_HASH,
    FIND,
    FIND_USABLE,
    TOUCH,
    INSERT,
    LOGINS,
    NAMED,
    DELETE,
    DELETE_LOGINS,
    DELETE_DASHBOARD,
    DELETE_OLDEST_DASHBOARD,
    DELETE_FROM_SOURCE,
    DELETE_NAMED,
    LIST,
    FIND_BY_NAME,
    UPDATE,
    EXPIRED,
    DELETE_EXPIRED,
];

/// Sessions that have expired. Named keys stay in the list of their owner.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// A stored credential.
#[derive(Debug, sqlx::FromRow)]
pub struct Credential {
    /// Its id.
    pub id: AccessKeyId,
    /// Whose it is.
    pub account_id: AccountId,
    /// Its name, unique within the account.
    pub friendly_name: String,
    /// The address it was made from.
    pub created_by: String,
    /// When it was made.
    pub created_time: UnixMillis,
    /// When it ends at the latest.
    pub expires: UnixMillis,
    /// When it was last used, to within five minutes.
    pub last_used_time: Option<UnixMillis>,
    is_session: bool,
    #[sqlx(rename = "credential_origin")]
    origin: Option<String>,
    /// The machine's id, of a command line.
    pub device_id: Option<String>,
    /// The machine's name, of a command line.
    pub device_name: Option<String>,
    /// The program, of a command line.
    pub client_name: Option<String>,
    /// Its version.
    pub client_version: Option<String>,
    /// Its operating system and architecture.
    pub client_platform: Option<String>,
}

impl Credential {
    /// Whether it was made by a login, not for a command line and not by hand.
    pub fn is_session(&self) -> bool {
        self.is_session
    }

    /// What kind of credential it is.
    pub fn kind(&self) -> CredentialKind {
        CredentialKind::of(self.is_session, self.origin.as_deref())
    }

    /// The command line that holds it, as far as it is one's.
    pub fn device(&self) -> Device {
        Device {
            id: self.device_id.clone(),
            name: self.device_name.clone(),
            client_name: self.client_name.clone(),
            client_version: self.client_version.clone(),
            client_platform: self.client_platform.clone(),
        }
    }
}

/// A credential with its account's address.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// The credential.
    #[sqlx(flatten)]
    pub key: Credential,
    /// The account's e-mail address.
    pub email: String,
    /// When the operator suspended the account; of a suspended one no credential works.
    pub suspended_time: Option<UnixMillis>,
}

/// A credential to be stored.
#[derive(Debug)]
pub struct NewKeyRow<'a> {
    /// Its id.
    pub id: &'a AccessKeyId,
    /// Whose it is.
    pub account: &'a AccountId,
    /// The hash of the raw credential.
    pub hash: &'a TokenHash,
    /// Its name, unique within the account.
    pub friendly_name: &'a str,
    /// The address it was made from.
    pub created_by: &'a str,
    /// When it was made.
    pub created: UnixMillis,
    /// When it ends.
    pub expires: UnixMillis,
    /// What kind it is.
    pub kind: CredentialKind,
    /// The command line that holds it.
    pub device: &'a Device,
}

/// The credential with this hash, also one whose owner is suspended.
pub async fn find_by_hash(tx: &mut ReadTx, hash: &TokenHash) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_HASH).bind(hash.as_str()).fetch_optional(conn).await)
}

/// A credential of the account.
pub async fn find(tx: &mut ReadTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<Option<Credential>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(id).fetch_optional(conn).await)
}

/// A credential of the account that may be used, as far as its owner goes: nothing where the account is suspended.
pub async fn find_usable(tx: &mut ReadTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<Option<Credential>> {
    on!(tx, |conn| sqlx::query_as(FIND_USABLE).bind(account).bind(id).fetch_optional(conn).await)
}

/// Notes that the credential was used, unless a later use is noted already.
pub async fn touch(tx: &mut WriteTx, id: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH).bind(id).bind(now).execute(conn).await)
}

/// Stores a credential.
pub async fn insert(tx: &mut WriteTx, key: &NewKeyRow<'_>) -> sqlx::Result<u64> {
    // A command line's credential comes from a login, but it is not the login's own session.
    let is_session = matches!(key.kind, CredentialKind::DashboardSession | CredentialKind::SessionWithoutOrigin);
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(key.id)
        .bind(key.account)
        .bind(key.hash.as_str())
        .bind(key.friendly_name)
        .bind(key.created_by)
        .bind(key.created)
        .bind(key.expires)
        .bind(is_session)
        .bind(key.kind.origin())
        .bind(key.device.id.as_deref())
        .bind(key.device.name.as_deref())
        .bind(key.device.client_name.as_deref())
        .bind(key.device.client_version.as_deref())
        .bind(key.device.client_platform.as_deref())
        .execute(conn)
        .await)
}

/// The account's sessions and its command lines' credentials, ended ones too, oldest first.
pub async fn logins(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(LOGINS).bind(account).fetch_all(conn).await)
}

/// The names of the account's named access keys that have not ended, oldest first.
pub async fn names(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(NAMED).bind(account).bind(now).fetch_all(conn).await)
}

/// Removes a credential of the account.
pub async fn delete(tx: &mut WriteTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(id).bind(account).execute(conn).await)
}

/// Removes the account's sessions and its command lines' credentials, but the one to be kept. As of every statement here that locks several rows: the
/// account's row is held before, since no order of the rows is promised.
pub async fn delete_logins(tx: &mut WriteTx, account: &AccountId, keep: Option<&AccessKeyId>) -> sqlx::Result<u64> {
    let keep = keep.map_or("", AccessKeyId::as_str);
    on_write!(tx, |conn| sqlx::query(DELETE_LOGINS).bind(account).bind(keep).execute(conn).await)
}

/// Removes the account's dashboard sessions, but the one to be kept, and gives what they were.
pub async fn delete_dashboard(tx: &mut WriteTx, account: &AccountId, keep: Option<&AccessKeyId>) -> sqlx::Result<Vec<Credential>> {
    let keep = keep.map_or("", AccessKeyId::as_str);
    on!(tx, |conn| sqlx::query_as(DELETE_DASHBOARD).bind(account).bind(keep).fetch_all(conn).await)
}

/// Removes the account's oldest dashboard sessions, but `newest` and as many `others` as were made last. Gives those that were removed.
pub async fn delete_oldest_dashboard(
    tx: &mut WriteTx,
    account: &AccountId,
    newest: &AccessKeyId,
    others: i64,
) -> sqlx::Result<Vec<AccessKeyId>> {
    on!(tx, |conn| sqlx::query_scalar(DELETE_OLDEST_DASHBOARD).bind(account).bind(newest).bind(others).fetch_all(conn).await)
}

/// Removes the account's sessions and command lines' credentials that were made from this address or machine, and gives what they were.
pub async fn delete_from_source(tx: &mut WriteTx, account: &AccountId, source: &str) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(DELETE_FROM_SOURCE).bind(account).bind(source).bind(nfc(source).as_ref()).fetch_all(conn).await)
}

/// Removes the account's named access keys, expired ones too, and gives their names.
pub async fn delete_named(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(DELETE_NAMED).bind(account).fetch_all(conn).await)
}

/// Everything of the account that is used like a key, ended ones too, oldest first.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// The account's credential of this name.
pub async fn find_by_name(tx: &mut ReadTx, account: &AccountId, friendly_name: &str) -> sqlx::Result<Option<Credential>> {
    for name in spellings(friendly_name) {
        let found = on!(tx, |conn| sqlx::query_as(FIND_BY_NAME).bind(account).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Changes a credential's name and end as far as they are given.
pub async fn update(tx: &mut WriteTx, id: &AccessKeyId, friendly_name: Option<&str>, expires: Option<UnixMillis>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(UPDATE).bind(id).bind(friendly_name).bind(expires).execute(conn).await)
}
