//! SQL of registrations.

use shared::ids::RegistrationId;
use shared::limit::wide_network;
use shared::time::UnixMillis;

use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::audit::ClientAddress;
use crate::domain::credentials::token::TokenHash;
use crate::infra::db::expiry::Expiry;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// Each row is newer than the others of its address, even within one millisecond.
const INSERT: &str = "INSERT INTO registrations (id, email, name, password_hash, token_hash, token_expires, created_by, network, is_decoy, \
    created_time) VALUES ($1, $2, $3, $4, $5, $6, $8, $9, $10, \
    COALESCE((SELECT MAX(created_time) + 1 FROM registrations WHERE email = $2 AND created_time >= $7), $7))";
const FIND: &str = "SELECT email, name, password_hash, created_time, created_by FROM registrations \
    WHERE token_hash = $1 AND token_expires > $2 AND created_time > $3 AND NOT is_decoy";
// Rows of an earlier release have no network, only the address. A decoy is the last choice: once its account is deleted, the address may be
// registered again.
const RENEW: &str = "UPDATE registrations SET token_hash = $3, token_expires = $4 WHERE id = \
    (SELECT id FROM registrations WHERE email = $1 AND created_time > $2 \
    ORDER BY CASE WHEN is_decoy THEN 1 ELSE 0 END, CASE WHEN network = $5 OR (network = '' AND created_by = $6) THEN 0 ELSE 1 END, created_time DESC LIMIT 1) \
    RETURNING created_time, created_by, is_decoy";
// No token hashes to an id, and ids are unique, as the hashes must be.
const RETIRE: &str = "UPDATE registrations SET is_decoy = TRUE, name = NULL, token_hash = id, token_expires = 0, \
    password_hash = CASE WHEN token_hash = $2 THEN COALESCE($3, password_hash) ELSE password_hash END WHERE email = $1";

const EXPIRED: &str = "SELECT id, id FROM registrations WHERE created_time <= $1 ORDER BY created_time LIMIT $2";
const DELETE_EXPIRED: &str = "DELETE FROM registrations WHERE id = $1 AND id = $2 AND created_time <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[INSERT, FIND, RENEW, RETIRE, EXPIRED, DELETE_EXPIRED];

/// Registrations that were never verified.
pub const EXPIRY: Expiry = Expiry { due: EXPIRED, delete: DELETE_EXPIRED, after: PENDING_LIFETIME };

/// A registration to store.
#[derive(Debug)]
pub struct NewRegistrationRow<'a> {
    /// Its id.
    pub id: &'a RegistrationId,
    /// The normalized address.
    pub email: &'a str,
    /// The display name.
    pub name: Option<&'a str>,
    /// The PHC string.
    pub password_hash: &'a str,
    /// The hash of the email's token; a decoy's token is never sent.
    pub token: &'a TokenHash,
    /// When the token expires.
    pub token_expires: UnixMillis,
    /// The client address.
    pub created_by: &'a str,
    /// The network of that address.
    pub network: &'a str,
    /// Whether it is a decoy, for an address that already has an account.
    pub is_decoy: bool,
    /// When it was created.
    pub created: UnixMillis,
}

/// A registration found by its token.
#[derive(Debug, sqlx::FromRow)]
pub struct RegistrationRow {
    /// The address.
    pub email: String,
    /// The display name.
    pub name: Option<String>,
    /// The PHC string.
    pub password_hash: String,
    /// When it was created.
    pub created_time: UnixMillis,
    /// The client address that registered.
    pub created_by: String,
}

/// A registration that got a new token.
#[derive(Debug, sqlx::FromRow)]
pub struct Renewed {
    /// When it was created.
    pub created_time: UnixMillis,
    /// The client address that registered.
    pub created_by: String,
    /// Whether it is a decoy.
    pub is_decoy: bool,
}

/// Stores a registration.
pub async fn insert(tx: &mut WriteTx, new: &NewRegistrationRow<'_>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(new.id)
        .bind(new.email)
        .bind(new.name)
        .bind(new.password_hash)
        .bind(new.token.as_str())
        .bind(new.token_expires)
        .bind(new.created)
        .bind(new.created_by)
        .bind(new.network)
        .bind(new.is_decoy)
        .execute(conn)
        .await)
}

/// Finds the registration with this token, unless the token has expired or the registration was created before `since`. Decoys are never found.
pub async fn find(tx: &mut ReadTx, token: &TokenHash, now: UnixMillis, since: UnixMillis) -> sqlx::Result<Option<RegistrationRow>> {
    on!(tx, |conn| sqlx::query_as(FIND).bind(token.as_str()).bind(now).bind(since).fetch_optional(conn).await)
}

/// Replaces the token of one registration (or decoy) of an address: the newest from the network of `from`, else the newest of all.
pub async fn renew(
    tx: &mut WriteTx,
    email: &str,
    from: ClientAddress,
    since: UnixMillis,
    token: &TokenHash,
    expires: UnixMillis,
) -> sqlx::Result<Option<Renewed>> {
    let (network, address) = (wide_network(from.0), from.0.to_string());
    on!(tx, |conn| sqlx::query_as(RENEW)
        .bind(email)
        .bind(since)
        .bind(token.as_str())
        .bind(expires)
        .bind(&network)
        .bind(&address)
        .fetch_optional(conn)
        .await)
}

/// Turns all registrations of an address into decoys, which expire when the registrations would have. Their tokens no longer work. The one with the
/// token `shown` gets the new `hash`, if given.
pub async fn retire(tx: &mut WriteTx, email: &str, shown: &TokenHash, hash: Option<&str>) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(RETIRE).bind(email).bind(shown.as_str()).bind(hash).execute(conn).await)
}
