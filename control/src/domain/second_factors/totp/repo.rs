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
// Of two concurrent uses of the same step, one finds it taken.
const TAKE: &str = "UPDATE authenticators SET last_step = $2 WHERE account_id = $1 AND last_step < $2";
const DELETE: &str = "DELETE FROM authenticators WHERE account_id = $1";
const DELETE_SETUP: &str = "DELETE FROM authenticator_setups WHERE account_id = $1";

/// A page of seeds, for [`crate::domain::encryption::sealed`].
pub const SEEDS: &str = "SELECT account_id, sealed FROM authenticators \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
/// Re-encrypts a seed.
pub const MOVE: &str = "UPDATE authenticators SET sealed = $3 WHERE account_id = $1 AND sealed = $2";
/// A page of unconfirmed seeds, for [`crate::domain::encryption::sealed`].
pub const SETUPS: &str = "SELECT account_id, sealed FROM authenticator_setups \
    WHERE account_id > $1 AND substr(sealed, 1, CAST($2 AS INTEGER)) <> $3 ORDER BY account_id LIMIT $4";
/// Re-encrypts an unconfirmed seed.
pub const MOVE_SETUP: &str = "UPDATE authenticator_setups SET sealed = $3 WHERE account_id = $1 AND sealed = $2";

const EXPIRED: &str = "SELECT account_id, account_id FROM authenticator_setups WHERE expires <= $1 ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM authenticator_setups WHERE account_id = $1 AND account_id = $2 AND expires <= $3";

/// Every statement of this file.
pub const SQL: &[&str] =
    &[FIND, FIND_SETUP, SET_UP, END_SETUP, REPLACE, TAKE, DELETE, DELETE_SETUP, EXPIRED, DELETE_EXPIRED, SEEDS, MOVE, SETUPS, MOVE_SETUP];

/// Expired, unconfirmed seeds.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: 0 };

/// The encrypted seed of the account's authenticator app.
pub async fn find(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<Option<Vec<u8>>> {
    on!(tx, |conn| sqlx::query_scalar(FIND).bind(account).fetch_optional(conn).await)
}

/// An unconfirmed seed.
#[derive(Debug, sqlx::FromRow)]
pub struct Setup {
    /// The encrypted seed.
    pub sealed: Vec<u8>,
    /// When it expires.
    pub expires: UnixMillis,
}

/// Finds the account's unconfirmed seed, unless it has expired.
pub async fn find_setup(tx: &mut ReadTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<Option<Setup>> {
    on!(tx, |conn| sqlx::query_as(FIND_SETUP).bind(account).bind(now).fetch_optional(conn).await)
}

/// Stores an unconfirmed seed, replacing an earlier one.
pub async fn set_up(tx: &mut WriteTx, account: &AccountId, sealed: &[u8], expires: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SET_UP).bind(account).bind(sealed).bind(expires).execute(conn).await)
}

/// Deletes a seed that was just confirmed; 0 rows if it has been replaced since.
pub async fn end_setup(tx: &mut WriteTx, account: &AccountId, sealed: &[u8]) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(END_SETUP).bind(account).bind(sealed).execute(conn).await)
}

/// Stores the account's authenticator app, replacing an earlier one. `step` is the time step of the code that confirmed it.
pub async fn replace(tx: &mut WriteTx, account: &AccountId, sealed: &[u8], step: i64, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(REPLACE).bind(account).bind(sealed).bind(step).bind(now).execute(conn).await)
}

/// Takes a time step, once; `false` if this step or a later one was taken before.
pub async fn take_step(tx: &mut WriteTx, account: &AccountId, step: i64) -> sqlx::Result<bool> {
    let taken = on_write!(tx, |conn| sqlx::query(TAKE).bind(account).bind(step).execute(conn).await)?;
    Ok(taken > 0)
}

/// Deletes the account's authenticator app; 0 rows if there is none.
pub async fn delete(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(DELETE_SETUP).bind(account).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(DELETE).bind(account).execute(conn).await)
}
