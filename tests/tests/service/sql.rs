//! Every SQL statement of the control plane, prepared on the current database. Statements that only the other database accepts fail here, and so do
//! tables written by several areas.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{iter, slice};

use control::testing::server::{self, Either, listed, statements_of_one};
use sqlx::{Executor, SqlSafeStr, Statement};
use tests::{Db, Dialect, TestApp};
use xtask::statements::Statements;

/// Prepares a statement and returns the number of its parameters. Row locks require a write transaction.
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

/// The number of values in a statement.
fn values(sql: &str) -> usize {
    placeholders(sql).len() + sql.matches('?').count()
}

/// Prepares a statement as it runs: with one and two rows, or with this database's row lock.
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
    assert!(!is_listed || placeholders(sql).is_empty(), "{name}: the values of a list are numbered in order\n{sql}");
    assert_eq!(values(&one) < values(&two), is_listed, "{name}: a list has values in each row\n{sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_is_accepted_by_this_database() {
    let app = TestApp::spawn().await;
    let all = server::statements();
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), all.len(), "each file is listed once");
    assert!(all.len() >= 10, "{names:?}");
    let lists: BTreeSet<&[&str]> = all.iter().map(|(_, statements)| *statements).collect();
    assert_eq!(lists.len(), all.len(), "each list belongs to another file");
    for (name, statements) in all.into_iter().chain(statements_of_one(app.db().dialect())) {
        assert!(!statements.is_empty(), "{name} has no statements");
        for statement in statements {
            check(&app, name, statement).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_postgresql_statements_use_row_locks() {
    let app = TestApp::spawn().await;
    let lock = app.db().write().await.unwrap().locking("SELECT id FROM apps WHERE id = $1 FOR NO KEY UPDATE");
    let said = lock.ends_with(" FOR NO KEY UPDATE");
    assert_eq!(said, app.db().dialect() == Dialect::Postgres, "{lock}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_statement_is_refused() {
    let app = TestApp::spawn().await;
    for nonsense in ["SELEKT 1", "SELECT absent FROM accounts", "SELECT id FROM absent", "SELECT id FROM accounts WHERE", ""] {
        // Both reject an empty statement with parameters; PostgreSQL prepares it, which is harmless.
        if !nonsense.is_empty() {
            assert!(prepare(app.db(), nonsense).await.is_err(), "{nonsense}");
        }
    }
    // Valid only on the other database.
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

/// The tables that a statement writes, or whose rows it locks.
fn written(sql: &str) -> BTreeSet<&str> {
    let words = sql.split(|character: char| !character.is_ascii_alphanumeric() && character != '_').filter(|word| !word.is_empty());
    let words: Vec<&str> = iter::once("").chain(words).collect();
    let locks = words.windows(2).any(|pair| matches!(pair, ["FOR" | "KEY", "UPDATE" | "SHARE"]));
    let tables = words.windows(3).filter_map(|three| match *three {
        // `DO UPDATE` is followed by SET, and a lock ends the statement.
        [before, "UPDATE", table] => (!matches!(before, "DO" | "FOR" | "KEY")).then_some(table),
        [_, "INTO", table] | ["DELETE", "FROM", table] => Some(table),
        [_, "FROM" | "JOIN", table] if locks => Some(table),
        _ => None,
    });
    // An uppercase word starts a subquery.
    tables.filter(|table| table.starts_with(|first: char| first.is_ascii_lowercase())).collect()
}

/// The areas that write each table. An area is the first folder of a file's path in the lists.
fn writers<'s>(lists: impl IntoIterator<Item = (&'s str, &'s [&'s str])>) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let mut writers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, statements) in lists {
        let area = name.split_once('/').map_or(name, |(area, _)| area);
        for table in statements.iter().flat_map(|sql| written(sql)) {
            writers.entry(table).or_default().insert(area);
        }
    }
    writers
}

#[test]
fn each_table_is_written_by_one_area() {
    let of_one = [Dialect::Sqlite, Dialect::Postgres].into_iter().flat_map(statements_of_one);
    let mut writers = writers(server::statements().into_iter().chain(of_one));
    assert!(writers.len() >= 30, "{writers:#?}");
    writers.retain(|_, areas| areas.len() > 1);
    assert!(writers.is_empty(), "tables written by several areas: {writers:#?}");
}

#[test]
fn a_table_written_by_several_areas_is_detected() {
    let ways = [
        "INSERT INTO apps (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id",
        "INSERT OR REPLACE INTO apps (id) VALUES ($1)",
        "UPDATE apps SET name = (SELECT email FROM accounts WHERE id = $1)",
        "DELETE FROM apps WHERE owner_id IN (SELECT id FROM accounts)",
        "WITH gone AS (DELETE FROM apps RETURNING id) SELECT id FROM gone JOIN accounts ON TRUE",
        "SELECT 1 FROM apps FOR UPDATE",
        "SELECT 1 FROM apps WHERE id = $1 FOR NO KEY UPDATE",
    ];
    for way in &ways {
        assert_eq!(written(way), BTreeSet::from(["apps"]), "{way}");
        let planted =
            writers([("apps", &["DELETE FROM apps"][..]), ("apps/names", slice::from_ref(way)), ("accounts", &["SELECT id FROM apps"])]);
        assert_eq!(planted, BTreeMap::from([("apps", BTreeSet::from(["apps"]))]), "{way}");
        let planted = writers([("apps", &["DELETE FROM apps"][..]), ("accounts/names", slice::from_ref(way))]);
        assert_eq!(planted, BTreeMap::from([("apps", BTreeSet::from(["accounts", "apps"]))]), "{way}");
    }
    let both = written("SELECT a.id FROM apps a JOIN accounts o ON o.id = a.owner_id FOR NO KEY UPDATE");
    assert_eq!(both, BTreeSet::from(["accounts", "apps"]));
    assert!(written("SELECT id FROM apps JOIN accounts ON TRUE").is_empty());
}
