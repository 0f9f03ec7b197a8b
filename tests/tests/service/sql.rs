//! Every SQL statement of the control plane, prepared on the database of this run: a text that only the other one accepts fails here.

use std::collections::BTreeSet;
use std::path::Path;

use control::testing::server::{self, Either, listed, statements_of_one};
use sqlx::{Executor, SqlSafeStr, Statement};
use tests::{Db, Dialect, TestApp};
use xtask::statements::Statements;

/// Prepares a statement and gives how many parameters the database found in it. Row locks need a transaction that writes.
async fn prepare(db: &Db, sql: impl SqlSafeStr) -> sqlx::Result<usize> {
    let (mut tx, sql) = (db.write().await?, sql.into_sql_str());
    let parameters = match tx.parts() {
        Either::Sqlite(tx) => (&mut **tx).prepare(sql).await?.parameters().map(|known| known.map_left(<[_]>::len).either_into()),
        Either::Postgres(tx) => (&mut **tx).prepare(sql).await?.parameters().map(|known| known.map_left(<[_]>::len).either_into()),
    };
    Ok(parameters.unwrap_or_default())
}

/// The numbers of the placeholders in a statement.
fn placeholders(sql: &str) -> BTreeSet<usize> {
    let after = sql.split('$').skip(1);
    after.filter_map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()).collect()
}

/// How many values a statement has.
fn values(sql: &str) -> usize {
    placeholders(sql).len() + sql.matches('?').count()
}

/// Prepares a statement as it is run: with one and with two rows, or as this database says a row lock.
async fn check(app: &TestApp, name: &str, sql: &'static str) {
    let lock = app.db().write().await.unwrap().locking(sql);
    let is_listed = sql.contains('?');
    let [one, two] = [1, 2].map(|rows| listed(app.db().dialect(), sql, rows).0);
    for text in if is_listed { vec![one.clone(), two.clone()] } else { vec![lock.to_owned()] } {
        let written = placeholders(&text);
        assert_eq!(written, (1..=written.len()).collect(), "{name}: placeholders without gaps\n{text}");
        let found = prepare(app.db(), sqlx::AssertSqlSafe(text.clone())).await;
        assert_eq!(found.unwrap_or_else(|error| panic!("{name}: {error}\n{text}")), values(&text), "{name}\n{text}");
    }
    assert!(!is_listed || placeholders(sql).is_empty(), "{name}: the values of a list are numbered by their order\n{sql}");
    assert_eq!(values(&one) < values(&two), is_listed, "{name}: a list has values in each row\n{sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_is_accepted_by_this_database() {
    let app = TestApp::spawn().await;
    let all = server::statements();
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), all.len(), "each file stands in the list once");
    assert!(all.len() >= 10, "{names:?}");
    let lists: BTreeSet<&[&str]> = all.iter().map(|(_, statements)| *statements).collect();
    assert_eq!(lists.len(), all.len(), "each list is another file's");
    for (name, statements) in all.into_iter().chain(statements_of_one(app.db().dialect())) {
        assert!(!statements.is_empty(), "{name} has no statements");
        for statement in statements {
            check(&app, name, statement).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_postgresql_is_told_of_row_locks() {
    let app = TestApp::spawn().await;
    let lock = app.db().write().await.unwrap().locking("SELECT id FROM apps WHERE id = $1 FOR NO KEY UPDATE");
    let said = lock.ends_with(" FOR NO KEY UPDATE");
    assert_eq!(said, app.db().dialect() == Dialect::Postgres, "{lock}");
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
fn no_statement_is_outside_the_lists() {
    let statements = Statements::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/src")).unwrap();
    assert!(statements.violations.is_empty(), "{:#?}", statements.violations);
    let of_one = [Dialect::Sqlite, Dialect::Postgres].into_iter().flat_map(statements_of_one);
    let known: Vec<_> = server::statements().into_iter().chain(of_one).map(|(name, statements)| (name, statements.len())).collect();
    let differences = statements.differences(&known);
    assert!(differences.is_empty(), "{differences:#?}");
}
