//! Access to a server's database and folder, for what is not visible over HTTP.

use std::collections::BTreeMap;
use std::path::Path;

use control::testing::{Db, Dialect, ReadTx, on, on_write};
use sqlx::AssertSqlSafe;

use crate::TestApp;
use crate::bucket::TestBucket;

/// Everything an upload could leave behind: files and folders of the data folder except the database's, and numbers of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// Sizes by path; folders end with `/` and have size 0.
    pub files: BTreeMap<String, u64>,
    /// Releases, blobs and snapshots to be pushed.
    pub rows: [i64; 3],
}

/// The maximum number of concurrent write transactions.
pub fn writers(db: &Db) -> usize {
    let options = match db {
        Db::Sqlite { write, .. } => write.options().get_max_connections(),
        Db::Postgres { write, .. } => write.options().get_max_connections(),
    };
    usize::try_from(options).unwrap()
}

/// The number of write transactions that can start now without waiting.
pub fn free_writers(db: &Db) -> usize {
    let (size, idle) = match db {
        Db::Sqlite { write, .. } => (write.size(), write.num_idle()),
        Db::Postgres { write, .. } => (write.size(), write.num_idle()),
    };
    writers(db) - (usize::try_from(size).unwrap() - idle)
}

impl TestApp {
    /// The single number returned by a query, such as a count.
    pub async fn number(&self, sql: &'static str) -> i64 {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(sql).fetch_one(conn).await).unwrap()
    }

    /// The first column, a text, of every row, with texts as `$1` etc.
    pub async fn texts(&self, sql: &'static str, values: &[&str]) -> Vec<String> {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| {
            let query = values.iter().fold(sqlx::query_scalar(sql), |query, value| query.bind(*value));
            query.fetch_all(conn).await
        })
        .unwrap()
    }

    /// Runs a statement with texts as `$1` etc., and returns the number of changed rows. Numbers need `CAST($1 AS BIGINT)`.
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

    /// Adds a diff of this size between two releases of the deployment with this key, given by their labels. Its contents are of no use to a device.
    pub async fn add_diff(&self, key: &str, (source, target): (&str, &str), size: i64) {
        let number = |label: &str| label.trim_start_matches('v').to_owned();
        let sql = "INSERT INTO release_diffs (release_id, source_hash, blob_sha256, size) \
            SELECT t.id, s.package_hash, s.blob_sha256, CAST($4 AS BIGINT) FROM deployments d JOIN releases s ON s.deployment_id = d.id \
            JOIN releases t ON t.deployment_id = d.id WHERE d.deployment_key = $1 AND s.label = CAST($2 AS BIGINT) AND t.label = CAST($3 AS BIGINT)";
        assert_eq!(
            self.change(sql, &[key, &number(source), &number(target), &size.to_string()]).await,
            1,
            "{source} or {target} does not exist"
        );
    }

    /// Adds a trigger that runs statements in the same transaction, to simulate a concurrent change. `event` is, for example, `BEFORE INSERT ON apps
    /// FOR EACH ROW`; `statements` end with semicolons.
    pub async fn whenever(&self, event: &str, statements: &str) {
        let sql = match self.db().dialect() {
            Dialect::Sqlite => format!("CREATE TRIGGER meanwhile {event} BEGIN {statements} END"),
            Dialect::Postgres => format!(
                "CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statements} RETURN NEW; END $$; \
                 CREATE TRIGGER meanwhile {event} EXECUTE FUNCTION meanwhile()"
            ),
        };
        let mut tx = self.db().write().await.unwrap();
        on_write!(tx, |conn| sqlx::raw_sql(AssertSqlSafe(sql.as_str())).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
    }

    /// Removes the trigger of [`TestApp::whenever`] from a table.
    pub async fn no_longer(&self, table: &str) {
        let sql = match self.db().dialect() {
            Dialect::Sqlite => "DROP TRIGGER meanwhile".to_owned(),
            Dialect::Postgres => format!("DROP TRIGGER meanwhile ON {table}"),
        };
        let mut tx = self.db().write().await.unwrap();
        on_write!(tx, |conn| sqlx::raw_sql(AssertSqlSafe(sql.as_str())).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
    }

    /// Adds triggers that record every written row of these tables, for [`TestApp::counted_writes`].
    pub async fn count_writes(&self, tables: &[&str]) {
        let mut statements = vec!["CREATE TABLE counted_writes (what TEXT NOT NULL)".to_owned()];
        if self.db().dialect() == Dialect::Postgres {
            let function = "CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                INSERT INTO counted_writes VALUES (TG_TABLE_NAME || ' ' || TG_OP); RETURN NULL; END $$";
            statements.push(function.to_owned());
        }
        for table in tables {
            for kind in ["INSERT", "UPDATE", "DELETE"] {
                let note = match self.db().dialect() {
                    Dialect::Sqlite => format!("BEGIN INSERT INTO counted_writes VALUES ('{table} {kind}'); END"),
                    Dialect::Postgres => "EXECUTE FUNCTION count_write()".to_owned(),
                };
                statements.push(format!("CREATE TRIGGER count_{table}_{kind} AFTER {kind} ON {table} FOR EACH ROW {note}"));
            }
        }
        let sql = statements.join("; ");
        let mut tx = self.db().write().await.unwrap();
        on_write!(tx, |conn| sqlx::raw_sql(AssertSqlSafe(sql.as_str())).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
    }

    /// The rows written since the last call, each as its table and operation, sorted.
    pub async fn counted_writes(&self) -> Vec<String> {
        let mut writes = self.texts("SELECT what FROM counted_writes", &[]).await;
        self.change("DELETE FROM counted_writes", &[]).await;
        writes.sort();
        writes
    }

    /// All encrypted second-factor data, as stored.
    pub async fn sealed(&self) -> Vec<Vec<u8>> {
        let sql = "SELECT sealed FROM authenticators UNION ALL SELECT sealed FROM authenticator_setups \
            UNION ALL SELECT sealed FROM recovery_keys UNION ALL SELECT sealed FROM passkey_challenges";
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(sql).fetch_all(conn).await).unwrap()
    }

    /// Makes `<with>@example.com` a collaborator who has accepted an app of `<owner>@example.com`, `since` milliseconds after 1970: the operations
    /// use the clock and count toward a limit.
    pub async fn share(&self, owner: &str, app: &str, with: &str, role: &str, since: i64) {
        let (owner, with, since) = (format!("{owner}@example.com"), format!("{with}@example.com"), since.to_string());
        let sql = "INSERT INTO collaborators (app_id, account_id, permission, access_time, accepted_time) \
            SELECT a.id, w.id, $4, CAST($5 AS BIGINT), CAST($5 AS BIGINT) FROM apps a JOIN accounts o ON o.id = a.owner_id JOIN accounts w ON w.email = $3 \
            WHERE o.email = $1 AND a.name = $2";
        assert_eq!(self.change(sql, &[&owner, app, &with, role, &since]).await, 1, "{owner}, {app} or {with} does not exist");
        let sql = "INSERT INTO used_names (account_id, name, app_id) SELECT w.id, a.name, a.id \
            FROM apps a JOIN accounts o ON o.id = a.owner_id JOIN accounts w ON w.email = $3 WHERE o.email = $1 AND a.name = $2 \
            ON CONFLICT (account_id, name, app_id) DO NOTHING";
        self.change(sql, &[&owner, app, &with]).await;
    }

    /// Frees a key, like the deletion of its deployment.
    pub async fn free_key(&self, key: &str) {
        assert_eq!(self.change("DELETE FROM deployments WHERE deployment_key = $1", &[key]).await, 1);
        assert_eq!(self.change("UPDATE deployment_keys SET deployment_id = NULL WHERE deployment_key = $1", &[key]).await, 1);
    }

    /// The current data that an upload could have left.
    pub async fn leftovers(&self) -> Leftovers {
        let mut files = BTreeMap::new();
        list(self.folder(), "", &mut files);
        // As they would be in the folder.
        let objects = self.bucket.iter().flat_map(TestBucket::objects).filter(|name| !name.starts_with('.'));
        files.extend(objects.map(|name| (format!("blobs/{name}"), 0)));
        let rows = [
            self.number("SELECT COUNT(*) FROM releases").await,
            self.number("SELECT COUNT(*) FROM blobs").await,
            self.number("SELECT COUNT(*) FROM outbox WHERE kind = 'snapshot'").await,
        ];
        Leftovers { files, rows }
    }
}

/// The contents of the database except the tables in `without` and emails, which are sent: the rows of each table as text, in a fixed order.
pub async fn contents(tx: &mut ReadTx, without: &[&str]) -> BTreeMap<String, Vec<String>> {
    let (columns, quote) = match tx.dialect() {
        Dialect::Sqlite => ("SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'", "quote"),
        Dialect::Postgres => {
            ("SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = 'public'", "quote_nullable")
        }
    };
    let columns: Vec<(String, String)> = on!(tx, |conn| sqlx::query_as(columns).fetch_all(conn).await).unwrap();
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, column) in columns.into_iter().filter(|(table, _)| !without.contains(&table.as_str())) {
        tables.entry(table).or_default().push(format!("{quote}(\"{column}\")"));
    }
    let mut contents = BTreeMap::new();
    for (table, mut columns) in tables {
        columns.sort_unstable();
        let condition = if table == "outbox" { " WHERE kind <> 'mail'" } else { "" };
        let sql = format!("SELECT {} FROM \"{table}\"{condition}", columns.join(" || ', ' || "));
        let mut rows: Vec<String> = on!(tx, |conn| sqlx::query_scalar(AssertSqlSafe(sql.as_str())).fetch_all(conn).await).unwrap();
        rows.sort_unstable();
        contents.insert(table, rows);
    }
    contents
}

/// A file that disappears meanwhile is not listed.
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
