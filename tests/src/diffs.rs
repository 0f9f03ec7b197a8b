//! Diffs as rows, for tests of how they are shown, and whether the job that makes them has something to do.

use control::testing::{Db, on};

use crate::TestApp;
use crate::wait::until;

/// How many apps wait for the job, or for the next attempt after a failure. What waits longer is not to be done yet.
pub async fn open(db: &Db, now: i64) -> i64 {
    const ATTEMPTS: i64 = 15 * 60 * 1_000;
    const OPEN: &str = "SELECT COUNT(*) FROM outbox WHERE kind = 'diffs' \
        AND (lease_owner IS NOT NULL OR next_attempt_time <= $1 OR attempts > 0 AND next_attempt_time <= $2)";
    let mut tx = db.read().await.unwrap();
    on!(tx, |conn| sqlx::query_scalar(OPEN).bind(now).bind(now + ATTEMPTS).fetch_one(conn).await).unwrap()
}

impl TestApp {
    /// Waits until the job that makes diffs has nothing to do now.
    pub async fn diffs_settled(&self) {
        until("the job has nothing to do", async || (open(self.db(), self.clock.now().as_millis()).await == 0).then_some(())).await;
    }

    /// Lets devices with the package of the release `from` be offered a diff of this size to the release `to`. Both are numbers of labels in the deployment.
    pub async fn attach_diff(&self, deployment: &str, (from, to): (u32, u32), size: u32) {
        let sql = "INSERT INTO release_diffs (release_id, source_hash, blob_sha256, size) \
            SELECT t.id, s.package_hash, s.blob_sha256, CAST($4 AS BIGINT) FROM releases t JOIN deployments d ON d.id = t.deployment_id \
            JOIN releases s ON s.deployment_id = d.id WHERE d.name = $1 AND s.label = CAST($2 AS BIGINT) AND t.label = CAST($3 AS BIGINT)";
        assert_eq!(self.change(sql, &[deployment, &from.to_string(), &to.to_string(), &size.to_string()]).await, 1);
    }

    /// Records that there is no diff from the release `from` to the release `to`, as found now, in place of what was recorded.
    pub async fn refuse_diff(&self, deployment: &str, (from, to): (u32, u32), problem: &str) {
        let sql = "INSERT INTO package_diffs (app_id, target_sha256, target_hash, base_sha256, blob_sha256, size, problem, made_time, times) \
            SELECT t.app_id, t.blob_sha256, t.package_hash, s.blob_sha256, NULL, 0, $4, CAST($5 AS BIGINT), 1 FROM releases t JOIN deployments d ON d.id = t.deployment_id \
            JOIN releases s ON s.deployment_id = d.id WHERE d.name = $1 AND s.label = CAST($2 AS BIGINT) AND t.label = CAST($3 AS BIGINT) \
            ON CONFLICT (app_id, target_sha256, target_hash, base_sha256) DO UPDATE SET problem = excluded.problem, made_time = excluded.made_time";
        let now = self.clock.now().0.to_string();
        assert_eq!(self.change(sql, &[deployment, &from.to_string(), &to.to_string(), problem, &now]).await, 1);
    }
}
