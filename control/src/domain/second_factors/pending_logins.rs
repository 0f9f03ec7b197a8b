//! SQL of pending logins.

use shared::ids::{AccountId, PendingLoginId};
use shared::time::UnixMillis;

use crate::domain::credentials::token::PlainToken;
use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const INSERT: &str = "INSERT INTO pending_logins (id, token_hash, account_id, attempts, created_time, expires, has_device) VALUES ($1, $2, $3, 0, $4, $5, $6)";
const DELETE_OLDEST: &str = "DELETE FROM pending_logins WHERE account_id = $1 AND id NOT IN \
    (SELECT id FROM pending_logins WHERE account_id = $1 ORDER BY created_time DESC, id DESC LIMIT $2)";
const FIND: &str = "SELECT p.id, p.account_id, a.email, p.has_device FROM pending_logins p JOIN accounts a ON a.id = p.account_id \
    WHERE p.token_hash = $1 AND p.expires > $2";
// Locks the row until the transaction ends. Returns no row if another attempt used it up or it was canceled.
const TRY: &str = "UPDATE pending_logins SET attempts = attempts + 1 WHERE id = $1 AND expires > $2 RETURNING attempts";
const DELETE: &str = "DELETE FROM pending_logins WHERE id = $1";
const CANCEL: &str = "DELETE FROM pending_logins WHERE account_id = $1";

const EXPIRED: &str = "SELECT id, id FROM pending_logins WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM pending_logins WHERE id = $1 AND id = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, DELETE_OLDEST, FIND, TRY, DELETE, CANCEL, EXPIRED, DELETE_EXPIRED];

/// Expired pending logins.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// A login that waits for a second factor.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct PendingLogin {
    /// Its id.
    pub id: PendingLoginId,
    /// The account.
    pub account_id: AccountId,
    /// The account's email address.
    pub email: String,
    /// Whether a device cookie of the account came with the password.
    pub has_device: bool,
}

/// A new pending login.
#[derive(Debug)]
pub struct Issued {
    /// Its id.
    pub id: PendingLoginId,
    /// Its token, known only now.
    pub token: PlainToken,
    /// When it expires.
    pub expires: UnixMillis,
}

/// Stores a pending login.
pub async fn insert(tx: &mut WriteTx, new: &Issued, account: &AccountId, now: UnixMillis, has_device: bool) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(&new.id)
        .bind(new.token.hash().as_str())
        .bind(account)
        .bind(now)
        .bind(new.expires)
        .bind(has_device)
        .execute(conn)
        .await)
}

/// Deletes all of an account's pending logins but the newest `most`.
pub async fn delete_oldest(tx: &mut WriteTx, account: &AccountId, most: i64) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_OLDEST).bind(account).bind(most).execute(conn).await)
}

/// Finds the pending login with this token, unless it has expired.
pub async fn find(tx: &mut ReadTx, token: &TokenHash, now: UnixMillis) -> sqlx::Result<Option<PendingLogin>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(token.as_str()).bind(now).fetch_optional(conn).await)
}

/// Counts an attempt and returns the number of attempts; `None` if the login has ended.
pub async fn try_one(tx: &mut WriteTx, id: &PendingLoginId, now: UnixMillis) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(TRY).bind(id).bind(now).fetch_optional(conn).await)
}

/// Deletes a pending login.
pub async fn delete(tx: &mut WriteTx, id: &PendingLoginId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE).bind(id).execute(conn).await)
}

/// Deletes all of an account's pending logins: after a password change, and when its last factor is removed.
pub async fn cancel(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CANCEL).bind(account).execute(conn).await)
}
