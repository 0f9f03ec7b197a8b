//! Rows that the previous release leaves in its own two tables are moved to the outbox and processed once.

use control::testing::mail::{self, Kind, Mail};
use control::testing::outbox::{SETTLING, adopt as adopt_once};
use control::testing::snapshots;
use shared::keys::DeploymentKey;
use shared::time::UnixMillis;
use tests::kv::{KvStandIn, NAMESPACE, TOKEN};
use tests::wait::{eventually, until};
use tests::{Client, Clock, Options, TestApp, TestClock, WriteTx, on, on_write};

use super::publisher::{key_of, options, until_equal};

const HOUR: i64 = 3_600_000;

const OLD_ROWS: &str = "SELECT (SELECT COUNT(*) FROM mail_outbox) + (SELECT COUNT(*) FROM snapshot_outbox)";

/// Moves this transaction's outbox rows to the table of the previous release, leased by one of its processes until then.
async fn leave(tx: &mut WriteTx, key: &str, lease_until: Option<UnixMillis>) {
    let owner = lease_until.map(|_| "a process of the release before this one");
    for sql in [
        "INSERT INTO mail_outbox (id, sealed, created_time, next_attempt_time, attempts, lease_owner, lease_until) \
         SELECT key, payload, created_time, next_attempt_time, attempts, $2, $3 FROM outbox WHERE kind = 'mail' AND key = $1",
        "INSERT INTO snapshot_outbox (deployment_key, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
         SELECT key, created_time, next_attempt_time, attempts, $2, $3, unsettled_until FROM outbox WHERE kind = 'snapshot' AND key = $1",
    ] {
        let until = lease_until.unwrap_or(UnixMillis(0));
        on_write!(tx, |conn| sqlx::query(sql).bind(key).bind(owner).bind(until).execute(conn).await).unwrap();
    }
    assert_eq!(on_write!(tx, |conn| sqlx::query("DELETE FROM outbox WHERE key = $1").bind(key).execute(conn).await).unwrap(), 1);
}

/// Leaves an email to each address, with the given lease.
async fn leave_mails(app: &TestApp, tx: &mut WriteTx, mails: &[(&str, Option<UnixMillis>)]) {
    for (address, lease_until) in mails {
        let mail = Mail { to: (*address).to_owned(), kind: Kind::AlreadyRegistered };
        mail::enqueue(tx, &app.state(), &mail).await.unwrap();
        let newest = "SELECT MAX(key) FROM outbox WHERE kind = 'mail'";
        let key: String = on!(tx, |conn| sqlx::query_scalar(newest).fetch_one(conn).await).unwrap();
        leave(tx, &key, *lease_until).await;
    }
}

/// Moves the rows, as several replicas do concurrently.
async fn adopt(app: &TestApp) {
    let now = app.clock.now();
    let (first, second) = tokio::join!(adopt_once(app.db(), now), adopt_once(app.db(), now));
    assert_eq!((first.unwrap(), second.unwrap()), (false, false), "there are few rows");
}

/// The recipients of the emails that were sent, once only those in the old table are pending.
async fn sent(app: &TestApp) -> Vec<String> {
    until("the emails are sent", async || (app.waiting_mails().await == 0).then_some(())).await;
    let mut addresses: Vec<String> = app.written_mails().into_iter().map(|mail| mail.to).collect();
    addresses.sort_unstable();
    addresses
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_of_the_previous_release_are_sent_once_and_leased_ones_after_their_lease() {
    let mut app = TestApp::spawn().await;
    let until = app.clock.now().plus_millis(HOUR);
    let mut tx = app.db().write().await.unwrap();
    leave_mails(&app, &mut tx, &[("ada@example.com", None), ("bob@example.com", Some(until)), ("eve@example.com", None)]).await;
    tx.commit().await.unwrap();
    adopt(&app).await;
    assert_eq!(sent(&app).await, ["ada@example.com", "eve@example.com"]);
    app.clock.advance(HOUR - 1);
    adopt(&app).await;
    assert_eq!((app.number(OLD_ROWS).await, sent(&app).await.len()), (1, 2));
    app.clock.advance(1);
    // Startup moves it as well.
    app.stop().await;
    app.start().await;
    eventually("nothing is left", async || match app.number(OLD_ROWS).await {
        0 => Ok(()),
        rows => Err(format!("{rows} rows")),
    })
    .await;
    assert_eq!(sent(&app).await, ["ada@example.com", "bob@example.com", "eve@example.com"]);
}

/// A server that pushes to a stand-in, on stopped clocks, with everything pushed.
async fn pushing() -> (TestApp, KvStandIn, TestClock, Client) {
    let clock = TestClock::starting_now();
    let kv = KvStandIn::start(Clock::Test(clock.clone())).await;
    let app = TestApp::spawn_with(Options { has_machine_clock: false, ..options(&kv, TOKEN, NAMESPACE) }).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    until_equal(&app, &kv).await;
    // No key was written within the last second.
    clock.advance(5_000);
    app.clock.advance(5_000);
    (app, kv, clock, ada)
}

/// A change of the key, queued in the old table.
async fn change(app: &TestApp, name: &str, lease_until: Option<UnixMillis>) {
    let key = DeploymentKey::try_from(name.trim_start_matches("deployment/")).unwrap();
    let mut tx = app.db().write().await.unwrap();
    snapshots::enqueue(&mut tx, &key, app.clock.now()).await.unwrap();
    leave(&mut tx, key.as_str(), lease_until).await;
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_queued_by_the_previous_release_are_pushed_after_their_leases() {
    let (app, kv, clock, ada) = pushing().await;
    let (staging, production) = (key_of(&ada, "Staging").await, key_of(&ada, "Production").await);
    let before = (kv.seen().writes, kv.version(&staging).unwrap(), kv.version(&production).unwrap());
    change(&app, &staging, None).await;
    change(&app, &production, Some(app.clock.now().plus_millis(60_000))).await;
    adopt(&app).await;
    eventually("the unleased one is pushed", async || {
        let open = app.number("SELECT COUNT(*) FROM outbox").await;
        if open == 0 && kv.version(&staging) > Some(before.1) { Ok(()) } else { Err(format!("{open} rows are open")) }
    })
    .await;
    assert_eq!((kv.seen().writes, kv.version(&production)), (before.0 + 1, Some(before.2)));
    clock.advance(60_000);
    app.clock.advance(60_000);
    adopt(&app).await;
    let unsettled = "SELECT COUNT(*) FROM outbox WHERE lease_until = 0 AND next_attempt_time = unsettled_until";
    eventually("the other one is pushed, and stays pending", async || {
        let open = app.number(unsettled).await;
        if open == 1 && kv.version(&production) > Some(before.2) { Ok(()) } else { Err(format!("{open} rows are open")) }
    })
    .await;
    clock.advance(SETTLING);
    app.clock.advance(SETTLING);
    until_equal(&app, &kv).await;
    assert_eq!((kv.seen().writes, kv.seen().too_soon, app.number(OLD_ROWS).await), (before.0 + 3, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_both_tables_is_moved_when_unleased_and_keeps_its_age_and_unsettled_writes() {
    // Nothing is pushed: there is no edge.
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = ada.deployment_key("demo", "Staging").await;
    app.change("DELETE FROM outbox WHERE key <> $1", &[&key]).await;
    for sql in [
        "UPDATE outbox SET lease_owner = 'this release', lease_until = 1, created_time = 2000, unsettled_until = 5000",
        "INSERT INTO snapshot_outbox (deployment_key, created_time, next_attempt_time, attempts, lease_owner, lease_until, unsettled_until) \
         SELECT key, 1000, 0, 3, NULL, 0, 7000 FROM outbox",
    ] {
        assert_eq!(app.change(sql, &[]).await, 1);
    }
    // Even with an expired lease: its owner may still delete the row, based on what it read there.
    adopt(&app).await;
    assert_eq!(app.number(OLD_ROWS).await, 1);
    app.change("UPDATE outbox SET lease_owner = NULL, lease_until = 0", &[]).await;
    adopt(&app).await;
    assert_eq!(app.number(OLD_ROWS).await, 0);
    let row = "SELECT kind || ' ' || key || ' ' || CAST(created_time AS TEXT) || ' ' || CAST(attempts AS TEXT) || ' ' \
        || CAST(unsettled_until AS TEXT) FROM outbox";
    assert_eq!(app.texts(row, &[]).await, [format!("snapshot {key} 1000 0 7000")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_of_this_release_takes_over_pending_rows() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let rows =
        "SELECT kind || ' ' || key || ' ' || CAST(created_time AS TEXT) || ' ' || CAST(next_attempt_time AS TEXT) FROM outbox ORDER BY 1";
    let open = app.texts(rows, &[]).await;
    assert_eq!(open.len(), 2, "{open:?}");
    let mut tx = app.db().write().await.unwrap();
    leave_mails(&app, &mut tx, &[("bob@example.com", None)]).await;
    let keys = "SELECT key FROM outbox WHERE kind = 'snapshot' ORDER BY key";
    let keys: Vec<String> = on!(tx, |conn| sqlx::query_scalar(keys).fetch_all(conn).await).unwrap();
    for key in &keys {
        leave(&mut tx, key, None).await;
    }
    for sql in ["DROP TABLE outbox", "DELETE FROM _sqlx_migrations WHERE version = 18"] {
        on_write!(tx, |conn| sqlx::query(sql).execute(conn).await).unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(app.number(OLD_ROWS).await, 3);
    app.stop().await;
    app.start().await;
    eventually("nothing is left", async || match app.number(OLD_ROWS).await {
        0 => Ok(()),
        rows => Err(format!("{rows} rows")),
    })
    .await;
    assert_eq!(sent(&app).await, ["bob@example.com"]);
    assert_eq!(app.texts(rows, &[]).await, open);
}
