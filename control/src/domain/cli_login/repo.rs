//! SQL of command lines' requests.
//!
//! Whoever changes a request that is approved, or approves one, locks the account's row before the request's: so a new password and an exchange follow
//! one another, and none of them waits in a circle.

use shared::ids::{AccessKeyId, AccountId, CliAuthorizationId};
use shared::time::UnixMillis;

use super::request::{AuthorizationRow, Mode};
use super::user_code::UserCode;
use crate::domain::credentials::session::Device;
use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

/// How long a device waits between two polls, in milliseconds, and how much longer after each that was too fast (RFC 8628 part 3.5).
pub const INTERVAL: i64 = 5_000;

// A user code that another request has is no error: the caller makes another one.
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
const CANCELLED_TIME: &str = "SELECT cli_cancelled_time FROM accounts WHERE id = $1";
const LOCK_ACCOUNT: &str = "SELECT email, cli_cancelled_time FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
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
const NOTE_CANCELLED: &str = "UPDATE accounts SET cli_cancelled_time = $2 WHERE id = $1";
const CANCEL: &str = "UPDATE cli_authorizations SET status = 'cancelled' WHERE account_id = $1 AND status = 'approved'";
const CANCEL_ONE: &str = "UPDATE cli_authorizations SET status = 'cancelled' WHERE id = $1";

const EXPIRED: &str =
    "SELECT id, id FROM cli_authorizations WHERE expires <= $1 AND (code_expires IS NULL OR code_expires <= $1) ORDER BY expires LIMIT $2";
const DELETE_EXPIRED: &str =
    "DELETE FROM cli_authorizations WHERE id = $1 AND id = $2 AND expires <= $3 AND (code_expires IS NULL OR code_expires <= $3)";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    INSERT,
    FIND,
    FIND_BY_CODE,
    FIND_BY_DEVICE_CODE,
    FIND_BY_USER_CODE,
    CANCELLED_TIME,
    LOCK_ACCOUNT,
    LOCK,
    DECIDE,
    POLL,
    SLOW_DOWN,
    CONSUME,
    END,
    NOTE_CANCELLED,
    CANCEL,
    CANCEL_ONE,
    EXPIRED,
    DELETE_EXPIRED,
];

/// How long a request of a command line is kept after its time has run out, in milliseconds: whoever asks for it is told so, and a code that comes
/// again is known.
const KEPT: i64 = 60 * 60_000;

/// Requests whose time has run out.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: KEPT };

/// What a request has by the way that it comes. It cannot be printed, for the sake of the state.
pub enum NewWay<'a> {
    /// Through a browser on the same machine.
    Browser {
        /// The hash of the verifier, base64url.
        code_challenge: &'a str,
        /// Where the browser takes the code.
        redirect_uri: &'a str,
        /// What the command line wants to see again.
        state: Option<&'a str>,
    },
    /// By a code that the user copies.
    Device {
        /// The hash of what the command line polls with.
        device_code: &'a TokenHash,
        /// What the user copies.
        user_code: &'a UserCode,
    },
}

/// A request to be stored.
pub struct NewAuthorizationRow<'a> {
    /// Its id.
    pub id: &'a CliAuthorizationId,
    /// By which way.
    pub way: NewWay<'a>,
    /// What the command line says of itself.
    pub device: &'a Device,
    /// The address it is made from.
    pub created_by: &'a str,
    /// When it is made.
    pub created: UnixMillis,
    /// Until when it can be decided on.
    pub expires: UnixMillis,
}

/// What is decided on a request.
#[derive(Debug)]
pub enum Decision<'a> {
    /// It is let in.
    Approve {
        /// The session that lets it in.
        session: &'a AccessKeyId,
        /// The hash of its code and until when that is good; none for devices.
        code: Option<(&'a TokenHash, UnixMillis)>,
    },
    /// It is not.
    Deny,
}

/// An account, whose row is locked until the transaction ends.
#[derive(Debug, sqlx::FromRow)]
pub struct Owner {
    /// Its address.
    pub email: String,
    #[sqlx(rename = "cli_cancelled_time")]
    cancelled: Option<UnixMillis>,
}

impl Owner {
    /// The account cannot decide on requests that were made at this time or before.
    pub fn cancelled(&self) -> UnixMillis {
        self.cancelled.unwrap_or(UnixMillis(i64::MIN))
    }
}

/// Stores a request; 0 rows when its user code is another one's.
pub async fn insert(tx: &mut WriteTx, new: &NewAuthorizationRow<'_>) -> sqlx::Result<u64> {
    let (mode, browser, device) = match &new.way {
        NewWay::Browser { code_challenge, redirect_uri, state } => (Mode::Pkce, Some((*code_challenge, *redirect_uri, *state)), None),
        NewWay::Device { device_code, user_code } => (Mode::Device, None, Some((device_code.as_str(), user_code.as_str()))),
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

/// The request that was approved with this code.
pub async fn find_by_code(tx: &mut ReadTx, code: &TokenHash) -> sqlx::Result<Option<AuthorizationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_CODE).bind(code.as_str()).fetch_optional(conn).await)
}

/// The request that is polled for with this code.
pub async fn find_by_device_code(tx: &mut ReadTx, code: &TokenHash) -> sqlx::Result<Option<AuthorizationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND_BY_DEVICE_CODE).bind(code.as_str()).fetch_optional(conn).await)
}

/// The pending request with this user code that was made after `cancelled`.
pub async fn find_by_user_code(
    tx: &mut ReadTx,
    code: &UserCode,
    now: UnixMillis,
    cancelled: UnixMillis,
) -> sqlx::Result<Option<CliAuthorizationId>> {
    on!(tx, |conn| sqlx::query_scalar(FIND_BY_USER_CODE).bind(code.as_str()).bind(now).bind(cancelled).fetch_optional(conn).await)
}

/// The account cannot decide on requests that were made at this time or before.
pub async fn cancelled_time(tx: &mut ReadTx, account: &AccountId) -> sqlx::Result<UnixMillis> {
    let found: Option<Option<UnixMillis>> = on!(tx, |conn| sqlx::query_scalar(CANCELLED_TIME).bind(account).fetch_optional(conn).await)?;
    Ok(found.flatten().unwrap_or(UnixMillis(i64::MIN)))
}

/// Holds the account until the transaction ends; none when it is deleted.
pub async fn lock_account(tx: &mut WriteTx, account: &AccountId) -> sqlx::Result<Option<Owner>> {
    let lock = tx.locking(LOCK_ACCOUNT);
    on!(tx, |conn| sqlx::query_as(lock).bind(account).fetch_optional(conn).await)
}

/// One request, which nobody else changes before this transaction ends.
pub async fn lock(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<Option<AuthorizationRow>> {
    let lock = tx.locking(LOCK);
    on!(tx, |conn| sqlx::query_as(lock).bind(id).fetch_optional(conn).await)
}

/// Decides on a request; 0 rows when it is no longer pending, or when the account cannot decide on it.
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

/// Notes a poll that keeps its interval; 0 rows when it does not, or when the request is no longer pending.
pub async fn poll(tx: &mut WriteTx, id: &CliAuthorizationId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(POLL).bind(id).bind(now).execute(conn).await)
}

/// Makes the interval longer; 0 rows when the request is no longer pending.
pub async fn slow_down(tx: &mut WriteTx, id: &CliAuthorizationId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(SLOW_DOWN).bind(id).bind(now).bind(INTERVAL).execute(conn).await)
}

/// Notes what a locked request was exchanged for.
pub async fn consume(tx: &mut WriteTx, id: &CliAuthorizationId, credential: &AccessKeyId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CONSUME).bind(id).bind(credential).execute(conn).await)
}

/// Ends a locked request, so that it is good for nothing more.
pub async fn end(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(END).bind(id).execute(conn).await)
}

/// Cancels a locked request.
pub async fn cancel_one(tx: &mut WriteTx, id: &CliAuthorizationId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(CANCEL_ONE).bind(id).execute(conn).await)
}

/// Cancels what the account has approved, and for this account what is pending. The account's row must be locked already: by its new password.
pub async fn cancel(tx: &mut WriteTx, account: &AccountId, now: UnixMillis) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(NOTE_CANCELLED).bind(account).bind(now).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(CANCEL).bind(account).execute(conn).await)?;
    Ok(())
}
