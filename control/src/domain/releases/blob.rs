//! Blob rows. A blob is stored before the release that refers to it, and deleted again if that release is refused (`unused`).
//!
//! A row names the account whose quota its bytes count against: the owner of the namespace its app is in. Deleting an app keeps its rows, because its
//! objects stay. Accepting a transfer moves them ([`give`]), but not diffs that the receiver has no room for.

use shared::hash::Sha256Hex;
use shared::ids::{AccountId, AppId, DeploymentId};
use shared::time::UnixMillis;

use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// The time also identifies the last use of the blob, so it always grows: two uploads of the same bytes never share a value. An app that was deleted
// meanwhile has no account; the upload is then refused and deletes the row.
const TOUCH: &str = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id, is_diff) \
    VALUES ($1, $2, $3, $4, FALSE, COALESCE((SELECT a.owner_id FROM apps a WHERE a.id = $1), ''), $5) \
    ON CONFLICT (app_id, sha256) DO UPDATE SET \
    account_id = CASE WHEN excluded.account_id = '' THEN blobs.account_id ELSE excluded.account_id END, \
    last_used_time = CASE WHEN blobs.last_used_time >= excluded.last_used_time THEN blobs.last_used_time + 1 ELSE excluded.last_used_time END \
    WHERE blobs.deleting = FALSE RETURNING last_used_time";
const STAMP: &str = "SELECT last_used_time FROM blobs WHERE app_id = $1 AND sha256 = $2";

// The app's current owner: the app may have been transferred since the blob was stored, and an earlier release running beside this one stores no
// account. A concurrent transfer is impossible, because both lock the deployment.
const HOLD: &str = "UPDATE blobs SET last_used_time = last_used_time + 1, \
    account_id = COALESCE((SELECT a.owner_id FROM apps a WHERE a.id = $1), account_id) \
    WHERE app_id = $1 AND sha256 = $2 AND deleting = FALSE";
const IS_COUNTED_DIFF: &str = "SELECT EXISTS (SELECT 1 FROM blobs b JOIN apps a ON a.id = b.app_id AND a.owner_id = b.account_id \
    WHERE b.app_id = $1 AND b.sha256 = $2 AND b.is_diff AND b.deleting = FALSE)";
const GIVE: &str = "UPDATE blobs SET account_id = $2 WHERE app_id = $1 AND NOT is_diff";
const GIVE_DIFFS: &str = "UPDATE blobs SET account_id = $3 WHERE app_id = $1 AND account_id = $2 AND is_diff";
const TOUCH_RELEASED: &str = "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $3 THEN last_used_time + 1 ELSE $3 END \
    WHERE app_id = $1 AND sha256 IN (SELECT blob_sha256 FROM releases WHERE deployment_id = $2 \
    UNION SELECT manifest_sha256 FROM releases WHERE deployment_id = $2 AND manifest_sha256 IS NOT NULL \
    UNION SELECT d.blob_sha256 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.deployment_id = $2)";
const TOUCH_ALL: &str =
    "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $2 THEN last_used_time + 1 ELSE $2 END WHERE app_id = $1";
const TOUCH_DIFFS: &str = "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $3 THEN last_used_time + 1 ELSE $3 END \
    WHERE app_id = $1 AND account_id = $2 AND is_diff AND deleting = FALSE";

const TOUCH_NOW: &str = "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $3 THEN last_used_time + 1 ELSE $3 END \
    WHERE app_id = $1 AND sha256 = $2 AND deleting = FALSE";

const TOUCH_UNLESS_USED: &str = "UPDATE blobs SET last_used_time = CASE WHEN last_used_time >= $4 THEN last_used_time + 1 ELSE $4 END \
    WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 AND deleting = FALSE";

// The same bytes always have the same sizes.
const NOTE_FILE_SIZES: &str = "UPDATE blobs SET file_sizes = $3 WHERE app_id = $1 AND sha256 = $2 AND file_sizes IS NULL";
const FILE_SIZES: &str = "SELECT file_sizes FROM blobs WHERE app_id = $1 AND sha256 = $2";

const NEEDED_AFTER: &str = "SELECT b.app_id, b.sha256, b.size, b.is_diff, b.last_used_time AS stamp FROM blobs b WHERE (b.app_id, b.sha256) > ($1, $2) AND (b.last_used_time > $4 AND b.deleting = FALSE \
    OR EXISTS (SELECT 1 FROM releases r WHERE r.app_id = b.app_id AND (r.blob_sha256 = b.sha256 OR r.manifest_sha256 = b.sha256)) \
    OR EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE d.blob_sha256 = b.sha256 AND r.app_id = b.app_id) \
    OR EXISTS (SELECT 1 FROM imported_packages p WHERE p.app_id = b.app_id AND (p.sha256 = b.sha256 OR p.manifest_sha256 = b.sha256))) \
    ORDER BY b.app_id, b.sha256 LIMIT $3";
const IS_NEEDED: &str = "SELECT EXISTS (SELECT 1 FROM releases r WHERE r.app_id = $1 AND (r.blob_sha256 = $2 OR r.manifest_sha256 = $2)) \
    OR EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.app_id = $1 AND d.blob_sha256 = $2) \
    OR EXISTS (SELECT 1 FROM imported_packages p WHERE p.app_id = $1 AND (p.sha256 = $2 OR p.manifest_sha256 = $2))";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    TOUCH,
    STAMP,
    HOLD,
    IS_COUNTED_DIFF,
    GIVE,
    GIVE_DIFFS,
    TOUCH_RELEASED,
    TOUCH_ALL,
    TOUCH_DIFFS,
    TOUCH_NOW,
    TOUCH_UNLESS_USED,
    NOTE_FILE_SIZES,
    FILE_SIZES,
    NEEDED_AFTER,
    IS_NEEDED,
];

/// A blob that a release, a diff or an unfinished import refers to.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Needed {
    /// The app.
    pub app_id: AppId,
    /// The hash of the bytes.
    pub sha256: Sha256Hex,
    /// How many bytes there are.
    pub size: i64,
    /// Whether it is a diff.
    pub is_diff: bool,
    /// Identifies its last use.
    pub stamp: i64,
}

/// The next blobs that something refers to, and those that were used after `used_since`, in the order of their keys. `after` is the app and the hash of the last
/// one; empty for the first.
pub async fn needed_after(tx: &mut ReadTx, after: (&str, &str), used_since: UnixMillis, limit: i64) -> sqlx::Result<Vec<Needed>> {
    on!(tx, |conn| sqlx::query_as(NEEDED_AFTER).bind(after.0).bind(after.1).bind(limit).bind(used_since).fetch_all(conn).await)
}

/// Whether something refers to the blob.
pub async fn is_needed(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<bool> {
    on!(tx, |conn| sqlx::query_scalar(IS_NEEDED).bind(app).bind(sha256).fetch_one(conn).await)
}

/// A use of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Identifies it: each use has a larger one.
    pub stamp: i64,
    /// Whether there was no such blob before.
    pub is_first: bool,
}

/// What bytes are stored for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A package, or its manifest: they count against the account's quota.
    Package,
    /// A diff: it does not. No package has the same bytes, because an archive with a diff's marker is refused.
    Diff,
}

/// Records a use of the blob before its object is looked up. `None` while its object is being deleted: what is stored then could be deleted with it.
pub async fn touch(
    tx: &mut WriteTx,
    app: &AppId,
    sha256: &Sha256Hex,
    size: i64,
    purpose: Purpose,
    now: UnixMillis,
) -> sqlx::Result<Option<Use>> {
    let is_first = stamp(tx, app, sha256).await?.is_none();
    let stamp: Option<i64> = on!(tx, |conn| sqlx::query_scalar(TOUCH)
        .bind(app)
        .bind(sha256)
        .bind(size)
        .bind(now)
        .bind(purpose == Purpose::Diff)
        .fetch_optional(conn)
        .await)?;
    Ok(stamp.map(|stamp| Use { stamp, is_first }))
}

/// Claims the blob for a release that this transaction creates; `false` if it was deleted since, or is being deleted, and must be stored again.
///
/// It advances the stamp, so that nobody who saw an earlier one can delete the blob any more. It also locks the row: a concurrent deletion has either marked
/// it, or will see the new stamp.
pub async fn hold(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<bool> {
    let held = on_write!(tx, |conn| sqlx::query(HOLD).bind(app).bind(sha256).execute(conn).await)?;
    Ok(held == 1)
}

/// The stamp of the blob's last use; `None` if there is no such blob.
pub async fn stamp(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<Option<i64>> {
    on!(tx, |conn| sqlx::query_scalar(STAMP).bind(app).bind(sha256).fetch_optional(conn).await)
}

/// Whether these bytes count among the diffs of the app's owner already.
pub async fn is_counted_diff(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<bool> {
    on!(tx, |conn| sqlx::query_scalar(IS_COUNTED_DIFF).bind(app).bind(sha256).fetch_one(conn).await)
}

/// Moves the blobs of an app to another account's quota. All deployments of the app must be locked, so that no other transaction holds locks on
/// several of its blobs.
pub async fn give(tx: &mut WriteTx, app: &AppId, to: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(GIVE).bind(app).bind(to).execute(conn).await)
}

/// Counts the bytes of the app's diffs for `to` that counted for `from`. Those that an earlier owner left behind stay theirs. The app must be locked as for [`give`].
pub async fn give_diffs(tx: &mut WriteTx, app: &AppId, from: &AccountId, to: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(GIVE_DIFFS).bind(app).bind(from).bind(to).execute(conn).await)
}

/// Records now as the last use of the blobs of a deployment's releases, after which they are kept for a while. All deployments of the app must be locked, so
/// that no other transaction has locked several of its blobs.
pub async fn touch_released(tx: &mut WriteTx, app: &AppId, deployment: &DeploymentId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH_RELEASED).bind(app).bind(deployment).bind(now).execute(conn).await)
}

/// Records now as the last use of a blob that nothing refers to any more, after which it is kept for a while. `false` if it is gone, or being deleted.
pub async fn touch_now(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex, now: UnixMillis) -> sqlx::Result<bool> {
    let touched = on_write!(tx, |conn| sqlx::query(TOUCH_NOW).bind(app).bind(sha256).bind(now).execute(conn).await)?;
    Ok(touched == 1)
}

/// Like [`touch_now`], unless the blob was used since the use with this stamp. `false` if it was, or is gone, or being deleted.
pub async fn touch_unless_used(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex, stamp: i64, now: UnixMillis) -> sqlx::Result<bool> {
    let touched = on_write!(tx, |conn| sqlx::query(TOUCH_UNLESS_USED).bind(app).bind(sha256).bind(stamp).bind(now).execute(conn).await)?;
    Ok(touched == 1)
}

/// Like [`touch_released`], for all blobs of an app.
pub async fn touch_all(tx: &mut WriteTx, app: &AppId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH_ALL).bind(app).bind(now).execute(conn).await)
}

/// Like [`touch_released`], for the diffs of an app that count against an account.
pub async fn touch_diffs(tx: &mut WriteTx, app: &AppId, account: &AccountId, now: UnixMillis) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(TOUCH_DIFFS).bind(app).bind(account).bind(now).execute(conn).await)
}

/// Stores the sizes of a bundle's files, as JSON, unless they are known.
pub async fn note_file_sizes(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex, sizes: &str) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(NOTE_FILE_SIZES).bind(app).bind(sha256).bind(sizes).execute(conn).await)
}

/// The sizes of a bundle's files, as JSON, if they are known.
pub async fn file_sizes(tx: &mut ReadTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<Option<String>> {
    let found: Option<Option<String>> = on!(tx, |conn| sqlx::query_scalar(FILE_SIZES).bind(app).bind(sha256).fetch_optional(conn).await)?;
    Ok(found.flatten())
}
