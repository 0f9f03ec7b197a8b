//! Emails through a real mail server that refuses, stalls and drops connections.

use std::path::Path;

use control::testing::mail::Kind;
use serde_json::{Value, json};
use tests::smtp::{MailServer, Tls};
use tests::wait::until;
use tests::{Options, ReceivedMail, TestApp};

use crate::mail::{send, verification};

/// `p:ss/w@rd` and its user, percent-encoded as in a URL.
const LOGIN: &str = "updraft%40example.com:p%3Ass%2Fw%40rd@";
const HOUR: i64 = 3_600_000;

async fn app(url: String) -> TestApp {
    TestApp::spawn_with(Options::default().with("SMTP_URL", url)).await
}

fn ca(path: &Path) -> String {
    format!("tls_ca={}", path.display())
}

/// Advances the clock past the back-offs repeatedly until `happened`, since a failure is recorded only after the server has failed. The clock stands
/// still while an email is being sent: past its lease the email would be sent again, as if the sender had crashed.
async fn while_time_passes(app: &TestApp, what: &str, mut happened: impl AsyncFnMut() -> bool) {
    until(what, async || {
        let has_happened = happened().await;
        if !has_happened && app.leased_mails().await == 0 {
            app.clock.advance(5_000);
            app.state().mailer.wake();
        }
        has_happened.then_some(())
    })
    .await;
}

async fn work_off(app: &TestApp) {
    while_time_passes(app, "an empty mail outbox", async || app.waiting_mails().await == 0).await;
}

/// Sends an email while the server fails in this way, repairs the server, and expects the email to have arrived once.
async fn arrives_once(fault: Value) {
    let mut server = MailServer::start(Tls::StartTls, true).await;
    server.fail(json!([fault])).await;
    let app = app(format!("smtp://{LOGIN}127.0.0.1:{}?{}", server.port, ca(&server.certificate))).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    server.failed(1).await;
    if fault["do"] != "stall" {
        while_time_passes(&app, "the server fails again", async || server.failures() > 1).await;
    }
    assert_eq!(server.taken().len(), 0, "{fault}");
    assert_eq!(app.waiting_mails().await, 1, "{fault}");
    server.fail(json!([])).await;
    work_off(&app).await;
    let mails = server.mails(1).await;
    assert_eq!(mails.len(), 1, "{fault}");
    assert_eq!((mails[0].to.as_str(), mails[0].token().as_str()), ("ada@example.com", "token-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_arrives_once_after_a_temporary_refusal() {
    for (stage, answer) in [
        ("connection", "421 too busy"),
        ("connection", "554 go away"),
        ("EHLO", "421 too busy"),
        ("STARTTLS", "454 not now"),
        ("AUTH", "454 not now"),
        ("AUTH", "535 wrong"),
        ("MAIL", "451 later"),
        ("MAIL", "550 not this sender"),
        ("RCPT", "451 greylisted"),
        ("RCPT", "530 log in first"),
        ("RCPT", "554 5.7.1 relay access denied"),
        ("RCPT", "550 5.2.2 mailbox full"),
        ("DATA", "451 later"),
        ("DATA", "554 not now"),
        ("content", "452 disk full"),
        ("content", "554 5.7.1 refused by policy"),
        ("content", "552 too large for now"),
    ] {
        arrives_once(json!({ "stage": stage, "do": "refuse", "answer": answer })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_arrives_once_after_a_dropped_connection() {
    for stage in ["connection", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "content"] {
        arrives_once(json!({ "stage": stage, "do": "drop" })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_arrives_once_after_a_stalled_connection() {
    for stage in ["connection", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "content"] {
        arrives_once(json!({ "stage": stage, "do": "stall" })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_times_out() {
    let mut server = MailServer::start(Tls::Off, false).await;
    server.fail(json!([{ "stage": "RCPT", "do": "stall" }])).await;
    let mut app = app(format!("smtp://127.0.0.1:{}?timeout=300ms", server.port)).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    server.failed(1).await;
    while_time_passes(&app, "the email is retried", async || server.failures() > 1).await;
    // On a busy machine a working server may need longer than that, and would get the email twice.
    app.stop().await;
    server.fail(json!([])).await;
    app.configure("SMTP_URL", &format!("smtp://127.0.0.1:{}", server.port));
    app.start().await;
    work_off(&app).await;
    assert_eq!(server.mails(1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_mail_does_not_block_others() {
    let mut server = MailServer::start(Tls::Off, false).await;
    server.fail(json!([{ "stage": "RCPT", "do": "stall", "to": "slow@" }])).await;
    let app = app(format!("smtp://127.0.0.1:{}", server.port)).await;
    send(&app.state(), "slow@example.com", verification(0)).await;
    server.failed(1).await;
    for number in 1..=5 {
        send(&app.state(), "ada@example.com", verification(number)).await;
    }
    assert!(server.mails(5).await.iter().all(|mail| mail.to == "ada@example.com"));
    server.fail(json!([])).await;
    work_off(&app).await;
    assert_eq!(server.mails(6).await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanently_refused_recipient_or_mail_is_not_retried() {
    for (stage, answer) in [("RCPT", "550 no such user"), ("RCPT", "550 5.1.1 no such user"), ("content", "554 5.6.0 not this email")] {
        let mut server = MailServer::start(Tls::Off, false).await;
        server.fail(json!([{ "stage": stage, "do": "refuse", "answer": answer, "to": "nobody@" }])).await;
        let app = app(format!("smtp://127.0.0.1:{}", server.port)).await;
        send(&app.state(), "nobody@example.com", verification(1)).await;
        until("the email is dropped", async || (app.waiting_mails().await == 0).then_some(())).await;
        send(&app.state(), "ada@example.com", verification(2)).await;
        work_off(&app).await;
        assert_eq!(server.failures(), 1, "{stage}");
        assert_eq!(server.mails(1).await.len(), 1, "{stage}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_dropped_when_its_link_has_expired() {
    let mut server = MailServer::start(Tls::Off, false).await;
    server.fail(json!([{ "stage": "connection", "do": "refuse", "answer": "421 too busy" }])).await;
    let app = app(format!("smtp://127.0.0.1:{}", server.port)).await;
    send(&app.state(), "ada@example.com", Kind::ResetPassword { link: "https://example.com/#token=ended".to_owned(), lifetime: 3_600_000 })
        .await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    server.failed(2).await;
    server.fail(json!([])).await;
    until("no mail is being sent", async || (app.leased_mails().await == 0).then_some(())).await;
    app.clock.advance(3_600_000);
    work_off(&app).await;
    let mails = server.mails(1).await;
    assert_eq!(mails.iter().map(ReceivedMail::token).collect::<Vec<_>>(), ["token-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_with_an_unknown_outcome_is_resent_with_the_same_id() {
    let mut server = MailServer::start(Tls::Off, false).await;
    server.fail(json!([{ "stage": "content", "do": "lose" }])).await;
    let app = app(format!("smtp://127.0.0.1:{}", server.port)).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    server.failed(1).await;
    server.fail(json!([])).await;
    work_off(&app).await;
    let mails = server.mails(2).await;
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[0].id, mails[1].id);
    let date = |mail: &tests::ReceivedMail| mail.source.lines().find(|line| line.starts_with("Date:")).map(str::to_owned);
    assert_eq!(date(&mails[0]), date(&mails[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_being_sent_at_shutdown_is_sent_after_a_restart() {
    let mut server = MailServer::start(Tls::Off, false).await;
    server.fail(json!([{ "stage": "content", "do": "stall" }])).await;
    let mut app = app(format!("smtp://127.0.0.1:{}", server.port)).await;
    send(&app.state(), "ada@example.com", verification(1)).await;
    server.failed(1).await;
    app.stop().await;
    server.fail(json!([])).await;
    app.clock.advance(10_000);
    app.start().await;
    assert_eq!(server.mails(1).await.len(), 1);
    work_off(&app).await;
    assert_eq!(server.taken().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_smtp_login_uses_an_encrypted_connection() {
    for (tls, scheme) in [(Tls::StartTls, "smtp"), (Tls::Implicit, "smtps")] {
        let server = MailServer::start(tls, true).await;
        let app = app(format!("{scheme}://{LOGIN}127.0.0.1:{}?{}", server.port, ca(&server.certificate))).await;
        send(&app.state(), "ada@example.com", verification(1)).await;
        server.mails(1).await;
        let taken = server.taken();
        assert_eq!((&taken[0]["is_encrypted"], &taken[0]["user"]), (&json!(true), &json!(tests::smtp::USER)), "{tls:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_without_the_configured_tls_and_a_trusted_certificate() {
    let stranger = MailServer::start(Tls::StartTls, true).await;
    let plain = MailServer::start(Tls::Off, false).await;
    for url in [
        // The certificate is signed neither by a system CA nor by that of another server.
        format!("smtp://{LOGIN}127.0.0.1:{}", stranger.port),
        format!("smtp://{LOGIN}127.0.0.1:{}?{}", stranger.port, ca(&plain.certificate)),
        format!("smtp://127.0.0.1:{}?tls=required", plain.port),
        format!("smtp://127.0.0.1:{}?tls_ca=/nothing/there.pem&tls=required", plain.port),
    ] {
        let app = app(url.clone()).await;
        send(&app.state(), "ada@example.com", verification(1)).await;
        until("the attempt has failed", async || {
            let mut tx = app.db().read().await.unwrap();
            let failed = "SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND attempts > 0 AND lease_until = 0";
            let count: i64 = tests::on!(tx, |conn| sqlx::query_scalar(failed).fetch_one(conn).await).unwrap();
            (count == 1).then_some(())
        })
        .await;
        app.clock.advance(HOUR);
    }
    assert!(stranger.taken().is_empty() && plain.taken().is_empty());
}
