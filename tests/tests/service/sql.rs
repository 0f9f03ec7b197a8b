//! Every static SQL statement of the control plane, prepared on the database of this run: a text that only the other one accepts fails here.

use std::collections::BTreeSet;

use sqlx::{Executor, SqlSafeStr, Statement};
use tests::{Db, Dialect, TestApp, Tx};

/// Prepares a statement and gives how many parameters the database found in it.
async fn prepare(db: &Db, sql: &'static str) -> sqlx::Result<usize> {
    let mut tx = db.read().await?;
    let parameters = match tx.parts() {
        Tx::Sqlite(tx) => (&mut **tx).prepare(sql.into_sql_str()).await?.parameters().map(|known| known.map_left(<[_]>::len).either_into()),
        Tx::Postgres(tx) => {
            (&mut **tx).prepare(sql.into_sql_str()).await?.parameters().map(|known| known.map_left(<[_]>::len).either_into())
        }
    };
    Ok(parameters.unwrap_or_default())
}

/// The numbers of the placeholders in a statement.
fn placeholders(sql: &str) -> BTreeSet<usize> {
    let after = sql.split('$').skip(1);
    after.filter_map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_is_accepted_by_this_database() {
    let app = TestApp::spawn().await;
    let all = control::testing::server::statements();
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), all.len(), "each file stands in the list once");
    assert!(all.len() >= 10, "{names:?}");
    for (name, statements) in all {
        assert!(!statements.is_empty(), "{name} has no statements");
        for sql in statements {
            let found = prepare(app.db(), sql).await;
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}\n{sql}"));
            let written = placeholders(sql);
            assert_eq!(written, (1..=written.len()).collect(), "{name}: placeholders without gaps\n{sql}");
            assert_eq!(found, written.len(), "{name}\n{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_this_database_does_not_know_is_refused() {
    let app = TestApp::spawn().await;
    for nonsense in ["SELEKT 1", "SELECT absent FROM accounts", "SELECT id FROM absent", "SELECT id FROM accounts WHERE", ""] {
        // Neither takes an empty text for a statement with parameters; PostgreSQL prepares it, which does no harm.
        if !nonsense.is_empty() {
            assert!(prepare(app.db(), nonsense).await.is_err(), "{nonsense}");
        }
    }
    // What only the other one accepts.
    let foreign = match app.db().dialect() {
        Dialect::Sqlite => "SELECT id FROM accounts WHERE email = ANY($1) FOR UPDATE",
        Dialect::Postgres => "INSERT OR REPLACE INTO secret_checks (name, value) VALUES ($1, $2)",
    };
    assert!(prepare(app.db(), foreign).await.is_err(), "{foreign}");
}

#[test]
fn the_list_names_every_file_that_has_statements() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/src");
    let mut files = Vec::new();
    collect(&sources, &mut files);
    let with_statements = files.iter().filter(|text| text.contains("pub const SQL: &[&str]")).count();
    assert_eq!(control::testing::server::statements().len(), with_statements, "server::sql::all() lists as many files as have a list");
}

fn collect(folder: &std::path::Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push(std::fs::read_to_string(path).unwrap());
        }
    }
}
