//! The networks that an account signed in from, to detect a new one.

use shared::ids::AccountId;
use shared::limit::wide_network;
use shared::time::UnixMillis;

use crate::domain::accounts;
use crate::domain::audit::ClientAddress;
use crate::domain::context::Context;
use crate::domain::error::Result;
use crate::domain::traces::Warning;
use crate::infra::db::WriteTx;
use crate::infra::db::expiry::Expiry;
use crate::{on, on_write};

const FIND: &str = "SELECT last_time FROM sign_in_networks WHERE account_id = $1 AND network = $2";
const NOTE: &str = "INSERT INTO sign_in_networks (account_id, network, last_time) VALUES ($1, $2, $3) \
    ON CONFLICT (account_id, network) DO UPDATE SET last_time = excluded.last_time";
const DELETE_OLDEST: &str = "DELETE FROM sign_in_networks WHERE account_id = $1 AND network NOT IN \
    (SELECT network FROM sign_in_networks WHERE account_id = $1 ORDER BY last_time DESC, network LIMIT $2)";

const EXPIRED: &str = "SELECT account_id, network FROM sign_in_networks WHERE last_time <= $1 ORDER BY last_time LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM sign_in_networks WHERE account_id = $1 AND network = $2 AND last_time <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[FIND, NOTE, DELETE_OLDEST, EXPIRED, DELETE_EXPIRED];

/// Networks not used for [`REMEMBERED`].
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: REMEMBERED };

/// How long a network is remembered, in milliseconds: 90 days.
pub const REMEMBERED: i64 = 90 * 86_400_000;

/// Networks kept per account.
const MAX_NETWORKS: i64 = 100;

/// Records a sign-in. Warns the owner if it comes from a new network without a device cookie, except for the account's first network. The account
/// must be locked.
pub async fn note(tx: &mut WriteTx, app: &Context, account: &AccountId, from: ClientAddress, has_device: bool) -> Result<()> {
    let (network, now) = (wide_network(from.0), app.now());
    let is_first = accounts::repo::begin_networks(tx, account).await? > 0;
    let last: Option<UnixMillis> = on!(tx, |conn| sqlx::query_scalar(FIND).bind(account).bind(&network).fetch_optional(conn).await)?;
    on_write!(tx, |conn| sqlx::query(NOTE).bind(account).bind(&network).bind(now).execute(conn).await)?;
    if last.is_none() {
        on_write!(tx, |conn| sqlx::query(DELETE_OLDEST).bind(account).bind(MAX_NETWORKS).execute(conn).await)?;
    }
    let is_known = last.is_some_and(|last| now.0.saturating_sub(last.0) < REMEMBERED);
    if is_known || has_device || is_first {
        return Ok(());
    }
    super::enqueue(tx, app, account, Warning::NewNetwork, from).await
}
