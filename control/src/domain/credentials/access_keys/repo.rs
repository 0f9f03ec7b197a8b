//! SQL of the table `access_keys`: named access keys, sessions, and CLI credentials.

use shared::api::access_keys::CredentialOrigin;
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
// Usable means that the owner is not suspended.
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
const AUTHENTICATED_TIME: &str = "SELECT COALESCE(reauthenticated_time, created_time) FROM access_keys WHERE account_id = $1 AND id = $2";
const REAUTHENTICATE: &str = "UPDATE access_keys SET reauthenticated_time = $3 WHERE account_id = $1 AND id = $2";

const EXPIRED: &str = "SELECT id, id FROM access_keys WHERE expires <= $1 AND (is_session OR credential_origin IS NOT NULL) \
    ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM access_keys WHERE id = $1 AND id = $2 AND expires <= $3";

/// Every SQL statement in this file.
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
    AUTHENTICATED_TIME,
    REAUTHENTICATE,
    EXPIRED,
    DELETE_EXPIRED,
];

/// Deletion of expired sessions. Expired named keys stay in their owner's list.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// A stored credential.
#[derive(Debug, sqlx::FromRow)]
pub struct Credential {
    /// Its ID.
    pub id: AccessKeyId,
    /// The account it belongs to.
    pub account_id: AccountId,
    /// Its name, unique within the account.
    pub friendly_name: String,
    /// The client address it was created from.
    pub created_by: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// When it expires; it may stop working earlier.
    pub expires: UnixMillis,
    /// When it was last used, accurate to five minutes.
    pub last_used_time: Option<UnixMillis>,
    is_session: bool,
    #[sqlx(rename = "credential_origin")]
    origin: Option<String>,
    /// The device's ID, of a CLI credential.
    pub device_id: Option<String>,
    /// The device's name, of a CLI credential.
    pub device_name: Option<String>,
    /// The program, of a CLI credential.
    pub client_name: Option<String>,
    /// Its version.
    pub client_version: Option<String>,
    /// Its operating system and architecture.
    pub client_platform: Option<String>,
}

impl Credential {
    /// Whether it was created by a login: neither for a CLI nor as a named key.
    pub fn is_session(&self) -> bool {
        self.is_session
    }

    /// What kind of credential it is.
    pub fn kind(&self) -> CredentialKind {
        CredentialKind::of(self.is_session, self.origin.as_deref())
    }

    /// The device that holds it, if it is a CLI credential.
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

/// A credential with its account's email.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// The credential.
    #[sqlx(flatten)]
    pub key: Credential,
    /// The account's email.
    pub email: String,
    /// When the operator suspended the account; none of its credentials work then.
    pub suspended_time: Option<UnixMillis>,
}

/// A credential to insert.
#[derive(Debug)]
pub struct NewKeyRow<'a> {
    /// Its ID.
    pub id: &'a AccessKeyId,
    /// The account it belongs to.
    pub account: &'a AccountId,
    /// The hash of the plain token.
    pub hash: &'a TokenHash,
    /// Its name, unique within the account.
    pub friendly_name: &'a str,
    /// The client address it was created from.
    pub created_by: &'a str,
    /// When it was created.
    pub created: UnixMillis,
    /// When it expires.
    pub expires: UnixMillis,
    /// Its kind.
    pub kind: CredentialKind,
    /// The device that holds it.
    pub device: &'a Device,
}

/// The credential with this hash, even if its owner is suspended.
pub async fn find_by_hash(tx: &mut ReadTx, hash: &TokenHash) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_HASH).bind(hash.as_str()).fetch_optional(conn).await)
}

/// A credential of the account.
pub async fn find(tx: &mut ReadTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<Option<Credential>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(id).fetch_optional(conn).await)
}

/// A credential of the account, if the account is not suspended.
pub async fn find_usable(tx: &mut ReadTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<Option<Credential>> {
    on!(tx, |conn| sqlx::query_as(FIND_USABLE).bind(account).bind(id).fetch_optional(conn).await)
}

/// Records a use of the credential, unless a later one is recorded already.
pub async fn touch(tx: &mut WriteTx, id: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH).bind(id).bind(now).execute(conn).await)
}

/// Inserts a credential.
pub async fn insert(tx: &mut WriteTx, key: &NewKeyRow<'_>) -> sqlx::Result<u64> {
    // A CLI credential comes from a login, but it is not the login's own session.
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
        .bind(key.kind.origin().map(CredentialOrigin::as_str))
        .bind(key.device.id.as_deref())
        .bind(key.device.name.as_deref())
        .bind(key.device.client_name.as_deref())
        .bind(key.device.client_version.as_deref())
        .bind(key.device.client_platform.as_deref())
        .execute(conn)
        .await)
}

/// The account's sessions and CLI credentials, including expired ones, oldest first.
pub async fn logins(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(LOGINS).bind(account).fetch_all(conn).await)
}

/// The names of the account's unexpired named access keys, oldest first.
pub async fn names(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(NAMED).bind(account).bind(now).fetch_all(conn).await)
}

/// Deletes a credential of the account.
pub async fn delete(tx: &mut WriteTx, account: &AccountId, id: &AccessKeyId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(id).bind(account).execute(conn).await)
}

/// Deletes the account's sessions and CLI credentials, except `keep`. Every statement here that locks several rows requires a lock on the account's row
/// first, because the order of the rows is undefined.
pub async fn delete_logins(tx: &mut WriteTx, account: &AccountId, keep: Option<&AccessKeyId>) -> sqlx::Result<u64> {
    let keep = keep.map_or("", AccessKeyId::as_str);
    on_write!(tx, |conn| sqlx::query(DELETE_LOGINS).bind(account).bind(keep).execute(conn).await)
}

/// Deletes the account's dashboard sessions, except `keep`, and returns the deleted ones.
pub async fn delete_dashboard(tx: &mut WriteTx, account: &AccountId, keep: Option<&AccessKeyId>) -> sqlx::Result<Vec<Credential>> {
    let keep = keep.map_or("", AccessKeyId::as_str);
    on!(tx, |conn| sqlx::query_as(DELETE_DASHBOARD).bind(account).bind(keep).fetch_all(conn).await)
}

/// Deletes the account's oldest dashboard sessions, except `newest` and the `others` most recent ones. Returns the deleted ones.
pub async fn delete_oldest_dashboard(
    tx: &mut WriteTx,
    account: &AccountId,
    newest: &AccessKeyId,
    others: i64,
) -> sqlx::Result<Vec<AccessKeyId>> {
    on!(tx, |conn| sqlx::query_scalar(DELETE_OLDEST_DASHBOARD).bind(account).bind(newest).bind(others).fetch_all(conn).await)
}

/// Deletes the account's sessions and CLI credentials that were created from this address or device, and returns them.
pub async fn delete_from_source(tx: &mut WriteTx, account: &AccountId, source: &str) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(DELETE_FROM_SOURCE).bind(account).bind(source).bind(nfc(source).as_ref()).fetch_all(conn).await)
}

/// Deletes the account's named access keys, including expired ones, and returns their names.
pub async fn delete_named(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<Vec<String>> {
    on!(tx, |conn| sqlx::query_scalar(DELETE_NAMED).bind(account).fetch_all(conn).await)
}

/// All credentials of the account in this table, including expired ones, oldest first.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<Credential>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// The account's credential with this name.
pub async fn find_by_name(tx: &mut ReadTx, account: &AccountId, friendly_name: &str) -> sqlx::Result<Option<Credential>> {
    for name in spellings(friendly_name) {
        let found = on!(tx, |conn| sqlx::query_as(FIND_BY_NAME).bind(account).bind(name.as_ref()).fetch_optional(conn).await)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Updates a credential's name and expiry; `None` keeps the current value.
pub async fn update(tx: &mut WriteTx, id: &AccessKeyId, friendly_name: Option<&str>, expires: Option<UnixMillis>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(UPDATE).bind(id).bind(friendly_name).bind(expires).execute(conn).await)
}

/// When the owner of a session last proved their identity.
pub async fn authenticated_time(tx: &mut ReadTx, account: &AccountId, session: &AccessKeyId) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(AUTHENTICATED_TIME).bind(account).bind(session).fetch_optional(conn).await)
}

/// Records that the owner of a session proved their identity again.
pub async fn reauthenticate(tx: &mut WriteTx, account: &AccountId, session: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REAUTHENTICATE).bind(account).bind(session).bind(now).execute(conn).await)
}
