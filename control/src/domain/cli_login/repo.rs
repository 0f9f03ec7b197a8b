//! SQL of CLI authorization requests.
//!
//! Lock order: to approve a request, or to change an approved one, lock the account's row before the request's. This serializes password changes and
//! exchanges, and prevents deadlocks.

use shared::ids::{AccessKeyId, AccountId, CliAuthorizationId};
use shared::time::UnixMillis;

use super::request::{AuthorizationRow, Mode};
use super::user_code::UserCode;
use crate::domain::accounts;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// The poll interval in milliseconds, and the amount by which each poll that is too fast increases it (RFC 8628 section 3.5).
pub const INTERVAL: i64 = 5_000;

// A duplicate user code is not an error: the caller generates another one.
const INSERT: &str = "INSERT INTO cli_authorizations (id, mode, status, code_challenge, redirect_uri, state, device_code_hash, user_code, \
    poll_interval, next_poll_time, device_id, device_name, client_name, client_version, client_platform, created_by, created_time, expires) \
    VALUES ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $9, $16) ON CONFLICT DO NOTHING";
const FIND: &str = "SELECT id, mode, status, code_challenge, redirect_uri, state, code_expires, next_poll_time, device_id, device_name, client_name, \
    client_version, client_platform, created_by, created_time, expires, account_id, session_id, credential_id \
    FROM cli_authorizations WHERE id = $1";
const FIND_BY_CODE: &str = "SELECT id, mode, status, code_challenge, redirect_uri, state, code_expires, next_poll_time, device_id, device_name, \
    client_name, client_version, client_platform, created_by, created_time, expires, account_id, session_id, credential_id \
    FROM cli_authorizations WHERE code_hash = $1";
const FIND_BY_DEVICE_CODE: &str = "SELECT id, mode, status, code_challenge, redirect_uri, state, code_expires, next_poll_time, device_id, \
    device_name, client_name, client_version, client_platform, created_by, created_time, expires, account_id, session_id, credential_id \
    FROM cli_authorizations WHERE device_code_hash = $1";
const FIND_BY_USER_CODE: &str =
    "SELECT id FROM cli_authorizations WHERE user_code = $1 AND status = 'pending' AND expires > $2 AND created_time > $3";
const LOCK: &str = "SELECT id, mode, status, code_challenge, redirect_uri, state, code_expires, next_poll_time, device_id, device_name, client_name, \
    client_version, client_platform, created_by, created_time, expires, account_id, session_id, credential_id \
    FROM cli_authorizations WHERE id = $1 FOR NO KEY UPDATE";
const DECIDE: &str = "UPDATE cli_authorizations SET status = $2, account_id = $3, session_id = $4, code_hash = $5, code_expires = $6 \
    WHERE id = $1 AND status = 'pending' AND expires > $7 AND created_time > $8";
const POLL: &str = "UPDATE cli_authorizations SET next_poll_time = $2 + poll_interval \
    WHERE id = $1 AND status = 'pending' AND expires > $2 AND next_poll_time <= $2";
const SLOW_DOWN: &str = "UPDATE cli_authorizations SET next_poll_time = $2 + poll_interval + $3, poll_interval = poll_interval + $3 \
    WHERE id = $1 AND status = 'pending' AND expires > $2";
const CONSUME: &str = "UPDATE cli_authorizations SET status = 'consumed', credential_id = $2 WHERE id = $1";
const END: &str = "UPDATE cli_authorizations SET status = 'ended' WHERE id = $1";
const CANCEL: &str = "UPDATE cli_authorizations SET status = 'cancelled' WHERE account_id = $1 AND status = 'approved'";
const CANCEL_ONE: &str = "UPDATE cli_authorizations SET status = 'cancelled' WHERE id = $1";

const EXPIRED: &str =
    "SELECT id, id FROM cli_authorizations WHERE expires <= $1 AND (code_expires IS NULL OR code_expires <= $1) ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str =
    "DELETE FROM cli_authorizations WHERE id = $1 AND id = $2 AND expires <= $3 AND (code_expires IS NULL OR code_expires <= $3)";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[
    INSERT,
    FIND,
    FIND_BY_CODE,
    FIND_BY_DEVICE_CODE,
    FIND_BY_USER_CODE,
    LOCK,
    DECIDE,
    POLL,
    SLOW_DOWN,
    CONSUME,
    END,
    CANCEL,
    CANCEL_ONE,
    EXPIRED,
    DELETE_EXPIRED,
];

/// How long an expired request is kept, in milliseconds: a CLI that asks is told that it expired, and a reused code is recognized.
const RETENTION: i64 = 60 * 60_000;

/// Deletion of expired requests.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: RETENTION };

/// The data of a new request, by flow. It has no `Debug`, because of the state.
pub enum NewFlow<'a> {
    /// Authorization code flow: through a browser on the same machine.
    Browser {
        /// The hash of the verifier, base64url-encoded.
        code_challenge: &'a str,
        /// Where the browser delivers the code.
        redirect_uri: &'a str,
        /// The state that the redirect returns to the CLI.
        state: Option<&'a str>,
    },
    /// Device flow: with a code that the user enters.
    Device {
        /// The hash of the code that the CLI polls with.
        device_code: &'a TokenHash,
        /// The code that the user enters.
        user_code: &'a UserCode,
    },
}

/// A request to insert.
pub struct NewAuthorizationRow<'a> {
    /// Its ID.
    pub id: &'a CliAuthorizationId,
    /// The flow and its data.
    pub flow: NewFlow<'a>,
    /// How the CLI describes itself.
    pub device: &'a Device,
    /// The client address that created it.
    pub created_by: &'a str,
    /// When it was created.
    pub created: UnixMillis,
    /// When it expires.
    pub expires: UnixMillis,
}

/// The decision on a request.
#[derive(Debug)]
pub enum Decision<'a> {
    /// Approved.
    Approve {
        /// The session that approves it.
        session: &'a AccessKeyId,
        /// The hash of its code and when the code expires; none for the device flow.
        code: Option<(&'a TokenHash, UnixMillis)>,
    },
    /// Denied.
    Deny,
}

/// Inserts a request; 0 rows when its user code is taken.
pub async fn insert(tx: &mut WriteTx, new: &NewAuthorizationRow<'_>) -> sqlx::Result<u64> {
    let (mode, browser, device) = match &new.flow {
        NewFlow::Browser { code_challenge, redirect_uri, state } => (Mode::Pkce, Some((*code_challenge, *redirect_uri, *state)), None),
        NewFlow::Device { device_code, user_code } => (Mode::Device, None, Some((device_code.as_str(), user_code.as_str()))),
    };
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(new.id)
        .bind(mode.as_str())
        .bind(browser.map(|(code_challenge, ..)| code_challenge))
        .bind(browser.map(|(_, redirect_uri, _)| redirect_uri))
        .bind(browser.and_then(|(.., state)| state))
        .bind(device.map(|(device_code, _)| device_code))
        .bind(device.map(|(_, user_code)| user_code))
        .bind(INTERVAL)
        .bind(new.created)
        .bind(new.device.id.as_deref())
        .bind(new.device.name.as_deref())
        .bind(new.device.client_name.as_deref())
        .bind(new.device.client_version.as_deref())
        .bind(new.device.client_platform.as_deref())
        .bind(new.created_by)
        .bind(new.expires)
        .execute(conn)
        .await)
}

/// One request.
pub async fn find(tx: &mut ReadTx, id: &CliAuthorizationId) -> sqlx::Result<Option<AuthorizationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(id).fetch_optional(conn).await)
}

/// The approved request with this authorization code.
pub async fn find_by_code(tx: &mut ReadTx, code: &TokenHash) -> sqlx::Result<Option<AuthorizationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_CODE).bind(code.as_str()).fetch_optional(conn).await)
}

/// The request with this device code.
pub async fn find_by_device_code(tx: &mut ReadTx, code: &TokenHash) -> sqlx::Result<Option<AuthorizationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_DEVICE_CODE).bind(code.as_str()).fetch_optional(conn).await)
}

/// The pending request with this user code, if it was created after `cancelled`.
pub async fn find_by_user_code(
    tx: &mut ReadTx,
    code: &UserCode,
    now: UnixMillis,
    cancelled: UnixMillis,
) -> sqlx::Result<Option<CliAuthorizationId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_BY_USER_CODE).bind(code.as_str()).bind(now).bind(cancelled).fetch_optional(conn).await)
}

/// One request, locked until the transaction ends.
pub async fn lock(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<Option<AuthorizationRow>> {
    let lock = tx.locking(LOCK);
    on!(tx, |conn| sqlx::query_as(lock).bind(id).fetch_optional(conn).await)
}

/// Decides on a request; 0 rows when it is no longer pending, or the account cannot decide on it.
pub async fn decide(
    tx: &mut WriteTx,
    id: &CliAuthorizationId,
    account: &AccountId,
    decision: &Decision<'_>,
    now: UnixMillis,
    cancelled: UnixMillis,
) -> sqlx::Result<u64> {
    let (status, session, code) = match decision {
        Decision::Approve { session, code } => ("approved", Some(*session), *code),
        Decision::Deny => ("denied", None, None),
    };
    on_write!(tx, |conn| sqlx::query(DECIDE)
        .bind(id)
        .bind(status)
        .bind(account)
        .bind(session)
        .bind(code.map(|(hash, _)| hash.as_str()))
        .bind(code.map(|(_, expires)| expires))
        .bind(now)
        .bind(cancelled)
        .execute(conn)
        .await)
}

/// Records a poll at the right interval; 0 rows when it is too fast, or the request is no longer pending.
pub async fn poll(tx: &mut WriteTx, id: &CliAuthorizationId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(POLL).bind(id).bind(now).execute(conn).await)
}

/// Increases the poll interval; 0 rows when the request is no longer pending.
pub async fn slow_down(tx: &mut WriteTx, id: &CliAuthorizationId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SLOW_DOWN).bind(id).bind(now).bind(INTERVAL).execute(conn).await)
}

/// Records what a locked request was exchanged for.
pub async fn consume(tx: &mut WriteTx, id: &CliAuthorizationId, credential: &AccessKeyId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CONSUME).bind(id).bind(credential).execute(conn).await)
}

/// Ends a locked request, so that it can no longer be used.
pub async fn end(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(END).bind(id).execute(conn).await)
}

/// Cancels a locked request.
pub async fn cancel_one(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CANCEL_ONE).bind(id).execute(conn).await)
}

/// Cancels the account's approved requests, and for this account all pending ones. Its row must be locked already, by the password change.
pub async fn cancel(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<()> {
    accounts::repo::note_cli_cancelled(tx, account, now).await?;
    on_write!(tx, |conn| sqlx::query(CANCEL).bind(account).execute(conn).await)?;
    Ok(())
}
