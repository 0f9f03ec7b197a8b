//! User enumeration: responses, password hashes and database writes are the same for addresses with and without an account.

use serde_json::json;
use tests::people::PASSWORD;
use tests::unauthenticated::Stranger;
use tests::{Answer, Options, TestApp};

use crate::v1::members;

const ANOTHER: &str = "quite another phrase for the gate";

/// Addresses with and without an account.
const KNOWN: &str = "ada";
const UNKNOWN: &str = "eve";

/// The cost of a request: status, password hashes, and written rows by table and kind.
type Cost = (u16, u64, Vec<String>);

/// A server that counts its writes, and whose emails stay queued.
async fn world() -> TestApp {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up(KNOWN).await;
    app.whenever(
        "AFTER INSERT ON outbox FOR EACH ROW",
        "UPDATE outbox SET next_attempt_time = next_attempt_time + 86400000 WHERE kind = NEW.kind AND key = NEW.key;",
    )
    .await;
    app.count_writes(&["registrations", "password_resets", "outbox", "limit_counts", "audit_events", "accounts", "access_keys"]).await;
    app
}

/// The cost of this request.
async fn cost(app: &TestApp, asking: impl Future<Output = Answer>) -> Cost {
    app.counted_writes().await;
    let before = app.state().passwords.hashes();
    let answer = asking.await;
    let mut names: Vec<String> = members(&answer.json()).into_iter().map(str::to_owned).collect();
    names.sort();
    let mut writes = app.counted_writes().await;
    writes.extend(names);
    (answer.status.as_u16(), app.state().passwords.hashes() - before, writes)
}

/// Both cost the same. Returns the status and the number of hashes.
async fn alike(app: &TestApp, addresses: [&str; 2], ask: impl AsyncFn(Stranger, &'static str) -> Answer) -> (u16, u64) {
    let known = cost(app, ask(app.stranger(addresses[0]), KNOWN)).await;
    let unknown = cost(app, ask(app.stranger(addresses[1]), UNKNOWN)).await;
    assert_eq!(known, unknown);
    assert!(known.2.len() > 2, "{known:?}");
    (known.0, known.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_and_login_do_not_reveal_whether_an_account_exists() {
    let app = world().await;
    // A job writes the failures of accounts, not the request. Without this table it fails.
    app.change("DROP TABLE tallies", &[]).await;
    let log_in = |password: &'static str| async move |stranger: Stranger, name: &'static str| stranger.log_in(name, password).await;
    assert_eq!(alike(&app, ["192.0.2.1", "192.0.2.2"], log_in("wrong")).await, (401, 1));
    let register = async |stranger: Stranger, name: &'static str| {
        stranger.post("/v1/auth/register", json!({ "email": format!("{name}@example.com"), "password": ANOTHER })).await
    };
    assert_eq!(alike(&app, ["192.0.3.1", "192.0.3.2"], register).await, (202, 1));
    assert_eq!(alike(&app, ["192.0.4.1", "192.0.4.2"], log_in(ANOTHER)).await, (403, 2));
    assert_eq!(alike(&app, ["192.0.5.1", "192.0.5.2"], log_in("wrong")).await, (401, 2));
    // Resends the email, then exceeds the limit of the network.
    let resend = async |stranger: Stranger, name: &'static str| stranger.resend(name).await;
    for number in 10..14 {
        let addresses = [format!("192.0.6.{number}"), format!("192.0.6.1{number}")];
        assert_eq!(alike(&app, [&addresses[0], &addresses[1]], resend).await, (202, 0));
    }
    for number in 10..14 {
        let addresses = [format!("192.0.7.{number}"), format!("192.0.7.1{number}")];
        assert_eq!(alike(&app, [&addresses[0], &addresses[1]], register).await, (202, 1));
    }
    // The owner can still sign in, with one more comparison.
    let (status, hashes, _) = cost(&app, app.stranger("192.0.8.1").log_in(KNOWN, PASSWORD)).await;
    assert_eq!((status, hashes), (200, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn forgot_password_costs_the_same_with_and_without_an_account() {
    let app = world().await;
    let forget = async |stranger: Stranger, name: &'static str| stranger.forget(name).await;
    // The fourth exceeds the limit.
    for number in 10..14 {
        let addresses = [format!("192.0.2.{number}"), format!("192.0.2.1{number}")];
        assert_eq!(alike(&app, [&addresses[0], &addresses[1]], forget).await, (202, 0));
    }
    app.no_longer("outbox").await;
    app.clock.advance(86_400_000);
    for (name, subjects) in [(KNOWN, vec!["Reset your password"; 3]), (UNKNOWN, Vec::new())] {
        let mails = app.mails_to(&format!("{name}@example.com")).await;
        assert_eq!(mails.iter().map(|mail| mail.subject.as_str()).collect::<Vec<_>>(), subjects);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM password_resets").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decoy_expires_like_a_registration_and_creates_no_account() {
    let mut app = TestApp::spawn_among_strangers(Options::default()).await;
    app.register(KNOWN).await;
    // Gives each registration a later millisecond than the one before.
    app.clock.advance(1_000);
    let register = async |name: &str| {
        let body = json!({ "email": format!("{name}@example.com"), "password": ANOTHER });
        app.stranger("203.0.113.7").post("/v1/auth/register", body).await.assert(202);
    };
    register(KNOWN).await;
    register(UNKNOWN).await;
    let mails = app.mails_to("ada@example.com").await;
    assert_eq!(mails.last().unwrap().subject, "You already have an account");
    assert!(!mails.last().unwrap().text.contains("#token="));
    app.stranger("203.0.113.7").resend(KNOWN).await.assert(202);
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "You already have an account");
    app.clock.advance(7 * 86_400_000 - 1);
    for name in [KNOWN, UNKNOWN] {
        app.try_log_in(name, ANOTHER).await.refused(403);
    }
    app.clock.advance(1);
    for name in [KNOWN, UNKNOWN] {
        app.try_log_in(name, ANOTHER).await.refused(401);
    }
    app.stop().await;
    app.start().await;
    tests::wait::until("both are deleted", async || (app.number("SELECT COUNT(*) FROM registrations").await == 0).then_some(())).await;
    app.log_in(KNOWN).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 1);
}

/// The stranger tries the password used to register these addresses: each gets the same response after the same number of hashes.
async fn polled(app: &TestApp, names: &[&str], address: &str, status: u16) {
    for name in names {
        let before = app.state().passwords.hashes();
        app.stranger(address).log_in(name, ANOTHER).await.refused(status);
        // Without pending registrations there is only one hash to compare.
        let hashes = app.state().passwords.hashes() - before;
        assert_eq!(hashes, if status == 403 { 2 } else { 1 }, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrant_does_not_learn_when_the_address_gets_an_account() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up(KNOWN).await;
    // Both addresses get an account: one by its owner's own registration, the other by the stranger's with a password replaced by the owner.
    let names = [KNOWN, "own", "replaced"];
    app.stranger("198.51.100.1").register("own").await.assert(202);
    for name in names {
        let body = json!({ "email": format!("{name}@example.com"), "password": ANOTHER, "name": "Stranger" });
        app.stranger("203.0.113.7").post("/v1/auth/register", body).await.assert(202);
    }
    polled(&app, &names, "203.0.113.8", 403).await;
    let [own, unauthenticated] = app.mails_to("own@example.com").await.try_into().unwrap();
    let replaced = app.last_mail_to("replaced@example.com").await.token();
    let verify = async |body: serde_json::Value| app.stranger("198.51.100.1").post("/v1/auth/verify-email", body).await;
    verify(json!({ "token": own.token() })).await.assert(200);
    verify(json!({ "token": replaced, "password": PASSWORD, "replacePassword": true })).await.assert(200);
    polled(&app, &names, "203.0.113.9", 403).await;
    // The decoy confirms nothing and is mailed to nobody; it has no name or token.
    for token in [own.token(), unauthenticated.token(), replaced] {
        verify(json!({ "token": token })).await.refused(400);
    }
    for name in names {
        app.stranger("203.0.113.7").resend(name).await.assert(202);
        assert_eq!(app.last_mail_to(&format!("{name}@example.com")).await.subject, "You already have an account");
    }
    verify(json!({ "token": unauthenticated.token() })).await.refused(400);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE NOT is_decoy").await, 0);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE name IS NOT NULL AND email NOT LIKE 'ada@%'").await, 0);
    // It expires when the registration of an unconfirmed address would.
    app.clock.advance(7 * 86_400_000 - 1);
    polled(&app, &names, "203.0.113.10", 403).await;
    app.clock.advance(2);
    polled(&app, &names, "203.0.113.11", 401).await;
    for name in ["own", "replaced"] {
        app.log_in(name).await.get("/v1/account").await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_password_is_answered_like_a_wrong_one() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let hijack = json!({ "email": "eve@example.com", "password": "what the stranger thought of first" });
    app.stranger("203.0.113.7").post("/v1/auth/register", hijack.clone()).await.assert(202);
    let log_in = async |password: &str| app.stranger("203.0.113.9").log_in(UNKNOWN, password).await;
    // The newest registration is the owner's, before and after it is confirmed.
    app.register(UNKNOWN).await;
    log_in(hijack["password"].as_str().unwrap()).await.refused(401);
    let session = app.log_in(UNKNOWN).await;
    session.patch("/v1/account", json!({ "password": ANOTHER, "currentPassword": PASSWORD })).await.assert(200);
    log_in(PASSWORD).await.refused(401);
    log_in(ANOTHER).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn login_compares_the_account_first_then_the_newest_registration_or_decoy() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.register(KNOWN).await;
    for password in [ANOTHER, PASSWORD] {
        for name in [KNOWN, UNKNOWN] {
            let body = json!({ "email": format!("{name}@example.com"), "password": password });
            app.stranger("203.0.113.7").post("/v1/auth/register", body).await.assert(202);
        }
    }
    for name in [KNOWN, UNKNOWN] {
        app.stranger("203.0.113.8").log_in(name, ANOTHER).await.refused(401);
    }
    app.stranger("203.0.113.9").log_in(UNKNOWN, PASSWORD).await.refused(403);
    // The account's password signs in, although the decoy has the same one.
    app.stranger("203.0.113.9").log_in(KNOWN, PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_the_password_of_a_registration_is_a_failed_login() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up(KNOWN).await;
    for name in [KNOWN, UNKNOWN] {
        let body = json!({ "email": format!("{name}@example.com"), "password": ANOTHER });
        app.stranger("203.0.113.7").post("/v1/auth/register", body).await.assert(202);
    }
    for (network, name) in [KNOWN, UNKNOWN].iter().enumerate() {
        for number in 0..9 {
            let stranger = app.stranger(&format!("198.51.{network}.{number}"));
            let (password, status) = if number % 2 == 0 { (ANOTHER, 403) } else { ("wrong", 401) };
            stranger.log_in(name, password).await.refused(status);
        }
        app.stranger(&format!("198.51.{network}.20")).log_in(name, ANOTHER).await.refused(403);
        // The tenth was also a failure.
        for password in [ANOTHER, PASSWORD, "wrong"] {
            app.stranger(&format!("198.51.{network}.21")).log_in(name, password).await.refused(429);
        }
    }
    // Also per client address.
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.stranger("203.0.113.7").register(UNKNOWN).await.assert(202);
    for _ in 0..5 {
        app.stranger("198.51.100.1").log_in(UNKNOWN, PASSWORD).await.refused(403);
    }
    app.stranger("198.51.100.1").log_in("nobody", PASSWORD).await.refused(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_in_users_confirm_only_with_the_accounts_password() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.register(KNOWN).await;
    let session = app.log_in(KNOWN).await;
    let body = json!({ "email": "ada@example.com", "password": ANOTHER });
    app.stranger("203.0.113.7").post("/v1/auth/register", body).await.assert(202);
    let before = app.state().passwords.hashes();
    session.delete_with("/v1/account", json!({ "password": ANOTHER })).await.refused(401);
    assert_eq!(app.state().passwords.hashes() - before, 1);
    session.delete_with("/v1/account", json!({ "password": PASSWORD })).await.assert(204);
    // The decoy does not become a registration.
    app.stranger("203.0.113.7").resend(KNOWN).await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.iter().filter(|mail| mail.text.contains("/verify-email#token=")).count(), 1);
}
