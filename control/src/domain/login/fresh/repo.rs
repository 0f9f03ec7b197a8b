//! SQL of what a session has shown, and when.

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

const SINCE: &str = "SELECT COALESCE(reauthenticated_time, created_time) FROM access_keys WHERE account_id = $1 AND id = $2";
const RENEW: &str = "UPDATE access_keys SET reauthenticated_time = $3 WHERE account_id = $1 AND id = $2";

/// Every statement of this file.
pub const SQL: &[&str] = &[SINCE, RENEW];

/// When the owner of a session last showed who they are: at the login, or since.
pub async fn since(tx: &mut ReadTx, account: &AccountId, session: &AccessKeyId) -> sqlx::Result<Option<UnixMillis>> {
    on!(tx, |conn| sqlx::query_scalar(SINCE).bind(account).bind(session).fetch_optional(conn).await)
}

/// Notes that the owner of a session has shown it again.
pub async fn renew(tx: &mut WriteTx, account: &AccountId, session: &AccessKeyId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RENEW).bind(account).bind(session).bind(now).execute(conn).await)
}
