//! The schema's list: every file of `migrations/{sqlite,postgres}`, in order, compiled in.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// One migration in both dialects.
#[derive(Debug)]
pub struct Pair {
    /// Its number, 1 and up without gaps.
    pub version: i64,
    /// The file's name without number and ending.
    pub name: &'static str,
    /// The text for SQLite.
    pub sqlite: &'static str,
    /// The text for PostgreSQL.
    pub postgres: &'static str,
}

/// Every migration, oldest first. A test compares this list with the folders.
pub const ALL: &[Pair] = &[
    Pair {
        version: 1,
        name: "base",
        sqlite: include_str!("../../../../migrations/sqlite/0001_base.sql"),
        postgres: include_str!("../../../../migrations/postgres/0001_base.sql"),
    },
    Pair {
        version: 2,
        name: "accounts",
        sqlite: include_str!("../../../../migrations/sqlite/0002_accounts.sql"),
        postgres: include_str!("../../../../migrations/postgres/0002_accounts.sql"),
    },
    Pair {
        version: 3,
        name: "keys_and_audit",
        sqlite: include_str!("../../../../migrations/sqlite/0003_keys_and_audit.sql"),
        postgres: include_str!("../../../../migrations/postgres/0003_keys_and_audit.sql"),
    },
    Pair {
        version: 4,
        name: "mfa",
        sqlite: include_str!("../../../../migrations/sqlite/0004_mfa.sql"),
        postgres: include_str!("../../../../migrations/postgres/0004_mfa.sql"),
    },
    Pair {
        version: 5,
        name: "cli",
        sqlite: include_str!("../../../../migrations/sqlite/0005_cli.sql"),
        postgres: include_str!("../../../../migrations/postgres/0005_cli.sql"),
    },
    Pair {
        version: 6,
        name: "keys_by_app",
        sqlite: include_str!("../../../../migrations/sqlite/0006_keys_by_app.sql"),
        postgres: include_str!("../../../../migrations/postgres/0006_keys_by_app.sql"),
    },
    Pair {
        version: 7,
        name: "history",
        sqlite: include_str!("../../../../migrations/sqlite/0007_history.sql"),
        postgres: include_str!("../../../../migrations/postgres/0007_history.sql"),
    },
    Pair {
        version: 8,
        name: "key_since",
        sqlite: include_str!("../../../../migrations/sqlite/0008_key_since.sql"),
        postgres: include_str!("../../../../migrations/postgres/0008_key_since.sql"),
    },
    Pair {
        version: 9,
        name: "decoys",
        sqlite: include_str!("../../../../migrations/sqlite/0009_decoys.sql"),
        postgres: include_str!("../../../../migrations/postgres/0009_decoys.sql"),
    },
    Pair {
        version: 10,
        name: "suspension",
        sqlite: include_str!("../../../../migrations/sqlite/0010_suspension.sql"),
        postgres: include_str!("../../../../migrations/postgres/0010_suspension.sql"),
    },
    Pair {
        version: 11,
        name: "quotas",
        sqlite: include_str!("../../../../migrations/sqlite/0011_quotas.sql"),
        postgres: include_str!("../../../../migrations/postgres/0011_quotas.sql"),
    },
    Pair {
        version: 12,
        name: "snapshot_bytes",
        sqlite: include_str!("../../../../migrations/sqlite/0012_snapshot_bytes.sql"),
        postgres: include_str!("../../../../migrations/postgres/0012_snapshot_bytes.sql"),
    },
    Pair {
        version: 13,
        name: "fresh_proof",
        sqlite: include_str!("../../../../migrations/sqlite/0013_fresh_proof.sql"),
        postgres: include_str!("../../../../migrations/postgres/0013_fresh_proof.sql"),
    },
    Pair {
        version: 14,
        name: "traces",
        sqlite: include_str!("../../../../migrations/sqlite/0014_traces.sql"),
        postgres: include_str!("../../../../migrations/postgres/0014_traces.sql"),
    },
    Pair {
        version: 15,
        name: "names",
        sqlite: include_str!("../../../../migrations/sqlite/0015_names.sql"),
        postgres: include_str!("../../../../migrations/postgres/0015_names.sql"),
    },
    Pair {
        version: 16,
        name: "binary_versions",
        sqlite: include_str!("../../../../migrations/sqlite/0016_binary_versions.sql"),
        postgres: include_str!("../../../../migrations/postgres/0016_binary_versions.sql"),
    },
    Pair {
        version: 17,
        name: "stored_bytes",
        sqlite: include_str!("../../../../migrations/sqlite/0017_stored_bytes.sql"),
        postgres: include_str!("../../../../migrations/postgres/0017_stored_bytes.sql"),
    },
];

/// The migrator for SQLite.
pub fn sqlite() -> Migrator {
    migrator(|pair| pair.sqlite)
}

/// The migrator for PostgreSQL.
pub fn postgres() -> Migrator {
    migrator(|pair| pair.postgres)
}

fn migrator(text: impl Fn(&Pair) -> &'static str) -> Migrator {
    let migrations = ALL
        .iter()
        .map(|pair| Migration::new(pair.version, Cow::Borrowed(pair.name), MigrationType::Simple, text(pair).into_sql_str(), false))
        .collect();
    Migrator { migrations: Cow::Owned(migrations), ..Migrator::DEFAULT }
}
