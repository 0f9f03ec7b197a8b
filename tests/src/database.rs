//! A fresh database per test: a SQLite file, or a database of the PostgreSQL server that the test command started.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// The database of the test run: `TEST_DATABASE=sqlite|postgres`, with `TEST_POSTGRES_URL` for the latter.
#[derive(Debug)]
pub enum TestDatabase {
    /// A file in the test's own folder.
    Sqlite,
    /// A database that is dropped after the test.
    Postgres {
        /// The server's maintenance database.
        server: String,
        /// The test's own database.
        name: String,
    },
}

impl TestDatabase {
    /// Creates a database as requested by `TEST_DATABASE`.
    pub async fn create() -> Self {
        match std::env::var("TEST_DATABASE").as_deref() {
            Err(_) | Ok("sqlite") => Self::Sqlite,
            Ok("postgres") => {
                let server = std::env::var("TEST_POSTGRES_URL").expect("TEST_DATABASE=postgres needs TEST_POSTGRES_URL");
                let name = format!("test_{}", uuid::Uuid::from_bytes(entropy()).simple());
                let mut connection = PgConnection::connect(&server).await.expect("the PostgreSQL test server responds");
                connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.expect("the database can be created");
                connection.close().await.expect("the connection closes normally");
                Self::Postgres { server, name }
            }
            Ok(other) => panic!("TEST_DATABASE must be sqlite or postgres, not {other}"),
        }
    }

    /// The URL for `UPDRAFT_DATABASE_URL`; `None`: the file in the data folder.
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { server, name } => {
                let (address, _) = server.rsplit_once('/').expect("the server's URL names a database");
                Some(format!("{address}/{name}"))
            }
        }
    }
}

/// 16 bytes that are unique in this run.
pub fn entropy() -> [u8; 16] {
    control::testing::Entropy::System.bytes().expect("the operating system provides randomness")
}

impl Drop for TestDatabase {
    /// Dropped with force, since the server under test may still hold connections when a test fails.
    fn drop(&mut self) {
        let Self::Postgres { server, name } = self else { return };
        let (server, name) = (server.clone(), name.clone());
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                let mut connection = PgConnection::connect(&server).await.map_err(std::io::Error::other)?;
                connection.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.map_err(std::io::Error::other)?;
                connection.close().await.map_err(std::io::Error::other)
            })
        });
        if !matches!(dropped.join(), Ok(Ok(()))) {
            eprintln!("a test database could not be dropped");
        }
    }
}
