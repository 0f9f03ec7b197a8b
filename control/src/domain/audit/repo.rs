//! SQL of the audit trail.

use std::ops::Range;

use shared::ids::{AccountId, AppId, AuditEventId};
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// Locks the head row until the transaction ends, which serializes concurrent changes.
const NEXT: &str = "UPDATE audit_head SET seq = seq + 1 WHERE id = 1 RETURNING seq, hash";
const INSERT: &str = "INSERT INTO audit_events (seq, id, time, account_id, credential_id, credential_kind, client_address, action, object_kind, \
    object_id, app_id, details, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
const SET_HEAD: &str = "UPDATE audit_head SET hash = $1 WHERE id = 1";
const HEAD: &str = "SELECT seq, hash FROM audit_head WHERE id = 1";
const FROM: &str = "SELECT seq, id, time, account_id, credential_id, credential_kind, client_address, action, object_kind, object_id, app_id, \
    details, hash FROM audit_events WHERE seq >= $1 ORDER BY seq LIMIT $2";
const OF_APP: &str = "SELECT e.seq, e.id, e.time, e.account_id, e.credential_id, e.credential_kind, e.client_address, e.action, e.object_kind, \
    e.object_id, e.app_id, e.details, e.hash, a.email, o.email AS object_email FROM audit_events e LEFT JOIN accounts a ON a.id = e.account_id \
    LEFT JOIN accounts o ON o.id = e.object_id AND e.object_kind = 'account' \
    WHERE e.app_id = $1 AND e.seq < $2 AND e.seq >= $3 AND e.time >= $4 AND e.time <= $5 \
    AND (CAST($6 AS TEXT) IS NULL OR a.email = $6 OR (e.account_id IS NULL AND e.credential_kind = $6)) \
    AND (CAST($7 AS TEXT) IS NULL OR e.action = $7) \
    AND (CAST($8 AS TEXT) IS NULL OR e.object_id = $8 OR REPLACE(e.details, $9, '') <> e.details) ORDER BY e.seq DESC LIMIT $10";
const AT_DEPTH: &str = "SELECT seq, id, time FROM audit_events WHERE app_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1 OFFSET $3";
const OF_OBJECT: &str = "SELECT e.seq, e.id, e.time, e.account_id, e.credential_id, e.credential_kind, e.client_address, e.action, e.object_kind, \
    e.object_id, e.app_id, e.details, e.hash, a.email, NULL AS object_email FROM audit_events e LEFT JOIN accounts a ON a.id = e.account_id \
    WHERE e.object_id = $1 AND e.object_kind = $2 AND e.app_id = $3 ORDER BY e.seq DESC LIMIT $4";
const PLACE: &str = "SELECT seq FROM audit_events WHERE app_id = $1 AND id = $2";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[NEXT, INSERT, SET_HEAD, HEAD, FROM, OF_APP, AT_DEPTH, OF_OBJECT, PLACE];

/// A row of the trail.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct EventRow {
    /// Its place in the chain, starting at 1, without gaps.
    pub seq: i64,
    /// Its ID.
    pub id: AuditEventId,
    /// When it happened.
    pub time: UnixMillis,
    /// The account that did it; none for callers without a credential and for the operator.
    pub account_id: Option<AccountId>,
    /// The credential used.
    pub credential_id: Option<String>,
    /// The kind of that credential, or `none` or `operator`.
    pub credential_kind: String,
    /// The client address; none for the operator.
    pub client_address: Option<String>,
    /// What was done.
    pub action: String,
    /// The kind of object.
    pub object_kind: String,
    /// The object's ID; for an email address, its hash.
    pub object_id: String,
    /// The app it belongs to.
    pub app_id: Option<AppId>,
    /// Details, a JSON object.
    pub details: String,
    /// SHA-256 over the previous row's hash and all fields above.
    pub hash: String,
}

/// A row with the current emails of its account and of its object.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ResolvedRow {
    /// The row.
    #[sqlx(flatten)]
    pub event: EventRow,
    /// The account's email; none once the account is deleted.
    pub email: Option<String>,
    /// The object's email; none unless it is an account that exists.
    pub object_email: Option<String>,
}

/// Which rows of an app are read.
#[derive(Debug)]
pub struct Filter {
    /// The earliest time.
    pub from: UnixMillis,
    /// The latest time.
    pub to: UnixMillis,
    /// The current email of the account, or the kind of a credential without an account.
    pub person: Option<String>,
    /// The action.
    pub action: Option<&'static str>,
    /// A deployment.
    pub deployment: Option<OfDeployment>,
}

/// How rows refer to a deployment.
#[derive(Debug)]
pub struct OfDeployment {
    /// Its ID, of rows about the deployment itself; empty if it was deleted.
    pub id: String,
    /// What the details of rows about its releases contain: its name, as JSON.
    pub details: String,
}

/// Locks the head of the chain for a new row. Returns that row's place and the hash before it.
pub async fn next(tx: &mut WriteTx) -> sqlx::Result<(i64, String)> {
    on!(tx, |conn| sqlx::query_as(NEXT).fetch_one(conn).await)
}

/// Inserts a row and makes it the head of the chain.
pub async fn append(tx: &mut WriteTx, row: &EventRow) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(INSERT)
        .bind(row.seq)
        .bind(&row.id)
        .bind(row.time)
        .bind(&row.account_id)
        .bind(&row.credential_id)
        .bind(&row.credential_kind)
        .bind(&row.client_address)
        .bind(&row.action)
        .bind(&row.object_kind)
        .bind(&row.object_id)
        .bind(&row.app_id)
        .bind(&row.details)
        .bind(&row.hash)
        .execute(conn)
        .await)?;
    on_write!(tx, |conn| sqlx::query(SET_HEAD).bind(&row.hash).execute(conn).await)?;
    Ok(())
}

/// The head of the chain: the number of rows, and the last one's hash.
pub async fn head(tx: &mut ReadTx) -> sqlx::Result<Option<(i64, String)>> {
    on!(tx, |conn| sqlx::query_as(HEAD).fetch_optional(conn).await)
}

/// At most `count` rows, from this place in the chain onward.
pub async fn from(tx: &mut ReadTx, seq: i64, count: i64) -> sqlx::Result<Vec<EventRow>> {
    on!(tx, |conn| sqlx::query_as(FROM).bind(seq).bind(count).fetch_all(conn).await)
}

/// The app's row with `depth` of its rows between this place in the chain and it: its own place, ID and time.
pub async fn at_depth(tx: &mut ReadTx, app: &AppId, before: i64, depth: i64) -> sqlx::Result<Option<(i64, AuditEventId, UnixMillis)>> {
    on!(tx, |conn| sqlx::query_as(AT_DEPTH).bind(app).bind(before).bind(depth).fetch_optional(conn).await)
}

/// At most `count` rows of an app in this range of the chain, newest first.
pub async fn of_app(tx: &mut ReadTx, app: &AppId, filter: &Filter, places: Range<i64>, count: i64) -> sqlx::Result<Vec<ResolvedRow>> {
    on!(tx, |conn| sqlx::query_as(OF_APP)
        .bind(app)
        .bind(places.end)
        .bind(places.start)
        .bind(filter.from)
        .bind(filter.to)
        .bind(&filter.person)
        .bind(filter.action)
        .bind(filter.deployment.as_ref().map(|deployment| deployment.id.as_str()))
        .bind(filter.deployment.as_ref().map(|deployment| deployment.details.as_str()))
        .bind(count)
        .fetch_all(conn)
        .await)
}

/// At most `count` rows of an app about one object, newest first.
pub async fn of_object(tx: &mut ReadTx, app: &AppId, (kind, id): (&str, &str), count: i64) -> sqlx::Result<Vec<ResolvedRow>> {
    on!(tx, |conn| sqlx::query_as(OF_OBJECT).bind(id).bind(kind).bind(app).bind(count).fetch_all(conn).await)
}

/// The place of an app's row in the chain.
pub async fn place(tx: &mut ReadTx, app: &AppId, id: &AuditEventId) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(PLACE).bind(app).bind(id).fetch_optional(conn).await)
}
