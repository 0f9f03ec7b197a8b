//! The job that deletes expired rows: registrations nobody verified, password resets, sessions that have expired, what second factors left open, requests
//! of command lines, limits that no longer count anything, device cookies and networks of sign-ins, what is left of deleted apps and deployments. Nothing depends on it but the size of the
//! database: whoever reads these rows looks at their times, or at what they refer to. It also measures deployments that are older than their bound.
//!
//! Rows go one by one, each in a transaction of its own, so that no request waits for longer than that, and not in a circle.

use std::sync::Arc;
use std::time::Duration;

use shared::time::UnixMillis;

use super::runner::{Job, Rest};
use crate::domain::accounts::settings::PENDING_LIFETIME;
use crate::domain::context::Context;
use crate::domain::counting::gone;
use crate::domain::credentials::device_cookies as device;
use crate::domain::encryption::check;
use crate::domain::error::AppResult;
use crate::domain::releases::size;
use crate::domain::warnings::networks;
use crate::infra::db::Db;
use crate::{on, on_write};

/// How often it looks.
const EVERY: Duration = Duration::from_mins(1);

/// Rows of each kind that go in one round; more are left for the next one, which then follows at once.
const BATCH: i64 = 200;

/// A kind of rows: which are over at a time, by their keys, and how one goes. The second repeats the condition of the first, since the row may have
/// been used again.
struct Kind {
    due: &'static str,
    delete: &'static str,
    /// How long after the time in the row, in milliseconds.
    after: i64,
}

const REGISTRATIONS_DUE: &str = "SELECT id, id FROM registrations WHERE created_time <= $1 ORDER BY created_time LIMIT $2";
const REGISTRATIONS_DELETE: &str = "DELETE FROM registrations WHERE id = $1 AND id = $2 AND created_time <= $3";
const RESETS_DUE: &str = "SELECT token_hash, token_hash FROM password_resets WHERE expires <= $1 ORDER BY expires LIMIT $2";
const RESETS_DELETE: &str = "DELETE FROM password_resets WHERE token_hash = $1 AND token_hash = $2 AND expires <= $3";
// Named keys stay in the list of their owner.
const SESSIONS_DUE: &str = "SELECT id, id FROM access_keys WHERE expires <= $1 AND (is_session OR credential_origin IS NOT NULL) \
    ORDER BY expires LIMIT $2";
const SESSIONS_DELETE: &str = "DELETE FROM access_keys WHERE id = $1 AND id = $2 AND expires <= $3";
const PENDING_DUE: &str = "SELECT id, id FROM pending_logins WHERE expires <= $1 ORDER BY expires LIMIT $2";
const PENDING_DELETE: &str = "DELETE FROM pending_logins WHERE id = $1 AND id = $2 AND expires <= $3";
const SETUPS_DUE: &str = "SELECT account_id, account_id FROM authenticator_setups WHERE expires <= $1 ORDER BY expires LIMIT $2";
const SETUPS_DELETE: &str = "DELETE FROM authenticator_setups WHERE account_id = $1 AND account_id = $2 AND expires <= $3";
const CHALLENGES_DUE: &str = "SELECT id, id FROM passkey_challenges WHERE expires <= $1 ORDER BY expires LIMIT $2";
const CHALLENGES_DELETE: &str = "DELETE FROM passkey_challenges WHERE id = $1 AND id = $2 AND expires <= $3";
const CLI_DUE: &str =
    "SELECT id, id FROM cli_authorizations WHERE expires <= $1 AND (code_expires IS NULL OR code_expires <= $1) ORDER BY expires LIMIT $2";
const CLI_DELETE: &str =
    "DELETE FROM cli_authorizations WHERE id = $1 AND id = $2 AND expires <= $3 AND (code_expires IS NULL OR code_expires <= $3)";
const LIMITS_DUE: &str = "SELECT name, subject FROM limit_counts WHERE forget_time <= $1 ORDER BY forget_time LIMIT $2";
const LIMITS_DELETE: &str = "DELETE FROM limit_counts WHERE name = $1 AND subject = $2 AND forget_time <= $3";

const DEVICES_DUE: &str = "SELECT token_hash, account_id FROM device_cookies WHERE created_time <= $1 ORDER BY created_time LIMIT $2";
const DEVICES_DELETE: &str = "DELETE FROM device_cookies WHERE token_hash = $1 AND account_id = $2 AND created_time <= $3";
const NETWORKS_DUE: &str = "SELECT account_id, network FROM sign_in_networks WHERE last_time <= $1 ORDER BY last_time LIMIT $2";
const NETWORKS_DELETE: &str = "DELETE FROM sign_in_networks WHERE account_id = $1 AND network = $2 AND last_time <= $3";

/// Every statement of this file.
pub const SQL: &[&str] = &[
    REGISTRATIONS_DUE,
    REGISTRATIONS_DELETE,
    RESETS_DUE,
    RESETS_DELETE,
    SESSIONS_DUE,
    SESSIONS_DELETE,
    PENDING_DUE,
    PENDING_DELETE,
    SETUPS_DUE,
    SETUPS_DELETE,
    CHALLENGES_DUE,
    CHALLENGES_DELETE,
    CLI_DUE,
    CLI_DELETE,
    LIMITS_DUE,
    LIMITS_DELETE,
    DEVICES_DUE,
    DEVICES_DELETE,
    NETWORKS_DUE,
    NETWORKS_DELETE,
];

/// How long a request of a command line is kept after its time has run out, in milliseconds: whoever asks for it is told so, and a code that comes
/// again is known.
const CLI_KEPT: i64 = 60 * 60_000;

const KINDS: [Kind; 10] = [
    Kind { due: REGISTRATIONS_DUE, delete: REGISTRATIONS_DELETE, after: PENDING_LIFETIME },
    Kind { due: RESETS_DUE, delete: RESETS_DELETE, after: 0 },
    Kind { due: SESSIONS_DUE, delete: SESSIONS_DELETE, after: 0 },
    Kind { due: PENDING_DUE, delete: PENDING_DELETE, after: 0 },
    Kind { due: SETUPS_DUE, delete: SETUPS_DELETE, after: 0 },
    Kind { due: CHALLENGES_DUE, delete: CHALLENGES_DELETE, after: 0 },
    Kind { due: CLI_DUE, delete: CLI_DELETE, after: CLI_KEPT },
    Kind { due: LIMITS_DUE, delete: LIMITS_DELETE, after: 0 },
    Kind { due: DEVICES_DUE, delete: DEVICES_DELETE, after: device::service::LIFETIME },
    Kind { due: NETWORKS_DUE, delete: NETWORKS_DELETE, after: networks::REMEMBERED },
];

/// The job.
#[derive(Debug)]
pub struct Cleanup {
    context: Arc<Context>,
    gone: gone::Round,
}

impl Cleanup {
    /// From the beginning.
    pub fn new(context: Arc<Context>) -> Self {
        Self { context, gone: gone::Round::default() }
    }
}

impl Job for Cleanup {
    const NAME: &'static str = "cleanup";

    async fn round(&mut self) -> AppResult<Rest> {
        // Neither keeps the other from being done.
        let noted = check::note(&self.context.db, &self.context.settings.encryption_keys).await;
        while round(&self.context, &mut self.gone).await? {}
        noted?;
        Ok(Rest::For(EVERY))
    }
}

/// One round; whether there may be more.
async fn round(app: &Context, gone: &mut gone::Round) -> AppResult<bool> {
    let mut is_full = false;
    for kind in KINDS {
        let over = app.now().plus_millis(-kind.after);
        let due = due(&app.db, kind.due, over).await?;
        is_full |= i64::try_from(due.len()).unwrap_or(BATCH) >= BATCH;
        for key in due {
            let mut tx = app.db.write().await?;
            on_write!(tx, |conn| sqlx::query(kind.delete).bind(&key.0).bind(&key.1).bind(over).execute(conn).await)?;
            tx.commit().await?;
        }
    }
    gone.step(&app.db).await?;
    is_full |= size::measure(app).await?;
    Ok(is_full)
}

async fn due(db: &Db, sql: &'static str, over: UnixMillis) -> sqlx::Result<Vec<(String, String)>> {
    let mut tx = db.read().await?;
    on!(tx, |conn| sqlx::query_as(sql).bind(over).bind(BATCH).fetch_all(conn).await)
}
