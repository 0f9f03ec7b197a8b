//! The database: SQLite or PostgreSQL behind one pair of transaction types.
//!
//! Repositories take [`ReadTx`] or [`WriteTx`] and use one SQL text for both drivers. Only [`Db::read`] and [`Db::write`] begin transactions.
//! Start reading at [`Db`]; `connect` opens the pools, `migrate` has the migrations.

pub mod connect;
pub mod expiry;
pub mod migrate;
mod statement;
mod stored;

pub use connect::{ConnectError, DatabaseUrl};
pub use statement::listed;

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

// Otherwise a transaction that reads first and writes later would be refused whenever another one wrote in between.
const BEGIN_IMMEDIATE: &str = "BEGIN IMMEDIATE";
const JOURNAL_MODE: &str = "PRAGMA journal_mode";
const SYNCHRONOUS: &str = "PRAGMA synchronous";
const BEGIN_READ_ONLY: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
// Set explicitly, whatever the server's default: reads after waiting for a row lock must see what was committed meanwhile.
const BEGIN_READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const SYNCHRONOUS_COMMIT: &str = "SHOW synchronous_commit";
const FSYNC: &str = "SHOW fsync";

/// Statements for SQLite only.
pub const SQLITE_SQL: &[&str] = &[BEGIN_IMMEDIATE, JOURNAL_MODE, SYNCHRONOUS];

/// Statements for PostgreSQL only.
pub const POSTGRES_SQL: &[&str] = &[BEGIN_READ_ONLY, BEGIN_READ_COMMITTED, SYNCHRONOUS_COMMIT, FSYNC];

/// The database's pools.
#[derive(Clone, Debug)]
pub enum Db {
    /// SQLite: many readers, one writer.
    Sqlite {
        /// Connections that can only read.
        read: SqlitePool,
        /// One connection, so that writers queue here and not inside SQLite's busy handler.
        write: SqlitePool,
    },
    /// PostgreSQL. Reads and writes use separate pools, so that writes that wait for each other do not block reads.
    Postgres {
        /// For transactions that only read.
        read: PgPool,
        /// For transactions that write.
        write: PgPool,
    },
}

/// The kind of database, for the few statements that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// A value of either driver; use it with [`on!`](crate::on).
#[derive(Debug)]
pub enum Either<S, P> {
    /// SQLite.
    Sqlite(S),
    /// PostgreSQL.
    Postgres(P),
}

/// An open transaction of either driver.
pub type Tx = Either<Transaction<'static, Sqlite>, Transaction<'static, Postgres>>;

/// A connection for single read statements outside a transaction. Each statement sees what was committed when it began, in one round trip instead of the
/// three or four of a transaction. For frequent single reads; code that reads twice uses a [`ReadTx`].
pub type ReadConnection = Either<PoolConnection<Sqlite>, PoolConnection<Postgres>>;

/// A read-only transaction with one consistent snapshot.
#[derive(Debug)]
pub struct ReadTx(Tx);

/// A writing transaction; it can also do everything that a [`ReadTx`] can.
#[derive(Debug)]
pub struct WriteTx(ReadTx);

impl Db {
    /// Begins a consistent, read-only transaction.
    pub async fn read(&self) -> sqlx::Result<ReadTx> {
        Ok(ReadTx(match self {
            Self::Sqlite { read, .. } => Tx::Sqlite(read.begin().await?),
            Self::Postgres { read, .. } => Tx::Postgres(read.begin_with(BEGIN_READ_ONLY).await?),
        }))
    }

    /// A connection for single read statements.
    pub async fn connection(&self) -> sqlx::Result<ReadConnection> {
        Ok(match self {
            Self::Sqlite { read, .. } => ReadConnection::Sqlite(read.acquire().await?),
            Self::Postgres { read, .. } => ReadConnection::Postgres(read.acquire().await?),
        })
    }

    /// Begins a writing transaction.
    pub async fn write(&self) -> sqlx::Result<WriteTx> {
        Ok(WriteTx(ReadTx(match self {
            Self::Sqlite { write, .. } => Tx::Sqlite(write.begin_with(BEGIN_IMMEDIATE).await?),
            Self::Postgres { write, .. } => Tx::Postgres(write.begin_with(BEGIN_READ_COMMITTED).await?),
        })))
    }

    /// The kind of database.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite { .. } => Dialect::Sqlite,
            Self::Postgres { .. } => Dialect::Postgres,
        }
    }

    /// The durability settings of a commit, read from a write connection, for the startup log.
    pub async fn durability(&self) -> sqlx::Result<String> {
        match self {
            Self::Sqlite { write, .. } => {
                let journal: String = sqlx::query_scalar(JOURNAL_MODE).fetch_one(write).await?;
                let synchronous: i64 = sqlx::query_scalar(SYNCHRONOUS).fetch_one(write).await?;
                let synchronous = match synchronous {
                    0 => "OFF",
                    1 => "NORMAL",
                    2 => "FULL",
                    _ => "EXTRA",
                };
                Ok(format!("SQLite {{journal_mode={journal} synchronous={synchronous}}}"))
            }
            Self::Postgres { write, .. } => {
                let synchronous: String = sqlx::query_scalar(SYNCHRONOUS_COMMIT).fetch_one(write).await?;
                let fsync: String = sqlx::query_scalar(FSYNC).fetch_one(write).await?;
                Ok(format!("PostgreSQL {{synchronous_commit={synchronous} fsync={fsync}}}"))
            }
        }
    }

    /// Closes all connections, after running transactions have ended.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { read, write } => {
                read.close().await;
                write.close().await;
            }
            Self::Postgres { read, write } => {
                read.close().await;
                write.close().await;
            }
        }
    }
}

impl<S, P> Either<S, P> {
    /// Returns itself, for [`on!`](crate::on).
    pub fn parts(&mut self) -> &mut Self {
        self
    }

    /// The kind of database.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }
}

impl ReadTx {
    /// The driver's transaction, for [`on!`](crate::on).
    pub fn parts(&mut self) -> &mut Tx {
        &mut self.0
    }

    /// The kind of database.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect()
    }
}

impl WriteTx {
    /// Commits the changes. A transaction that is dropped without a commit is rolled back.
    pub async fn commit(self) -> sqlx::Result<()> {
        match self.0.0 {
            Tx::Sqlite(tx) => tx.commit().await,
            Tx::Postgres(tx) => tx.commit().await,
        }
    }
}

impl Deref for WriteTx {
    type Target = ReadTx;

    fn deref(&self) -> &ReadTx {
        &self.0
    }
}

impl DerefMut for WriteTx {
    fn deref_mut(&mut self) -> &mut ReadTx {
        &mut self.0
    }
}

/// Runs one sqlx expression on the transaction's driver: `on!(tx, |conn| sqlx::query(SQL).execute(conn).await)`.
#[macro_export]
macro_rules! on {
    ($tx:expr, |$conn:ident| $body:expr) => {
        match $tx.parts() {
            $crate::infra::db::Either::Sqlite(tx) => {
                let $conn = &mut **tx;
                $body
            }
            $crate::infra::db::Either::Postgres(tx) => {
                let $conn = &mut **tx;
                $body
            }
        }
    };
}

/// Runs one writing sqlx expression and returns the number of affected rows.
#[macro_export]
macro_rules! on_write {
    ($tx:expr, |$conn:ident| $body:expr) => {
        match $tx.parts() {
            $crate::infra::db::Either::Sqlite(tx) => {
                let $conn = &mut **tx;
                $body.map(|done| done.rows_affected())
            }
            $crate::infra::db::Either::Postgres(tx) => {
                let $conn = &mut **tx;
                $body.map(|done| done.rows_affected())
            }
        }
    };
}
