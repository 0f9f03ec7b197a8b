//! The migrations: every file in `migrations/{sqlite,postgres}`, in order, compiled in.

use sqlx::migrate::Migrator;

/// The migrations for SQLite.
pub static SQLITE: Migrator = sqlx::migrate!("../migrations/sqlite");

/// The migrations for PostgreSQL.
pub static POSTGRES: Migrator = sqlx::migrate!("../migrations/postgres");
