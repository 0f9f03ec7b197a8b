//! The history of the schema: the folders match the list, both databases get the same schema, and applied migrations are never edited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use control::testing::server::{Either, migrate, statements};
use serde_json::json;
use sqlx::AssertSqlSafe;
use sqlx::migrate::Migrator;
use tests::{Bundle, Db, Dialect, TestApp, on};

use crate::v1::apps::{add, meaning, names};

fn folder(dialect: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations").join(dialect)
}

/// File names and texts.
fn files(dialect: &str) -> BTreeMap<String, String> {
    std::fs::read_dir(folder(dialect))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn the_folders_match_the_list_of_migrations() {
    let (sqlite, postgres) = (files("sqlite"), files("postgres"));
    let texts = |migrator: &Migrator| -> Vec<String> { migrator.iter().map(|migration| migration.sql.as_str().to_owned()).collect() };
    assert_eq!(sqlite.values().cloned().collect::<Vec<_>>(), texts(&migrate::SQLITE));
    assert_eq!(postgres.values().cloned().collect::<Vec<_>>(), texts(&migrate::POSTGRES));
    assert!(sqlite.keys().eq(postgres.keys()), "the same names in both folders");
    let versions: Vec<i64> = migrate::SQLITE.iter().map(|migration| migration.version).collect();
    assert_eq!(versions, (1..).take(versions.len()).collect::<Vec<i64>>(), "consecutive numbers from 1");
    for (name, text) in sqlite.iter().chain(&postgres) {
        assert!(text.starts_with("-- "), "{name} starts with its reason");
    }
}

/// Maps a type of one database to the common name.
fn common(kind: &str) -> String {
    match kind.to_uppercase().as_str() {
        "BYTEA" => "BLOB".to_owned(),
        "INT8" => "BIGINT".to_owned(),
        "BOOL" => "BOOLEAN".to_owned(),
        kind => kind.to_owned(),
    }
}

/// `table.column type null|not null` of every column that a folder's migrations define. This parses only the style of the migrations: one column per
/// line, constraints on their own lines, `ALTER TABLE … ADD COLUMN` on one line.
fn written(dialect: &str) -> BTreeSet<String> {
    let mut columns = BTreeSet::new();
    for text in files(dialect).values() {
        let mut table = None;
        for line in text.lines().map(|line| line.trim().trim_end_matches([',', ';'])) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["CREATE", "TABLE", name, "("] => table = Some((*name).to_owned()),
                ["ALTER", "TABLE", name, "ADD", "COLUMN", column, kind, rest @ ..] => {
                    columns.insert(describe(name, column, kind, &rest.join(" ")));
                }
                [")", ..] => table = None,
                ["PRIMARY" | "UNIQUE" | "FOREIGN" | "CHECK" | "CONSTRAINT" | "--", ..] | [] => {}
                [column, kind, rest @ ..] => {
                    if let Some(table) = &table {
                        columns.insert(describe(table, column, kind, &rest.join(" ")));
                    }
                }
                [other] => panic!("cannot parse: {other}"),
            }
        }
    }
    columns
}

fn describe(table: &str, column: &str, kind: &str, rest: &str) -> String {
    let required = rest.contains("NOT NULL") || rest.contains("PRIMARY KEY");
    format!("{table}.{column} {} {}", common(kind), if required { "not null" } else { "null" })
}

#[test]
fn both_dialects_define_the_same_columns() {
    let (sqlite, postgres) = (written("sqlite"), written("postgres"));
    assert!(sqlite.len() > 50, "{sqlite:?}");
    assert_eq!(sqlite, postgres);
}

#[test]
fn both_dialects_differ_only_in_the_type_of_bytes() {
    for ((name, sqlite), (other, postgres)) in files("sqlite").into_iter().zip(files("postgres")) {
        let plain =
            |text: &str| text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n").replace("BYTEA", "BLOB");
        assert_eq!((name, plain(&sqlite)), (other, plain(&postgres)));
    }
}

/// The columns in the current database.
async fn real(db: &Db) -> BTreeSet<String> {
    let sql = match db.dialect() {
        Dialect::Sqlite => {
            "SELECT t.name, c.name, c.type, CASE WHEN c.\"notnull\" = 1 OR c.pk > 0 THEN 'not null' ELSE 'null' END \
             FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE '\\_%' ESCAPE '\\'"
        }
        Dialect::Postgres => {
            "SELECT table_name::text, column_name::text, udt_name::text, CASE is_nullable WHEN 'NO' THEN 'not null' ELSE 'null' END \
             FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '\\_%'"
        }
    };
    let mut tx = db.read().await.unwrap();
    let rows: Vec<(String, String, String, String)> = on!(tx, |conn| sqlx::query_as(sql).fetch_all(conn).await).unwrap();
    rows.into_iter().map(|(table, column, kind, null)| format!("{table}.{column} {} {null}", common(&kind))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn this_database_has_exactly_the_defined_columns() {
    let app = TestApp::spawn().await;
    assert_eq!(real(app.db()).await, written("sqlite"));
}

/// `index on table (columns)` of every index that a folder's migrations define, each on one line.
fn written_indexes() -> BTreeSet<String> {
    let texts: Vec<String> = files("sqlite").into_values().collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.strip_prefix("CREATE INDEX "));
    lines.map(|line| line.trim_end_matches(';').replace(" ON ", " on ")).collect()
}

/// The indexes in the current database, except those of keys and constraints.
async fn real_indexes(db: &Db) -> BTreeSet<String> {
    let sql = match db.dialect() {
        Dialect::Sqlite => "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
        Dialect::Postgres => {
            "SELECT i.indexdef FROM pg_indexes i WHERE i.schemaname = 'public' AND i.tablename NOT LIKE '\\_%' \
             AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)"
        }
    };
    let mut tx = db.read().await.unwrap();
    let texts: Vec<String> = on!(tx, |conn| sqlx::query_scalar(sql).fetch_all(conn).await).unwrap();
    let plain = |text: &String| text.replace(" USING btree", "").replace(" ON public.", " ON ").replace(" ON ", " on ");
    texts.iter().map(plain).map(|text| text.strip_prefix("CREATE INDEX ").unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn this_database_has_exactly_the_defined_indexes() {
    let app = TestApp::spawn().await;
    let written = written_indexes();
    assert!(written.len() > 10, "{written:?}");
    assert_eq!(real_indexes(app.db()).await, written);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apps_keys_are_found_by_an_index() {
    let app = TestApp::spawn().await;
    let mut statements = statements().into_iter().flat_map(|(_, statements)| statements);
    let keys = statements.find(|sql| sql.starts_with("SELECT deployment_key FROM deployment_keys WHERE app_id"));
    let mut tx = app.db().write().await.unwrap();
    let plan: Vec<String> = match tx.parts() {
        Either::Sqlite(tx) => {
            let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", keys.unwrap()));
            let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(explain).bind("an app").fetch_all(&mut **tx).await.unwrap();
            rows.into_iter().map(|row| row.3).collect()
        }
        Either::Postgres(tx) => {
            // With a few rows, a sequential scan would cost less than any index.
            sqlx::query("SET LOCAL enable_seqscan = off").execute(&mut **tx).await.unwrap();
            let explain = AssertSqlSafe(format!("EXPLAIN {}", keys.unwrap()));
            sqlx::query_scalar(explain).bind("an app").fetch_all(&mut **tx).await.unwrap()
        }
    };
    assert!(plan.iter().any(|line| line.contains("deployment_keys_by_app")), "{plan:#?}");
}

/// The URL of the test's database.
fn url(app: &TestApp) -> String {
    let settings = app.settings();
    let embedded = || format!("sqlite://{}", app.folder().join("updraft.db").display());
    settings.get("UPDRAFT_DATABASE_URL").cloned().unwrap_or_else(embedded)
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_are_idempotent() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let (columns, applied) = (real(app.db()).await, app.number("SELECT COUNT(*) FROM _sqlx_migrations").await);
    assert_eq!(applied, i64::try_from(migrate::SQLITE.iter().count()).unwrap());
    let again = Db::open(&url(&app)).await.unwrap();
    assert_eq!(real(&again).await, columns);
    again.close().await;
    assert_eq!(app.number("SELECT COUNT(*) FROM _sqlx_migrations").await, applied);
    ada.get("/v1/apps/demo").await.assert(200);
}

/// Reverts the migration of names, with rows as the previous release would have stored them.
async fn before_names(app: &mut TestApp) {
    for sql in [
        "DROP TABLE used_names",
        "ALTER TABLE collaborators DROP COLUMN accepted_time",
        "ALTER TABLE collaborators DROP COLUMN is_received",
        "DELETE FROM _sqlx_migrations WHERE version = 15",
    ] {
        app.change(sql, &[]).await;
    }
    app.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_collaborators_have_accepted_their_apps_in_the_order_of_access() {
    let mut app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    for owner in [&ada, &bob] {
        owner.create_app("demo").await;
        add(owner, "demo", "carol", "Developer").await;
        app.clock.advance(1_000);
    }
    ada.create_app("old").await;
    let (of_ada, of_bob) = (meaning(&ada, "demo").await, meaning(&bob, "demo").await);
    assert_eq!(meaning(&carol, "demo").await, None);
    before_names(&mut app).await;
    app.start().await;
    assert_eq!(names(&carol).await, ["demo", "bob@example.com:demo"]);
    assert_eq!((meaning(&carol, "demo").await, meaning(&carol, "bob@example.com:demo").await), (of_ada.clone(), of_bob.clone()));
    assert_eq!((meaning(&ada, "demo").await, meaning(&bob, "demo").await), (of_ada, of_bob));
    // Their names are kept: shared apps do not take them when the own apps are deleted.
    ada.delete("/v1/apps/old").await.assert_status(204);
    for owner in [&ada, &bob] {
        owner.delete("/v1/apps/demo").await.assert_status(204);
    }
    let eve = app.sign_up("eve").await;
    for name in ["demo", "old"] {
        eve.create_app(name).await;
        add(&eve, name, "ada", "Developer").await;
        add(&eve, name, "carol", "Developer").await;
    }
    assert_eq!((meaning(&ada, "demo").await, meaning(&ada, "old").await, meaning(&carol, "demo").await), (None, None, None));
    // Carol never had an app with this name.
    assert_eq!(meaning(&carol, "old").await, meaning(&eve, "old").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn previously_stored_bytes_count_toward_the_account_that_stored_them() {
    let mut app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for (owner, name) in [(&ada, "kept"), (&ada, "deleted"), (&bob, "bobs")] {
        owner.create_app(name).await;
        owner.upload(name, "Staging", &Bundle::script(name).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    ada.delete("/v1/apps/deleted").await.assert_status(204);
    let rows = async |app: &TestApp| app.texts("SELECT app_id || ' ' || sha256 || ' ' || account_id FROM blobs ORDER BY 1", &[]).await;
    let before = rows(&app).await;
    let of_ada = app.account_of("ada").await.to_string();
    assert_eq!((before.len(), before.iter().filter(|row| row.ends_with(&of_ada)).count()), (6, 4), "{before:?}");
    for sql in [
        "DROP INDEX blobs_by_account",
        "DROP INDEX blobs_counted",
        "ALTER TABLE blobs DROP COLUMN account_id",
        "DELETE FROM _sqlx_migrations WHERE version = 17",
    ] {
        app.change(sql, &[]).await;
    }
    app.stop().await;
    app.start().await;
    assert_eq!(rows(&app).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_starting_concurrently_apply_each_migration_once() {
    let app = TestApp::spawn().await;
    let fresh = match app.db().dialect() {
        Dialect::Sqlite => format!("sqlite://{}", app.folder().join("updraft.db-fresh").display()),
        // A PostgreSQL database cannot be created here without the test harness, so the existing one is emptied.
        Dialect::Postgres => {
            app.change("DROP SCHEMA public CASCADE", &[]).await;
            app.change("CREATE SCHEMA public", &[]).await;
            url(&app)
        }
    };
    let opening: Vec<_> = (0..4)
        .map(|_| {
            let fresh = fresh.clone();
            tokio::spawn(async move { Db::open(&fresh).await })
        })
        .collect();
    for opened in opening {
        let db = opened.await.unwrap().expect("each replica starts");
        assert_eq!(real(&db).await, written("sqlite"));
        db.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_migration_prevents_startup() {
    let app = TestApp::spawn().await;
    let changed = match app.db().dialect() {
        Dialect::Sqlite => app.change("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1", &[]).await,
        Dialect::Postgres => app.change("UPDATE _sqlx_migrations SET checksum = '\\x00' WHERE version = 1", &[]).await,
    };
    assert_eq!(changed, 1);
    let error = Db::open(&url(&app)).await.expect_err("an edited migration is refused");
    let text = tests::chain(&error);
    assert!(text.contains("schema") && text.contains('1'), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_newer_than_the_program_prevents_startup() {
    let app = TestApp::spawn().await;
    let changed = app.change("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1", &[]).await;
    assert_eq!(changed, 1);
    let error = Db::open(&url(&app)).await.expect_err("an unknown migration is refused");
    assert!(tests::chain(&error).contains("9999"), "{}", tests::chain(&error));
}
