//! SQL of authenticator apps.

use shared::ids::AccountId;
use shared::time::UnixMillis;

use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const FIND: &str = "SELECT sealed FROM authenticators WHERE account_id = $1";
const FIND_SETUP: &str = "SELECT sealed, expires FROM authenticator_setups WHERE account_id = $1 AND expires > $2";
const SET_UP: &str = "INSERT INTO authenticator_setups (account_id, sealed, expires) VALUES ($1, $2, $3) \
    ON CONFLICT (account_id) DO UPDATE SET sealed = excluded.sealed, expires = excluded.expires";
const END_SETUP: &str = "DELETE FROM authenticator_setups WHERE account_id = $1 AND sealed = $2";
const REPLACE: &str = "INSERT INTO authenticators (account_id, sealed, last_step, created_time) VALUES ($1, $2, $3, $4) \
    ON CONFLICT (account_id) DO UPDATE SET sealed = excluded.sealed, last_step = excluded.last_step, created_time = excluded.created_time";
// Of two at once with the same step one finds it taken.
const TAKE_STEP: &str = "UPDATE authenticators SET last_step = $2 WHERE account_id = $1 AND last_step < $2";
const DELETE: &str = "DELETE FROM authenticators WHERE account_id = $1";
const DELETE_SETUP: &str = "DELETE FROM authenticator_setups WHERE account_id = $1";

const EXPIRED: &str = "SELECT account_id, account_id FROM authenticator_setups WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM authenticator_setups WHERE account_id = $1 AND account_id = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, FIND_SETUP, SET_UP, END_SETUP, REPLACE, TAKE_STEP, DELETE, DELETE_SETUP, EXPIRED, DELETE_EXPIRED];

/// Seeds that were not confirmed in time.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// The sealed seed of the account's authenticator app.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<Vec<u8>>> {
    on!(tx, |conn| sqlx::query_scalar(FIND).bind(account).fetch_optional(conn).await)
}

/// A seed that waits to be confirmed.
#[derive(Debug, sqlx::FromRow)]
pub struct Setup {
    /// The seed, sealed.
    pub sealed: Vec<u8>,
    /// Until when it waits.
    pub expires: UnixMillis,
}

/// The sealed seed that waits to be confirmed, unless it waited too long.
pub async fn find_setup(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Option<Setup>> {
    on!(tx, |conn| sqlx::query_as(FIND_SETUP).bind(account).bind(now).fetch_optional(conn).await)
}

/// Keeps a seed that is to be confirmed, in the place of an earlier one.
pub async fn set_up(tx: &mut WriteTx, account: &AccountId, sealed: &[u8], expires: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_UP).bind(account).bind(sealed).bind(expires).execute(conn).await)
}

/// Uses a seed up that was confirmed; 0 rows when another has taken its place since.
pub async fn end_setup(tx: &mut WriteTx, account: &AccountId, sealed: &[u8]) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(END_SETUP).bind(account).bind(sealed).execute(conn).await)
}

/// Gives the account this authenticator app, in the place of an earlier one. `step` is the one that it was confirmed by.
pub async fn replace(tx: &mut WriteTx, account: &AccountId, sealed: &[u8], step: i64, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REPLACE).bind(account).bind(sealed).bind(step).bind(now).execute(conn).await)
}

/// Takes a step, once: `false` when it, or a later one, was taken before.
pub async fn take_step(tx: &mut WriteTx, account: &AccountId, step: i64) -> sqlx::Result<bool> {
    let taken = on_write!(tx, |conn| sqlx::query(TAKE_STEP).bind(account).bind(step).execute(conn).await)?;
    Ok(taken > 0)
}

/// Removes the account's authenticator app; 0 rows when there is none.
pub async fn delete(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_SETUP).bind(account).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(DELETE).bind(account).execute(conn).await)
}
