//! The database: SQLite or PostgreSQL behind one pair of transaction types.
//!
//! Repositories take [`ReadTx`] or [`WriteTx`] and one SQL text for both drivers. Nobody begins a transaction but [`Db::read`] and [`Db::write`].
//! Start reading at [`Db`]; `connect` opens the pools, `migrate` holds the schema's list.

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

// A transaction that reads first and writes later would otherwise be refused whenever another wrote in between.
const BEGIN_IMMEDIATE: &str = "BEGIN IMMEDIATE";
const JOURNAL_MODE: &str = "PRAGMA journal_mode";
const SYNCHRONOUS: &str = "PRAGMA synchronous";
const BEGIN_READ_ONLY: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
// What is read after waiting for a row lock must be what was committed by then, whatever the server's default is.
const BEGIN_READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
const SYNCHRONOUS_COMMIT: &str = "SHOW synchronous_commit";
const FSYNC: &str = "SHOW fsync";

/// Statements that are only for SQLite.
pub const SQLITE_SQL: &[&str] = &[BEGIN_IMMEDIATE, JOURNAL_MODE, SYNCHRONOUS];

/// Statements that are only for PostgreSQL.
pub const POSTGRES_SQL: &[&str] = &[BEGIN_READ_ONLY, BEGIN_READ_COMMITTED, SYNCHRONOUS_COMMIT, FSYNC];

/// The database's pools.
#[derive(Clone, Debug)]
pub enum Db {
    /// SQLite: many readers, one writer.
    Sqlite {
        /// Connections that refuse to write.
        read: SqlitePool,
        /// One connection, so that writers queue here and not inside SQLite's busy handler.
        write: SqlitePool,
    },
    /// PostgreSQL. Readers and writers have connections of their own, so that changes that wait for one another keep nobody from reading.
    Postgres {
        /// For transactions that only read.
        read: PgPool,
        /// For those that write.
        write: PgPool,
    },
}

/// Which database it is; for the few statements that truly differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// What either driver has; reach it through [`on!`](crate::on).
#[derive(Debug)]
pub enum Either<S, P> {
    /// SQLite.
    Sqlite(S),
    /// PostgreSQL.
    Postgres(P),
}

/// The open transaction of either driver.
pub type Tx = Either<Transaction<'static, Sqlite>, Transaction<'static, Postgres>>;

/// A connection for single statements that read, each of which sees what was committed when it began: one exchange with the database instead of the
/// three or four of a transaction. For what is asked over and over; whatever reads twice takes a [`ReadTx`].
pub type Glance = Either<PoolConnection<Sqlite>, PoolConnection<Postgres>>;

/// A transaction that reads one consistent state.
#[derive(Debug)]
pub struct ReadTx(Tx);

/// A transaction that writes; it can do whatever a [`ReadTx`] can.
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

    /// A connection for single statements that read.
    pub async fn glance(&self) -> sqlx::Result<Glance> {
        Ok(match self {
            Self::Sqlite { read, .. } => Glance::Sqlite(read.acquire().await?),
            Self::Postgres { read, .. } => Glance::Postgres(read.acquire().await?),
        })
    }

    /// Begins a writing transaction.
    pub async fn write(&self) -> sqlx::Result<WriteTx> {
        Ok(WriteTx(ReadTx(match self {
            Self::Sqlite { write, .. } => Tx::Sqlite(write.begin_with(BEGIN_IMMEDIATE).await?),
            Self::Postgres { write, .. } => Tx::Postgres(write.begin_with(BEGIN_READ_COMMITTED).await?),
        })))
    }

    /// Which database it is.
    pub fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite { .. } => Dialect::Sqlite,
            Self::Postgres { .. } => Dialect::Postgres,
        }
    }

    /// What a commit means, as the connections that write say it themselves: for the log, so that whoever operates this sees it.
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

    /// How many transactions can write at once.
    pub fn writers(&self) -> usize {
        let options = match self {
            Self::Sqlite { write, .. } => write.options().get_max_connections(),
            Self::Postgres { write, .. } => write.options().get_max_connections(),
        };
        usize::try_from(options).unwrap_or(usize::MAX)
    }

    /// How many more transactions can write now, before one must wait for another's end.
    pub fn free_writers(&self) -> usize {
        let (size, idle) = match self {
            Self::Sqlite { write, .. } => (write.size(), write.num_idle()),
            Self::Postgres { write, .. } => (write.size(), write.num_idle()),
        };
        let taken = usize::try_from(size).unwrap_or(usize::MAX).saturating_sub(idle);
        self.writers().saturating_sub(taken)
    }

    /// Closes every connection, after the transactions under way.
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
    /// Itself, for [`on!`](crate::on).
    pub fn parts(&mut self) -> &mut Self {
        self
    }

    /// Which database it is.
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

    /// Which database it is.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect()
    }
}

impl WriteTx {
    /// Makes the changes durable. A transaction that is dropped without this is rolled back.
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

/// Runs one sqlx expression on whichever driver the transaction has: `on!(tx, |conn| sqlx::query(SQL).execute(conn).await)`.
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

/// Runs one writing sqlx expression and gives the number of rows it changed.
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
