//! SQL of passkeys.

use serde_json::json;
use shared::ids::{AccountId, PasskeyId};
use shared::time::UnixMillis;

use super::ceremony::Stored;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const LIST: &str = "SELECT id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, created_time, \
    last_used_time FROM passkeys WHERE account_id = $1 ORDER BY created_time, id";
const FIND: &str = "SELECT id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, created_time, \
    last_used_time FROM passkeys WHERE id = $1 AND account_id = $2";
const OWNER: &str = "SELECT account_id FROM passkeys WHERE credential_id = $1";
// Locks the row until the transaction ends: of two concurrent uses, the second sees the first one's counter.
const HOLD: &str = "SELECT id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, created_time, \
    last_used_time FROM passkeys WHERE credential_id = $1 AND account_id = $2 FOR NO KEY UPDATE";
const INSERT: &str = "INSERT INTO passkeys (id, account_id, credential_id, credential, name, is_backup_eligible, is_backed_up, transports, counter, \
    created_time, last_used_time) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (credential_id) DO NOTHING";
const USE: &str =
    "UPDATE passkeys SET credential = $3, counter = $4, is_backed_up = $5, last_used_time = $6 WHERE id = $1 AND counter = $2";
const RENAME: &str = "UPDATE passkeys SET name = $3 WHERE id = $1 AND account_id = $2 RETURNING id, account_id, credential_id, credential, name, \
    is_backup_eligible, is_backed_up, transports, counter, created_time, last_used_time";
const DELETE: &str = "DELETE FROM passkeys WHERE id = $1 AND account_id = $2";
const DELETE_ALL: &str = "DELETE FROM passkeys WHERE account_id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[LIST, FIND, OWNER, HOLD, INSERT, USE, RENAME, DELETE, DELETE_ALL];

/// The names of an authenticator's transports (Web Authentication, section 5.8.4); stored as a JSON list.
#[derive(Clone, Debug)]
pub struct Transports(pub Vec<String>);

impl TryFrom<String> for Transports {
    type Error = serde_json::Error;

    fn try_from(stored: String) -> serde_json::Result<Self> {
        serde_json::from_str(&stored).map(Self)
    }
}

/// A stored passkey.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PasskeyRow {
    /// Its id.
    pub id: PasskeyId,
    /// Its account.
    pub account_id: AccountId,
    /// Its credential id, in base64url; globally unique.
    pub credential_id: String,
    /// The data for verification, as the library serializes it (JSON): its public key, never a secret.
    pub credential: String,
    /// The name its owner gave it.
    pub name: String,
    /// Whether it can be synced to other devices.
    pub is_backup_eligible: bool,
    /// Whether it was backed up when it was last used.
    pub is_backed_up: bool,
    /// The transports of its authenticator.
    #[sqlx(try_from = "String")]
    pub transports: Transports,
    /// Its authenticator's counter at the last use; 0 for authenticators that do not count.
    pub counter: i64,
    /// When it was created.
    pub created_time: UnixMillis,
    /// When it was last used; creation counts as a use.
    pub last_used_time: UnixMillis,
}

/// The account's passkeys, oldest first.
pub async fn list(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Vec<PasskeyRow>> {
    on!(tx, |conn| sqlx::query_as(LIST).bind(account).fetch_all(conn).await)
}

/// One of the account's passkeys.
pub async fn find(tx: &mut ReadTx, account: &AccountId, id: &PasskeyId) -> sqlx::Result<Option<PasskeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(id).bind(account).fetch_optional(conn).await)
}

/// The account of the credential.
pub async fn owner(tx: &mut ReadTx, credential_id: &str) -> sqlx::Result<Option<AccountId>> {
    on!(tx, |conn| sqlx::query_scalar(OWNER).bind(credential_id).fetch_optional(conn).await)
}

/// Finds and locks the account's passkey with this credential. The account must be locked first.
pub async fn hold(tx: &mut WriteTx, account: &AccountId, credential_id: &str) -> sqlx::Result<Option<PasskeyRow>> {
    let hold = tx.locking(HOLD);
    on!(tx, |conn| sqlx::query_as(hold).bind(credential_id).bind(account).fetch_optional(conn).await)
}

/// Stores a passkey; 0 rows if the credential is already registered.
pub async fn insert(tx: &mut WriteTx, row: &PasskeyRow) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(&row.id)
        .bind(&row.account_id)
        .bind(&row.credential_id)
        .bind(&row.credential)
        .bind(&row.name)
        .bind(row.is_backup_eligible)
        .bind(row.is_backed_up)
        .bind(json!(row.transports.0).to_string())
        .bind(row.counter)
        .bind(row.created_time)
        .bind(row.last_used_time)
        .execute(conn)
        .await)
}

/// Stores what a use has changed, unless the counter in the row has changed since.
pub async fn note_use(tx: &mut WriteTx, row: &PasskeyRow, used: &Stored, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(USE)
        .bind(&row.id)
        .bind(row.counter)
        .bind(&used.json)
        .bind(used.counter)
        .bind(used.is_backed_up)
        .bind(now)
        .execute(conn)
        .await)
}

/// Renames and returns one of the account's passkeys.
pub async fn rename(tx: &mut WriteTx, account: &AccountId, id: &PasskeyId, name: &str) -> sqlx::Result<Option<PasskeyRow>> {
    on!(tx, |conn| sqlx::query_as(RENAME).bind(id).bind(account).bind(name).fetch_optional(conn).await)
}

/// Removes all of the account's passkeys.
pub async fn delete_all(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_ALL).bind(account).execute(conn).await)
}

/// Removes one of the account's passkeys.
pub async fn delete(tx: &mut WriteTx, account: &AccountId, id: &PasskeyId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(id).bind(account).execute(conn).await)
}
