//! A transaction that never ends.

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tests::inside::free_writers;
use tests::wait::until;
use tests::{Db, Dialect, TestApp, on_write};

/// More than the number of concurrent writers on any database.
const CHANGES: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn writes_blocked_by_a_stuck_transaction_do_not_block_reads() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // The next use of the key is due to be recorded, but no connection is available.
    app.clock.advance(5 * 60_000);
    let mut stuck = app.db().write().await.unwrap();
    on_write!(stuck, |conn| sqlx::query("UPDATE audit_head SET seq = seq WHERE id = 1").execute(conn).await).unwrap();
    let changes: Vec<_> = (0..CHANGES)
        .map(|number| {
            let ada = ada.clone();
            tokio::spawn(async move { ada.post("/v1/apps", json!({ "name": format!("app {number}") })).await })
        })
        .collect();
    until("every write connection is in use", async || (free_writers(app.db()) == 0).then_some(())).await;
    for path in ["/v1/apps", "/v1/apps/demo", "/v1/health", "/v1/account"] {
        ada.get(path).await.assert(200);
    }
    stuck.commit().await.unwrap();
    for change in changes {
        let status = change.await.unwrap().status.as_u16();
        assert!([201, 503].contains(&status), "{status}");
    }
    ada.post("/v1/apps", json!({ "name": "another" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn row_locks_and_idle_transactions_time_out() {
    let app = TestApp::spawn().await;
    if app.db().dialect() == Dialect::Sqlite {
        // On SQLite a writer waits for the connection, and no other program has the file open.
        return;
    }
    let sql = "SELECT current_setting('lock_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')";
    assert_eq!(app.texts(sql, &[]).await, ["10s 30s"]);
    let mut tx = app.db().write().await.unwrap();
    let found: String = tests::on!(tx, |conn| sqlx::query_scalar(sql).fetch_one(conn).await).unwrap();
    assert_eq!(found, "10s 30s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_utf8_encoding_is_refused_at_startup() {
    let app = TestApp::spawn().await;
    if app.db().dialect() == Dialect::Sqlite {
        return;
    }
    let url = app.settings()["UPDRAFT_DATABASE_URL"].clone();
    let (server, name) = (std::env::var("TEST_POSTGRES_URL").unwrap(), format!("ascii_{}", url.rsplit('/').next().unwrap()));
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let create = format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    connection.execute(AssertSqlSafe(create)).await.unwrap();
    let (address, _) = server.rsplit_once('/').unwrap();
    let refused = Db::open(&format!("{address}/{name}")).await.map(|_| ()).unwrap_err().to_string();
    connection.execute(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).await.unwrap();
    assert_eq!(refused, "the database's encoding is SQL_ASCII: create a database with the encoding UTF8");
}
