//! An attacker who exhausts the mail limit of another user's address: what is stored, what is sent, and for which registration.

use serde_json::json;
use tests::people::{PASSWORD, PASSWORD_HASH};
use tests::{Answer, Options, TestApp};

const HOUR: i64 = 3_600_000;
const EMAIL: &str = "ada@example.com";
const ANOTHER: &str = "quite another phrase for the gate";

async fn spawn() -> TestApp {
    TestApp::spawn_among_strangers(Options::default()).await
}

async fn register(app: &TestApp, address: &str, password: &str) {
    app.stranger(address).post("/v1/auth/register", json!({ "email": EMAIL, "password": password })).await.assert(202);
}

/// The number of emails to the address so far.
async fn mails(app: &TestApp) -> usize {
    app.mails_to(EMAIL).await.len()
}

async fn verify(app: &TestApp, token: &str) -> Answer {
    app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn each_network_gets_three_mails_an_hour_and_every_registration_is_stored() {
    let app = spawn().await;
    for number in 1..=5 {
        register(&app, &format!("203.0.113.{number}"), PASSWORD).await;
    }
    app.stranger("203.0.113.6").resend("ada").await.assert(202);
    assert_eq!((mails(&app).await, app.number("SELECT COUNT(*) FROM registrations").await), (3, 5));
    // Another /24, another /48, and a second address in that /48.
    for (address, sent) in
        [("203.0.114.1", 4), ("2001:db8:1::1", 5), ("2001:db8:1:ffff::1", 6), ("2001:db8:1:2::1", 7), ("2001:db8:1:3::1", 7)]
    {
        register(&app, address, PASSWORD).await;
        assert_eq!(mails(&app).await, sent, "{address}");
    }
    // Another email address has its own limit.
    app.stranger("203.0.113.1").register("bob").await.assert(202);
    assert_eq!(app.mails_to("bob@example.com").await.len(), 1);
    app.clock.advance(HOUR);
    app.stranger("203.0.113.6").resend("ada").await.assert(202);
    assert_eq!(mails(&app).await, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_networks_together_get_ten_mails_an_hour() {
    let app = spawn().await;
    for number in 0..12 {
        register(&app, &format!("203.0.{number}.1"), PASSWORD).await;
    }
    app.stranger("203.0.20.1").resend("ada").await.assert(202);
    assert_eq!((mails(&app).await, app.number("SELECT COUNT(*) FROM registrations").await), (10, 12));
    app.clock.advance(HOUR);
    app.stranger("203.0.20.1").resend("ada").await.assert(202);
    assert_eq!(mails(&app).await, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn password_resets_have_a_separate_limit_of_three_mails_an_hour() {
    let app = spawn().await;
    app.sign_up("ada").await;
    for number in 0..10 {
        register(&app, &format!("203.0.{number}.1"), ANOTHER).await;
    }
    assert_eq!(mails(&app).await, 10);
    for number in 0..5 {
        app.stranger(&format!("198.51.{number}.1")).forget("ada").await.assert(202);
    }
    let sent = app.mails_to(EMAIL).await;
    assert_eq!(sent.len(), 13);
    assert!(sent[10..].iter().all(|mail| mail.subject == "Reset your password"));
    app.clock.advance(HOUR);
    app.stranger("198.51.9.1").forget("ada").await.assert(202);
    register(&app, "203.0.9.1", ANOTHER).await;
    assert_eq!(mails(&app).await, 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resent_mail_is_for_the_newest_registration_from_the_same_network() {
    let app = spawn().await;
    register(&app, "198.51.100.1", PASSWORD).await;
    register(&app, "198.51.100.2", ANOTHER).await;
    register(&app, "203.0.113.7", PASSWORD).await;
    let before = app.mails_to(EMAIL).await;
    let asked = async |address: &str| {
        app.stranger(address).resend("ada").await.assert(202);
        app.last_mail_to(EMAIL).await
    };
    // From the owner's network, although another network registered later.
    let again = asked("198.51.100.99").await;
    assert!(again.text.contains("IP address: 198.51.100.2."), "{}", again.text);
    // From a network without a registration: the newest of all.
    let newest = asked("192.0.2.1").await;
    assert!(newest.text.contains("IP address: 203.0.113.7."), "{}", newest.text);
    for voided in &before[1..] {
        verify(&app, &voided.token()).await.refused(400);
    }
    verify(&app, &again.token()).await.assert(200);
    app.try_log_in("ada", ANOTHER).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_without_a_mail_is_mailed_on_request() {
    let app = spawn().await;
    for password in [ANOTHER, ANOTHER, ANOTHER, PASSWORD] {
        register(&app, "198.51.100.1", password).await;
    }
    assert_eq!(mails(&app).await, 3);
    app.clock.advance(HOUR);
    app.stranger("198.51.100.1").resend("ada").await.assert(202);
    verify(&app, &app.last_mail_to(EMAIL).await.token()).await.assert(200);
    app.try_log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_from_the_previous_release_are_mailed_and_confirmed() {
    let app = spawn().await;
    let token = "a-token-of-an-earlier-release-0123456789abc";
    let now = app.clock.now().0;
    let hash = shared::hash::Sha256Hex::of(token.as_bytes()).to_string();
    let row = format!(
        "INSERT INTO registrations (id, email, name, password_hash, token_hash, token_expires, created_by, created_time) \
         VALUES ('earlier', $1, 'Ada', $2, $3, {}, '198.51.100.1', {now})",
        now + HOUR
    );
    app.change(row.leak(), &[EMAIL, PASSWORD_HASH, &hash]).await;
    app.clock.advance(1);
    register(&app, "203.0.113.7", ANOTHER).await;
    app.stranger("198.51.100.1").resend("ada").await.assert(202);
    let again = app.last_mail_to(EMAIL).await;
    assert!(again.text.contains("IP address: 198.51.100.1."), "{}", again.text);
    verify(&app, token).await.refused(400);
    let body = json!({ "token": again.token(), "password": PASSWORD });
    app.anonymous().post("/v1/auth/verify-email", body).await.assert(200);
    app.try_log_in("ada", PASSWORD).await.assert(200);
}
