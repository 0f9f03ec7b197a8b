//! The outbox: encrypted, leased, and finally given up.

use control::testing::mail::{self, Kind, Mail};
use tests::smtp::{MailServer, Tls};
use tests::wait::until;
use tests::{Options, TestApp, on};

use crate::mail::{send, verification};

const HOUR: i64 = 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_mail_is_encrypted_in_the_database() {
    let app = TestApp::spawn().await;
    let state = app.state();
    let mut tx = state.db.write().await.unwrap();
    mail::enqueue(&mut tx, &state, &Mail { to: "ada@example.com".to_owned(), kind: verification(1) }).await.unwrap();
    let sealed: Vec<u8> =
        on!(tx, |conn| sqlx::query_scalar("SELECT payload FROM outbox WHERE kind = 'mail'").fetch_one(conn).await).unwrap();
    for part in ["ada@example.com", "token-1", "VerifyEmail"] {
        assert!(!sealed.windows(part.len()).any(|window| window == part.as_bytes()), "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_transaction_sends_no_mail() {
    let app = TestApp::spawn().await;
    let state = app.state();
    let mut tx = state.db.write().await.unwrap();
    mail::enqueue(&mut tx, &state, &Mail { to: "ada@example.com".to_owned(), kind: verification(1) }).await.unwrap();
    drop(tx);
    send(&state, "ada@example.com", Kind::AlreadyRegistered).await;
    let subjects: Vec<String> = app.mails_to("ada@example.com").await.into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects, ["You already have an account"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leased_mail_is_not_sent_by_others_until_the_lease_expires() {
    let app = TestApp::spawn().await;
    let state = app.state();
    let mut tx = state.db.write().await.unwrap();
    mail::enqueue(&mut tx, &state, &Mail { to: "ada@example.com".to_owned(), kind: verification(1) }).await.unwrap();
    let until = app.clock.now().plus_millis(HOUR);
    let lease = "UPDATE outbox SET lease_owner = 'another', lease_until = $1";
    tests::on_write!(tx, |conn| sqlx::query(lease).bind(until).execute(conn).await).unwrap();
    tx.commit().await.unwrap();
    // A later mail was sent: the sender has run and skipped the leased one.
    send(&state, "bob@example.com", verification(2)).await;
    tests::wait::until("the later mail is sent", async || (app.waiting_mails().await == 1).then_some(())).await;
    assert!(app.written_mails().iter().all(|mail| mail.to == "bob@example.com"));
    app.clock.advance(HOUR);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_send_each_mail_once() {
    let server = MailServer::start(Tls::Off, false).await;
    let url = format!("smtp://127.0.0.1:{}", server.port);
    let app = TestApp::spawn_with(Options::default().with("SMTP_URL", &url)).await;
    let mut settings = app.settings();
    // A replica has its own folder and the same database.
    let folder = tempfile::TempDir::new().unwrap();
    settings.entry("UPDRAFT_DATABASE_URL".to_owned()).or_insert_with(|| format!("sqlite://{}", app.folder().join("updraft.db").display()));
    settings.insert("UPDRAFT_DATA_DIR".to_owned(), folder.path().display().to_string());
    let config = tests::Config::read(&settings).unwrap();
    let clock = tests::Clock::Test(app.clock.clone());
    let parts = control::testing::server::build(config, clock, tests::Entropy::System).await.unwrap();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (replica, state) = (control::testing::server::spawn(parts, listener, None).unwrap(), app.state());
    for number in 0..30 {
        send(if number % 2 == 0 { replica.state() } else { &state }, "ada@example.com", verification(number)).await;
    }
    until("all emails are sent", async || (app.waiting_mails().await == 0).then_some(())).await;
    replica.stop().await.unwrap();
    let mut tokens: Vec<String> = server.mails(30).await.iter().map(tests::ReceivedMail::token).collect();
    tokens.sort();
    let mut expected: Vec<String> = (0..30).map(|number| format!("token-{number}")).collect();
    expected.sort();
    assert_eq!(tokens, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_fails_for_three_days_is_dropped() {
    // No server listens there: the port was free a moment ago.
    let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let app = TestApp::spawn_with(Options::default().with("SMTP_URL", format!("smtp://127.0.0.1:{port}"))).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    let attempts = async || {
        let mut tx = app.db().read().await.unwrap();
        let all = "SELECT attempts FROM outbox WHERE kind = 'mail' AND lease_until = 0";
        let found: Option<i64> = on!(tx, |conn| sqlx::query_scalar(all).fetch_optional(conn).await).unwrap();
        found
    };
    until("the first attempt has failed", async || (attempts().await == Some(1)).then_some(())).await;
    app.clock.advance(71 * HOUR);
    until("the second attempt has failed", async || (attempts().await == Some(2)).then_some(())).await;
    app.clock.advance(HOUR);
    until("the email is dropped", async || (app.waiting_mails().await == 0).then_some(())).await;
}
