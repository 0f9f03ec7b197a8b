//! Diffs as rows, for tests of how they are shown: nothing is made.

use crate::TestApp;

impl TestApp {
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
