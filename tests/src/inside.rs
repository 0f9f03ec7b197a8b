//! Looks behind the server: its database and its folder, for what HTTP does not show (or not yet).

use std::collections::BTreeMap;
use std::path::Path;

use control::{on, on_write};

use crate::TestApp;

/// What an upload could leave behind: every file and folder of the data folder but the database's own, and how many rows there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remains {
    /// Sizes by path; folders end with `/` and have size 0.
    pub files: BTreeMap<String, u64>,
    /// Releases, blobs and snapshots to be pushed.
    pub rows: [i64; 3],
}

impl TestApp {
    /// The one number that a query gives, such as a count.
    pub async fn number(&self, sql: &'static str) -> i64 {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(sql).fetch_one(conn).await).unwrap()
    }

    /// The first column, a text, of every row, with texts as `$1` and so on.
    pub async fn texts(&self, sql: &'static str, values: &[&str]) -> Vec<String> {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| {
            let query = values.iter().fold(sqlx::query_scalar(sql), |query, value| query.bind(*value));
            query.fetch_all(conn).await
        })
        .unwrap()
    }

    /// Runs a statement with texts as `$1` and so on, and gives how many rows it changed. Numbers go through `CAST($1 AS BIGINT)`.
    pub async fn change(&self, sql: &'static str, values: &[&str]) -> u64 {
        let mut tx = self.db().write().await.unwrap();
        let changed = on_write!(tx, |conn| {
            let query = values.iter().fold(sqlx::query(sql), |query, value| query.bind(*value));
            query.execute(conn).await
        })
        .unwrap();
        tx.commit().await.unwrap();
        changed
    }

    /// Makes `<with>@example.com` a collaborator of an app of `<owner>@example.com`, `since` milliseconds after 1970. There is no operation for it yet.
    pub async fn share(&self, owner: &str, app: &str, with: &str, role: &str, since: i64) {
        let (owner, with, since) = (format!("{owner}@example.com"), format!("{with}@example.com"), since.to_string());
        let sql = "INSERT INTO collaborators (app_id, account_id, permission, access_time) \
            SELECT a.id, w.id, $4, CAST($5 AS BIGINT) FROM apps a JOIN accounts o ON o.id = a.owner_id JOIN accounts w ON w.email = $3 \
            WHERE o.email = $1 AND a.name = $2";
        assert_eq!(self.change(sql, &[&owner, app, &with, role, &since]).await, 1, "{owner}, {app} or {with} is not there");
    }

    /// Takes a key out of use, as the deletion of its deployment will.
    pub async fn free_key(&self, key: &str) {
        assert_eq!(self.change("DELETE FROM deployments WHERE deployment_key = $1", &[key]).await, 1);
        assert_eq!(self.change("UPDATE deployment_keys SET deployment_id = NULL WHERE deployment_key = $1", &[key]).await, 1);
    }

    /// What there is now that an upload could have left.
    pub async fn remains(&self) -> Remains {
        let mut files = BTreeMap::new();
        list(self.folder(), "", &mut files);
        let rows = [
            self.number("SELECT COUNT(*) FROM releases").await,
            self.number("SELECT COUNT(*) FROM blobs").await,
            self.number("SELECT COUNT(*) FROM snapshot_outbox").await,
        ];
        Remains { files, rows }
    }
}

/// A file that goes while this looks is not listed.
fn list(folder: &Path, prefix: &str, into: &mut BTreeMap<String, u64>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path.starts_with("updraft.db") {
            continue;
        }
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            let path = format!("{path}/");
            list(&entry.path(), &path, into);
            into.insert(path, 0);
        } else {
            into.insert(path, metadata.len());
        }
    }
}
