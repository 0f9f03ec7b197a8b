//! SQL of idempotency keys.

use shared::hash::Sha256Hex;
use shared::ids::AccountId;
use shared::time::UnixMillis;

use super::IdempotencyKey;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// An expired row may still be there; then its key is taken over. On PostgreSQL, this waits for a transaction that has claimed the same key.
const CLAIM: &str = "INSERT INTO idempotency_keys (account_id, key, fingerprint, answer, expires) VALUES ($1, $2, $3, NULL, $4) \
    ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = NULL, expires = excluded.expires \
    WHERE idempotency_keys.expires <= $5";
const COMPLETE: &str = "UPDATE idempotency_keys SET answer = $3 WHERE account_id = $1 AND key = $2";
const FIND: &str = "SELECT fingerprint, answer FROM idempotency_keys WHERE account_id = $1 AND key = $2 AND expires > $3";

const EXPIRED: &str = "SELECT account_id, key FROM idempotency_keys WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM idempotency_keys WHERE account_id = $1 AND key = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[CLAIM, COMPLETE, FIND, EXPIRED, DELETE_EXPIRED];

/// Expired keys.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// A key that is in use.
#[derive(Debug, sqlx::FromRow)]
pub struct KeyRow {
    /// Which request it is for.
    pub fingerprint: Sha256Hex,
    /// The answer; `None` only within the transaction that claimed the key.
    pub answer: Option<String>,
}

/// Claims a key until `expires`; `false` if it is in use. Locks the row until the transaction ends.
pub async fn claim(
    tx: &mut WriteTx,
    account: &AccountId,
    key: &IdempotencyKey,
    fingerprint: &Sha256Hex,
    expires: UnixMillis,
    now: UnixMillis,
) -> sqlx::Result<bool> {
    let claimed = on_write!(tx, |conn| sqlx::query(CLAIM)
        .bind(account)
        .bind(key.as_str())
        .bind(fingerprint)
        .bind(expires)
        .bind(now)
        .execute(conn)
        .await)?;
    Ok(claimed == 1)
}

/// Stores the answer of a claimed key.
pub async fn complete(tx: &mut WriteTx, account: &AccountId, key: &IdempotencyKey, answer: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(COMPLETE).bind(account).bind(key.as_str()).bind(answer).execute(conn).await)
}

/// A key that is in use.
pub async fn find(tx: &mut ReadTx, account: &AccountId, key: &IdempotencyKey, now: UnixMillis) -> sqlx::Result<Option<KeyRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(account).bind(key.as_str()).bind(now).fetch_optional(conn).await)
}
