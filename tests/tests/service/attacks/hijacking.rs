//! Account pre-hijacking: a stranger registers a victim's address first and waits for the owner to confirm it.

use reqwest::Method;
use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::reader::Page;
use tests::unauthenticated::Stranger;
use tests::{Answer, Options, Reader, TestApp};

use crate::v1::members;

const EMAIL: &str = "ada@example.com";
const STRANGERS: &str = "what the stranger thought of first";
const STRANGER: &str = "203.0.113.7";
const OWNER: &str = "198.51.100.1";

async fn spawn() -> TestApp {
    TestApp::spawn_among_strangers(Options::default()).await
}

/// Registers the owner's address as the stranger.
async fn hijack(stranger: &Stranger) {
    let body = json!({ "email": EMAIL, "password": STRANGERS, "name": "Stranger" });
    stranger.post("/v1/auth/register", body).await.assert(202);
}

async fn verify(app: &TestApp, body: Value) -> Answer {
    app.stranger(OWNER).post("/v1/auth/verify-email", body).await
}

/// The owner's browser.
fn browser(app: &TestApp) -> Reader {
    let mut reader = app.reader();
    reader.client = reader.client.from(OWNER);
    reader
}

/// The page after the first step of the form.
async fn first_press(reader: &mut Reader, token: &str) -> Page {
    reader.fill("/dashboard/verify-email", &[("token", token)]).await
}

/// Submits the second step with the button that replaces the registered password.
async fn press_instead(reader: &mut Reader, page: &Page, password: &str) -> Page {
    let mut form = page.form().with(&[("password", password)]);
    form.fields.insert("replacePassword".to_owned(), "true".to_owned());
    reader.send(&form).await
}

/// The account belongs to the owner alone, who has signed in once. `told` is the status for the stranger's password, unchanged from before the
/// account existed: 403 while the stranger's registration is the newest.
async fn is_the_owners_alone(app: &TestApp, told: u16) {
    for address in [STRANGER, "203.0.113.200", OWNER] {
        app.stranger(address).log_in("ada", STRANGERS).await.refused(told);
    }
    let session = app.stranger(OWNER).log_in("ada", PASSWORD).await.assert(200);
    let account = app.client_of(&session).get("/v1/account").await.assert(200)["account"].clone();
    assert_eq!((&account["email"], &account["name"], &account["mfaEnabled"]), (&json!(EMAIL), &Value::Null, &json!(false)));
    let one = "SELECT (SELECT COUNT(*) FROM accounts) + (SELECT COUNT(*) FROM access_keys)";
    assert_eq!(app.number(one).await, 2, "the account and the owner's session");
    let none = "SELECT (SELECT COUNT(*) FROM api_keys) + (SELECT COUNT(*) FROM passkeys) + (SELECT COUNT(*) FROM authenticators) \
        + (SELECT COUNT(*) FROM authenticator_setups) + (SELECT COUNT(*) FROM pending_logins) + \
        (SELECT COUNT(*) FROM registrations WHERE NOT is_decoy)";
    assert_eq!(app.number(none).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_registered_first_by_a_stranger_becomes_its_owners_account() {
    let app = spawn().await;
    for _ in 0..3 {
        hijack(&app.stranger(STRANGER)).await;
    }
    app.stranger(OWNER).register("ada").await.assert(202);
    let mails = app.mails_to(EMAIL).await;
    assert_eq!(mails.len(), 4, "the stranger has not used up the owner's mail limit");
    // The owner opens one of the stranger's emails, as the first in the mailbox.
    let mut reader = browser(&app);
    let page = first_press(&mut reader, &mails[0].token()).await.has_status(200).shows("Enter your password").shows(EMAIL);
    let page = page.shows(STRANGER).shows("203.0.113.0/24");
    let page = reader.send(&page.form().with(&[("password", PASSWORD)])).await.has_status(409).shows("This is not the password");
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 0);
    press_instead(&mut reader, &page, PASSWORD).await.is_at("/dashboard/sign-in").shows("Your email address is confirmed");
    is_the_owners_alone(&app, 401).await;
    for mail in &mails {
        verify(&app, json!({ "token": mail.token() })).await.refused(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_can_use_a_strangers_mail_when_the_mail_limit_is_reached() {
    let app = spawn().await;
    for network in 0..4 {
        for _ in 0..3 {
            hijack(&app.stranger(&format!("203.0.{network}.7"))).await;
        }
    }
    app.stranger(OWNER).register("ada").await.assert(202);
    let mails = app.mails_to(EMAIL).await;
    assert_eq!((mails.len(), app.number("SELECT COUNT(*) FROM registrations").await), (10, 13));
    let mut reader = browser(&app);
    let page = first_press(&mut reader, &mails[9].token()).await;
    let page = reader.send(&page.form().with(&[("password", PASSWORD)])).await.has_status(409);
    press_instead(&mut reader, &page, PASSWORD).await.is_at("/dashboard/sign-in");
    is_the_owners_alone(&app, 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_confirms_nothing_and_keeps_the_token_valid() {
    let app = spawn().await;
    hijack(&app.stranger(STRANGER)).await;
    let token = app.last_mail_to(EMAIL).await.token();
    for body in [
        json!({ "token": token, "password": PASSWORD }),
        json!({ "token": token, "password": PASSWORD, "replacePassword": false }),
        json!({ "token": token, "password": "short", "replacePassword": null }),
    ] {
        let answer = verify(&app, body).await;
        answer.refused(409);
        assert_eq!(members(&answer.json()), ["error", "requestId"]);
    }
    for weak in ["short", "passwordpassword", EMAIL] {
        let refusal = verify(&app, json!({ "token": token, "password": weak, "replacePassword": true })).await.refused(400);
        assert!(refusal.starts_with("password: "), "{refusal}");
    }
    let rows = "SELECT (SELECT COUNT(*) FROM registrations) * 10 + (SELECT COUNT(*) FROM accounts)";
    assert_eq!((app.number(rows).await, app.audit_rows().await), (10, 1), "only the registration");
    verify(&app, json!({ "token": token, "password": PASSWORD, "replacePassword": true })).await.assert(200);
    is_the_owners_alone(&app, 403).await;
    verify(&app, json!({ "token": token, "password": PASSWORD, "replacePassword": true })).await.refused(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registered_password_or_the_token_alone_confirms_the_registration() {
    let app = spawn().await;
    for (name, more) in [
        ("ada", json!({})),
        ("bob", json!({ "password": null, "replacePassword": null })),
        ("cyd", json!({ "password": STRANGERS })),
        // This is the registered password: nothing is replaced.
        ("dan", json!({ "password": STRANGERS, "replacePassword": true })),
    ] {
        let email = format!("{name}@example.com");
        let body = json!({ "email": email, "password": STRANGERS, "name": "Somebody" });
        app.stranger(OWNER).post("/v1/auth/register", body).await.assert(202);
        let mut body = more.clone();
        body["token"] = json!(app.last_mail_to(&email).await.token());
        verify(&app, body).await.assert(200);
        let session = app.stranger(OWNER).log_in(name, STRANGERS).await.assert(200);
        assert_eq!(app.client_of(&session).get("/v1/account").await.assert(200)["account"]["name"], "Somebody", "{more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_confirmation_names_its_fields_and_changes_nothing() {
    let app = spawn().await;
    hijack(&app.stranger(STRANGER)).await;
    let token = app.last_mail_to(EMAIL).await.token();
    for (more, names) in [
        (json!({ "replacePassword": true }), &["password"][..]),
        (json!({ "password": "", "replacePassword": true }), &["password"]),
        (json!({ "password": "" }), &["password"]),
        (json!({ "password": "x".repeat(1_001) }), &["password"]),
        (json!({ "password": 5, "replacePassword": "true" }), &["password", "replacePassword"]),
    ] {
        let mut body = more.clone();
        body["token"] = json!(token);
        let refusal = verify(&app, body).await.refused(400);
        for name in names {
            assert!(refusal.contains(&format!("{name}: ")), "{more}: {refusal}");
        }
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name = 'posts' AND subject = '198.51.100.1'").await, 0);
    verify(&app, json!({ "token": token })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_form_steps_and_wrong_passwords_count_toward_the_post_limit() {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_POSTS", "4/10m")).await;
    hijack(&app.stranger(STRANGER)).await;
    let token = app.last_mail_to(EMAIL).await.token();
    let mut reader = browser(&app);
    let page = first_press(&mut reader, &token).await.has_status(200);
    first_press(&mut reader, "unknown").await.has_status(400).shows("This link is invalid");
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.has_status(409);
    verify(&app, json!({ "token": token, "password": PASSWORD })).await.refused(409);
    // The second step returns to the first with the token, and tells how long to wait.
    let waits = reader.send(&page.form().with(&[("password", STRANGERS)])).await.has_status(429).shows("Try again in 10 minutes.");
    assert_eq!(waits.form().fields["token"], token);
    first_press(&mut reader, &token).await.has_status(429);
    verify(&app, json!({ "token": token, "password": STRANGERS })).await.refused(429);
    app.clock.advance(600_000);
    let page = first_press(&mut reader, &token).await.has_status(200);
    reader.send(&page.form().with(&[("password", STRANGERS)])).await.is_at("/dashboard/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_step_keeps_the_token_and_the_second_shows_errors() {
    let app = spawn().await;
    hijack(&app.stranger(STRANGER)).await;
    let token = app.last_mail_to(EMAIL).await.token();
    let mut reader = browser(&app);
    // Can be repeated. Opening the link, as mail scanners do, does not submit it.
    reader.ask(Method::GET, "/dashboard/verify-email", &[], None).await.assert_status(200);
    for _ in 0..3 {
        let page = first_press(&mut reader, &token).await.has_status(200).shows(STRANGER);
        assert!(!page.html().contains("replacePassword"), "{}", page.html());
    }
    let page = first_press(&mut reader, &token).await;
    let other = reader.send(&page.form().with(&[("password", "short")])).await.has_status(409).shows(STRANGER);
    assert!(other.html().contains("name=\"replacePassword\"") && !other.html().contains("value=\"short\""), "{}", other.html());
    let weak = press_instead(&mut reader, &other, "short").await.has_status(400).shows("Password must be 12 to 1000 characters.");
    let weak = weak.shows(STRANGER).shows("name=\"replacePassword\"");
    let empty = reader.send(&weak.form().with(&[("password", "")])).await.has_status(400).shows("Password must be 1 to 1000 characters.");
    // The link has expired meanwhile.
    app.clock.advance(86_400_000);
    let over = reader.send(&empty.form().with(&[("password", STRANGERS)])).await.has_status(400).shows("This link is invalid");
    assert_eq!(over.form().fields["token"], token);
    assert!(reader.asked.iter().all(|asked| !asked.contains(&token)), "{:?}", reader.asked);
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 0);
}
