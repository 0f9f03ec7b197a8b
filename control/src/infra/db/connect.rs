//! Opens the connection pools. The URL's scheme selects the database.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Executor, SqlitePool};
use tokio::time::{sleep, timeout};

use super::{Db, migrate};
use crate::infra::loopback::is_loopback;

/// The database's URL, which may contain a password.
#[derive(Clone)]
pub struct DatabaseUrl(pub String);

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.split(':').next().unwrap_or_default())
    }
}

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL has an unknown scheme.
    #[error("DATABASE_URL: must start with sqlite: or postgres://")]
    Scheme,
    /// The SQLite file does not exist.
    #[error("there is no database at {}: set UPDRAFT_DATA_DIR or UPDRAFT_DATABASE_URL as for the service. A new service creates its database when it first runs `serve`", .0.display())]
    Absent(PathBuf),
    /// The connection failed.
    #[error("the database could not be opened")]
    Open(#[source] sqlx::Error),
    /// With another encoding, PostgreSQL would refuse some names and versions.
    #[error("the database's encoding is {0}: create a database with the encoding UTF8")]
    Encoding(String),
    /// A migration failed or was edited after it was applied.
    #[error("the database schema could not be migrated")]
    Migrate(#[source] sqlx::migrate::MigrateError),
}

/// How long a request waits for a connection before it gets a 503.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Read connections to SQLite. They do not block each other, and more than a few per core only cost memory.
const SQLITE_READERS: u32 = 8;

/// Pages in SQLite's WAL before a commit also runs a checkpoint: 16 MiB. A checkpoint waits for the disk twice, and writes a page that changed in many
/// commits only once. With SQLite's default of 1,000 pages, reports from a million devices would trigger one every few commits.
const WAL_PAGES: &str = "4000";

/// The page cache of the write connection, in KiB, negative as SQLite requires. With the default of 2 MiB, the pages changed by one group of reports did
/// not fit and were written twice.
const WRITER_CACHE: &str = "-16000";

/// Read connections of one replica to PostgreSQL, and as many for writing.
const POSTGRES_CONNECTIONS: u32 = 8;

/// When several processes open a new file, SQLite lets one of them switch it to WAL and refuses the others at once: its busy timeout does not apply.
/// The others retry for this long, with a pause in between.
const OPENING: Duration = Duration::from_secs(12);
const OPENING_PAUSE: Duration = Duration::from_millis(50);

/// Run on each new connection. A request that waits longer for a row lock than for a connection gets a 503, and a transaction left open by a lost replica
/// is aborted. Set by a statement, because poolers in front of a server accept no startup options.
const LIMITS: &str = "SELECT set_config('lock_timeout', '10s', FALSE), set_config('idle_in_transaction_session_timeout', '30s', FALSE)";
const ENCODING: &str = "SHOW server_encoding";

/// Statements for PostgreSQL only.
pub const POSTGRES_SQL: &[&str] = &[LIMITS, ENCODING];

impl Db {
    /// Opens the database at `url` and applies missing migrations.
    pub async fn open(url: &str) -> Result<Self, ConnectError> {
        if url.starts_with("sqlite:") {
            Self::open_sqlite(url).await
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Self::open_postgres(url).await
        } else {
            Err(ConnectError::Scheme)
        }
    }

    /// Opens an existing database; a missing SQLite file is an error and is not created.
    pub async fn open_existing(url: &str) -> Result<Self, ConnectError> {
        if url.starts_with("sqlite:") {
            let options = sqlite(url)?;
            let file = options.get_filename();
            if !file.exists() {
                return Err(ConnectError::Absent(file.to_owned()));
            }
        }
        Self::open(url).await
    }

    /// The options with which [`open`](Self::open) connects to SQLite for writing. Benchmarks choose another `synchronous`.
    pub fn sqlite_writer(url: &str, synchronous: SqliteSynchronous) -> Result<SqliteConnectOptions, ConnectError> {
        Ok(sqlite(url)?.synchronous(synchronous).pragma("wal_autocheckpoint", WAL_PAGES).pragma("cache_size", WRITER_CACHE))
    }

    async fn open_sqlite(url: &str) -> Result<Self, ConnectError> {
        make_private(sqlite(url)?.get_filename()).map_err(|error| ConnectError::Open(sqlx::Error::Io(error)))?;
        // FULL: a report is answered only once it would survive a power cut.
        let synchronous = SqliteSynchronous::Full;
        let options = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // A connection to a file does not break on its own, and testing it before each use would double the cost of a short read.
            .test_before_acquire(false);
        let (writer, mut busy) = (Self::sqlite_writer(url, synchronous)?, None);
        let opening = async {
            loop {
                match options.clone().connect_with(writer.clone()).await {
                    Err(error) if is_busy(&error) => busy = Some(error),
                    opened => return opened,
                }
                sleep(OPENING_PAUSE).await;
            }
        };
        let opened = timeout(OPENING, opening).await;
        let write = opened.unwrap_or_else(|_| Err(busy.unwrap_or(sqlx::Error::PoolTimedOut))).map_err(ConnectError::Open)?;
        migrate_sqlite(&write).await.map_err(ConnectError::Migrate)?;
        let read = SqlitePoolOptions::new()
            .max_connections(SQLITE_READERS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .test_before_acquire(false)
            .connect_with(sqlite(url)?.synchronous(synchronous).pragma("query_only", "on"))
            .await
            .map_err(ConnectError::Open)?;
        Ok(Self::Sqlite { read, write })
    }

    async fn open_postgres(url: &str) -> Result<Self, ConnectError> {
        let options = postgres(url)?;
        // Without `LIMITS`: replicas that start together wait for the one that migrates, for as long as that takes.
        let migrating = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options.clone())
            .await
            .map_err(ConnectError::Open)?;
        let encoding: String = sqlx::query_scalar(ENCODING).fetch_one(&migrating).await.map_err(ConnectError::Open)?;
        if encoding != "UTF8" {
            return Err(ConnectError::Encoding(encoding));
        }
        migrate::POSTGRES.run(&migrating).await.map_err(ConnectError::Migrate)?;
        migrating.close().await;
        Ok(Self::Postgres { read: limited(options.clone()).await?, write: limited(options).await? })
    }
}

/// Whether the error says that another connection has locked the SQLite file.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    // The low byte is the class; 5 is `SQLITE_BUSY`.
    code.is_some_and(|code| code & 0xff == 5)
}

/// The options of all connections to SQLite.
fn sqlite(url: &str) -> Result<SqliteConnectOptions, ConnectError> {
    let options = SqliteConnectOptions::from_str(url).map_err(ConnectError::Open)?;
    Ok(options.create_if_missing(true).foreign_keys(true).journal_mode(SqliteJournalMode::Wal).busy_timeout(Duration::from_secs(10)))
}

/// Makes the database file private to its owner: creates it so, and fixes a file that everyone may read, as earlier versions created it in an existing
/// folder. SQLite creates its `-wal` and `-shm` files with the same mode.
#[cfg(unix)]
fn make_private(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    const OTHERS: u32 = 0o007;
    let private = || std::fs::Permissions::from_mode(0o600);
    // A SQLite URI, such as that of an in-memory database.
    if file.as_os_str().as_encoded_bytes().starts_with(b"file:") {
        return Ok(());
    }
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    if !created.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
        // It exists now, or SQLite will report the error.
        return Ok(());
    }
    for ending in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        match std::fs::metadata(&name) {
            Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & OTHERS != 0 => {
                std::fs::set_permissions(&name, private())?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_file: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The options of connections to PostgreSQL. Connections to another machine use TLS unless configured otherwise (`sslmode` in the URL, or `PGSSLMODE`).
fn postgres(url: &str) -> Result<PgConnectOptions, ConnectError> {
    let options = PgConnectOptions::from_str(url).map_err(ConnectError::Open)?;
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let is_configured = form_urlencoded::parse(query.as_bytes()).any(|(name, _)| matches!(name.as_ref(), "sslmode" | "ssl-mode"))
        || std::env::var_os("PGSSLMODE").is_some();
    let is_local = options.get_socket().is_some() || is_loopback(options.get_host());
    Ok(if is_configured || is_local { options } else { options.ssl_mode(PgSslMode::Require) })
}

async fn limited(options: PgConnectOptions) -> Result<PgPool, ConnectError> {
    PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute(LIMITS).await?;
                Ok(())
            })
        })
        .connect_with(options)
        .await
        .map_err(ConnectError::Open)
}

/// Runs the migrations, with retries. SQLite has no migration lock, so another program that starts at the same moment may apply one in between, such as
/// `account create` during `serve`. A retry sees the migration that failed for this reason as applied.
async fn migrate_sqlite(pool: &SqlitePool) -> Result<(), MigrateError> {
    let mut migrated = migrate::SQLITE.run(pool).await;
    for _ in migrate::SQLITE.iter() {
        if !matches!(migrated, Err(MigrateError::Execute(_) | MigrateError::ExecuteMigration(..))) {
            break;
        }
        migrated = migrate::SQLITE.run(pool).await;
    }
    migrated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_other_machines_use_tls_unless_the_url_says_otherwise() {
        let mode = |url: &str| postgres(url).unwrap().get_ssl_mode();
        for url in ["postgres://u:p@db.example/updraft", "postgresql://u@10.0.0.1:5432/x", "postgres:///x?host=db.example"] {
            assert!(matches!(mode(url), PgSslMode::Require), "{url}");
        }
        for url in
            ["postgres://u@localhost/x", "postgres://u@127.0.0.1:54329/x", "postgres://u@[::1]/x", "postgres://u@%2Frun%2Fpostgresql/x"]
        {
            assert!(matches!(mode(url), PgSslMode::Prefer), "{url}");
        }
        assert!(matches!(mode("postgres://u@db.example/x?sslmode=disable"), PgSslMode::Disable));
        assert!(matches!(mode("postgres://u@db.example/x?sslmode=verify-full"), PgSslMode::VerifyFull));
    }
}
