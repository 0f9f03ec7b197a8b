//! A fresh database with two apps: one of three deployments, one of one, each with four releases.

use std::collections::BTreeMap;

use control::testing::{Db, counting, on, on_write};
use shared::ids::{AppId, DeploymentId, ReleaseId};
use shared::report::Report;
use shared::time::UnixMillis;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::model::Table;

/// The deployments' keys; those of one app have a common prefix.
pub(crate) const KEYS: [&str; 4] = ["first-staging", "first-production", "first-beta", "second-staging"];

/// Each deployment has the releases v1 to this number.
pub(crate) const LABELS: u32 = 4;

/// The app of a deployment key.
pub(crate) fn app_of(key: &str) -> &str {
    key.split('-').next().unwrap()
}

/// The stored form of a deployment's flags: epoch, and bits by label.
#[derive(serde::Deserialize)]
struct StoredFlags {
    e: i64,
    l: BTreeMap<u32, u8>,
}

/// A fresh database: a file in a temporary folder, or one on a server until [`World::end`].
pub(crate) struct World {
    pub(crate) db: Db,
    server: Option<(String, String)>,
    _folder: tempfile::TempDir,
}

impl World {
    /// Creates the database chosen by `TEST_DATABASE`: `sqlite` (the default) or `postgres`, with its server in `TEST_POSTGRES_URL`.
    pub(crate) async fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = match std::env::var("TEST_DATABASE").as_deref() {
            Ok("postgres") => {
                let server = std::env::var("TEST_POSTGRES_URL").expect("TEST_DATABASE=postgres needs TEST_POSTGRES_URL");
                let noise: [u8; 16] = control::testing::Entropy::System.bytes().unwrap();
                let name = format!("counting_{:032x}", u128::from_le_bytes(noise));
                administrate(&server, format!("CREATE DATABASE {name}")).await;
                Some((server, name))
            }
            _ => None,
        };
        let url = match &server {
            None => format!("sqlite://{}", folder.path().join("test.db").display()),
            Some((server, name)) => format!("{}/{name}", server.rsplit_once('/').unwrap().0),
        };
        let world = Self { db: Db::open(&url).await.unwrap(), server, _folder: folder };
        world.fill().await;
        world
    }

    /// Closes the database and, on a server, drops it.
    pub(crate) async fn end(self) {
        self.db.close().await;
        if let Some((server, name)) = self.server {
            administrate(&server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }

    async fn fill(&self) {
        self.run("INSERT INTO accounts (id, email, password_hash, email_verified, max_upload_bytes, created_time) VALUES ('a', 'a', '', TRUE, 1, 1)")
            .await;
        for (number, key) in (0_u8..).zip(KEYS) {
            let app = AppId::v7(UnixMillis(1), [u8::from(app_of(key) == "second"); 10]);
            self.run(&format!("INSERT INTO apps VALUES ('{app}', 'a', '{app}', 1) ON CONFLICT DO NOTHING")).await;
            let id = DeploymentId::v7(UnixMillis(1), [number; 10]);
            let columns = "id, app_id, name, deployment_key, last_label, counting_epoch, created_time, key_since";
            self.run(&format!("INSERT INTO deployments ({columns}) VALUES ('{id}', '{app}', '{key}', '{key}', 4, 0, 1, 0)")).await;
            for label in 1..=LABELS {
                self.release(key, label).await;
            }
        }
    }

    /// Stores a release of the deployment.
    pub(crate) async fn release(&self, key: &str, label: u32) {
        let entropy = std::array::from_fn(|place| key.as_bytes().get(place + 2).copied().unwrap_or_default());
        let release = ReleaseId::v7(UnixMillis(i64::from(label)), entropy);
        self.run(&format!(
            "INSERT INTO releases (id, deployment_id, app_id, label, app_version, is_mandatory, is_disabled, package_hash, blob_sha256, size, \
            release_method, released_by, upload_time) \
            SELECT '{release}{key}', id, app_id, {label}, '*', FALSE, FALSE, '', '', 1, 'Upload', 'a', 1 FROM deployments WHERE deployment_key = '{key}'"
        ))
        .await;
    }

    /// Does what clearing a deployment's history does to the tables that counting reads, and what a job may later do to old counters.
    pub(crate) async fn clear(&self, key: &str) {
        self.run(&format!(
            "DELETE FROM metric_counters WHERE deployment_id IN (SELECT id FROM deployments WHERE deployment_key = '{key}')"
        ))
        .await;
        self.run(&format!("UPDATE deployments SET counting_epoch = counting_epoch + 1 WHERE deployment_key = '{key}'")).await;
        self.run(&format!("DELETE FROM releases WHERE deployment_id IN (SELECT id FROM deployments WHERE deployment_key = '{key}')")).await;
    }

    /// Runs one statement.
    pub(crate) async fn run(&self, sql: &str) -> u64 {
        let mut tx = self.db.write().await.unwrap();
        let changed = on_write!(tx, |conn| sqlx::query(AssertSqlSafe(sql.to_owned())).execute(conn).await).unwrap();
        tx.commit().await.unwrap();
        changed
    }

    /// Counts a batch.
    pub(crate) async fn store(&self, reports: &[Report]) -> Vec<control::testing::counting::ReportStatus> {
        counting::store(&self.db, 200, reports, UnixMillis(5_000)).await.unwrap()
    }

    /// All counters of the current epochs, as the metrics show them.
    pub(crate) async fn counters(&self) -> Table {
        let mut tx = self.db.read().await.unwrap();
        let deployments: Vec<(DeploymentId, String, i64)> =
            on!(tx, |conn| sqlx::query_as("SELECT id, deployment_key, counting_epoch FROM deployments").fetch_all(conn).await).unwrap();
        let mut table = BTreeMap::new();
        for (id, key, epoch) in deployments {
            for row in counting::counters(&mut tx, &id, epoch).await.unwrap() {
                table.insert((key.clone(), row.place), [row.active, row.downloaded, row.installed, row.failed]);
            }
        }
        table
    }

    /// The counters, recomputed from the rows of clients.
    pub(crate) async fn recount(&self) -> Table {
        const ROWS: &str = "SELECT deployment_id, epoch, place, flags FROM report_clients";
        let mut tx = self.db.read().await.unwrap();
        let deployments: Vec<(String, String, i64)> =
            on!(tx, |conn| sqlx::query_as("SELECT id, deployment_key, counting_epoch FROM deployments").fetch_all(conn).await).unwrap();
        let rows: Vec<(Option<String>, i64, Option<String>, String)> = on!(tx, |conn| sqlx::query_as(ROWS).fetch_all(conn).await).unwrap();
        let mut table = Table::new();
        for (deployment, epoch, place, flags) in rows {
            let flags: BTreeMap<String, StoredFlags> = serde_json::from_str(&flags).unwrap();
            for (id, key, current) in &deployments {
                if deployment.as_ref() == Some(id) && epoch == *current {
                    table.entry((key.clone(), place.clone().unwrap())).or_default()[0] += 1;
                }
                let Some(flags) = flags.get(id).filter(|flags| flags.e == *current) else { continue };
                for (label, bits) in &flags.l {
                    let counts = table.entry((key.clone(), format!("v{label}"))).or_default();
                    for (column, bit) in [(1, 1), (2, 2), (3, 4)] {
                        counts[column] += i64::from(bits & bit != 0);
                    }
                }
            }
        }
        table
    }

    /// The number of transactions in this database that wait for a lock; PostgreSQL only.
    pub(crate) async fn waiting_for_locks(&self) -> i64 {
        const SQL: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let mut tx = self.db.read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(SQL).fetch_one(conn).await).unwrap()
    }

    /// The number of negative counters in any epoch.
    pub(crate) async fn negatives(&self) -> i64 {
        const SQL: &str = "SELECT COUNT(*) FROM metric_counters WHERE active < 0 OR downloaded < 0 OR installed < 0 OR failed < 0";
        let mut tx = self.db.read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar(SQL).fetch_one(conn).await).unwrap()
    }
}

async fn administrate(server: &str, sql: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    connection.execute(AssertSqlSafe(sql)).await.unwrap();
    connection.close().await.unwrap();
}
