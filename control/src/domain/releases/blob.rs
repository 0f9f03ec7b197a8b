//! Blobs and their rows: stored before the release that refers to them, taken back when that release is refused.
//!
//! A row has the account whose quota its bytes count for: the one in whose namespace its app is. A deleted app leaves its rows as they are, since its
//! objects stay; an accepted transfer moves them ([`give`]).

use shared::hash::Sha256Hex;
use shared::ids::{AccountId, AppId};
use shared::time::UnixMillis;

use crate::infra::db::WriteTx;
use crate::{on, on_write};

// The time also says who used the blob last, so it always grows: two uploads of the same bytes never share a value.
// An app that was deleted meanwhile has no account any more: the upload is refused, and takes the row back.
const TOUCH: &str = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id) \
    VALUES ($1, $2, $3, $4, FALSE, COALESCE((SELECT a.owner_id FROM apps a WHERE a.id = $1), '')) \
    ON CONFLICT (app_id, sha256) DO UPDATE SET deleting = FALSE, \
    account_id = CASE WHEN excluded.account_id = '' THEN blobs.account_id ELSE excluded.account_id END, \
    last_used_time = CASE WHEN blobs.last_used_time >= excluded.last_used_time THEN blobs.last_used_time + 1 ELSE excluded.last_used_time END \
    RETURNING last_used_time";
const DISCARD: &str = "DELETE FROM blobs WHERE app_id = $1 AND sha256 = $2 AND last_used_time = $3 \
    AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.app_id = $1 AND (r.blob_sha256 = $2 OR r.manifest_sha256 = $2)) \
    AND NOT EXISTS (SELECT 1 FROM release_diffs d JOIN releases r ON r.id = d.release_id WHERE r.app_id = $1 AND d.blob_sha256 = $2)";

// The account is the app's of now: the app may have changed hands since the blob was stored, and an earlier release beside this one stores none. That it
// changes hands at the same moment cannot be, since both hold the deployment.
const HOLD: &str = "UPDATE blobs SET last_used_time = last_used_time + 1, deleting = FALSE, \
    account_id = COALESCE((SELECT a.owner_id FROM apps a WHERE a.id = $1), account_id) WHERE app_id = $1 AND sha256 = $2";
const GIVE: &str = "UPDATE blobs SET account_id = $2 WHERE app_id = $1";

/// Every statement of this file.
pub const SQL: &[&str] = &[TOUCH, DISCARD, HOLD, GIVE];

/// Notes the blob's use before its object is looked for, and gives the stamp of this use.
pub async fn touch(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex, size: i64, now: UnixMillis) -> sqlx::Result<i64> {
    on!(tx, |conn| sqlx::query_scalar(TOUCH).bind(app).bind(sha256).bind(size).bind(now).fetch_one(conn).await)
}

/// Holds the blob for a release that this transaction makes; false when it was taken back since it was stored, and must be stored again.
///
/// It moves the stamp, so that whoever used the blob last before this cannot take it back any more, and it locks the row, so that a
/// [`discard`] under way either has deleted it or will find the stamp moved.
pub async fn hold(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex) -> sqlx::Result<bool> {
    let held = on_write!(tx, |conn| sqlx::query(HOLD).bind(app).bind(sha256).execute(conn).await)?;
    Ok(held == 1)
}

/// Deletes the row when nothing refers to the blob and nobody used it since `stamp`; whoever gets `true` deletes the object before the commit.
/// Another upload of the same bytes waits for that commit when it notes its own use, and then writes the object again.
pub async fn discard(tx: &mut WriteTx, app: &AppId, sha256: &Sha256Hex, stamp: i64) -> sqlx::Result<bool> {
    let deleted = on_write!(tx, |conn| sqlx::query(DISCARD).bind(app).bind(sha256).bind(stamp).execute(conn).await)?;
    Ok(deleted == 1)
}

/// Makes the blobs of an app count for another account. All deployments of the app must be locked, so that nobody else has locked several of its blobs.
pub async fn give(tx: &mut WriteTx, app: &AppId, to: &AccountId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(GIVE).bind(app).bind(to).execute(conn).await)
}
