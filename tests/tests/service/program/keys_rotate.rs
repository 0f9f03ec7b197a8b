//! Rotation of the encryption key with the real program: all encrypted data survives it.

use control::testing::encryption::{self, EncryptionKeys};
use control::testing::mail::{self, Kind, Mail};
use control::testing::server;
use serde_json::json;
use tests::program::{Ended, run};
use tests::wait::until;
use tests::{Clock, Config, Entropy, Holder, Options, TestApp, on, on_write};

const OLD: &str = "t1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "t2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

/// Reverts every change of a seed.
const UNDO: (&str, &str) = (
    "AFTER UPDATE OF sealed ON authenticators FOR EACH ROW WHEN (OLD.last_step = NEW.last_step)",
    "UPDATE authenticators SET sealed = OLD.sealed, last_step = OLD.last_step + 1 WHERE account_id = OLD.account_id;",
);

/// The new key first, followed by the old one for existing data.
fn both() -> String {
    format!("{NEW},{OLD}")
}

fn with_key(keys: &str) -> Options {
    Options::default().with_passkeys().with("ENCRYPTION_KEY", keys)
}

/// Runs the program with these keys.
async fn rotate_with(app: &TestApp, keys: &str) -> Ended {
    let mut settings = app.settings();
    settings.insert("UPDRAFT_ENCRYPTION_KEY".to_owned(), keys.to_owned());
    run(&settings, &["keys", "rotate"]).await
}

/// Runs the program with both keys, expects success and exactly these printed counts: seeds, keys of recovery codes, emails, challenges.
#[track_caller]
fn moved(ended: &Ended, numbers: [u32; 4]) {
    let [seeds, keys, mails, challenges] = numbers;
    let expected = format!(
        "re-encrypted: authenticator seeds {seeds}, keys of recovery codes {keys}, queued emails {mails}, open challenges {challenges}; \
         everything is encrypted with t2\n"
    );
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(0), expected.as_str(), ""));
}

/// Expects that the program refused with this text and printed nothing else. No output contains a key.
#[track_caller]
fn refused(ended: &Ended, text: &str) {
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(1), "", format!("updraft-control: {text}\n").as_str()));
}

fn needs(id: &str) -> String {
    format!("UPDRAFT_ENCRYPTION_KEY: this database also needs the key {id}: add it after the others, or use it alone")
}

async fn no_mail_waits(app: &TestApp) {
    until("an empty mail outbox", async || (app.waiting_mails().await == 0).then_some(())).await;
}

/// Stops the server once its emails are sent, and starts it with other keys.
async fn restart(app: &mut TestApp, keys: &str) {
    no_mail_waits(app).await;
    app.stop().await;
    app.configure("ENCRYPTION_KEY", keys);
    app.start().await;
}

/// Tries to start a server with these keys on the database; the error tells why it refused.
async fn starts(app: &TestApp, keys: &str) -> Result<(), String> {
    let mut settings = app.settings();
    settings.insert("UPDRAFT_ENCRYPTION_KEY".to_owned(), keys.to_owned());
    // Another folder, since a server may have locked that of the test.
    let folder = tempfile::TempDir::new().unwrap();
    settings.entry("UPDRAFT_DATABASE_URL".to_owned()).or_insert_with(|| format!("sqlite://{}", app.folder().join("updraft.db").display()));
    settings.insert("UPDRAFT_DATA_DIR".to_owned(), folder.path().display().to_string());
    let config = Config::read(&settings).unwrap();
    server::build(config, Clock::Test(app.clock.clone()), Entropy::System).await.map(drop).map_err(|error| tests::chain(&error))
}

/// A server at this address sends no email: the port was free a moment ago.
async fn nowhere() -> String {
    let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    format!("smtp://127.0.0.1:{port}")
}

/// Both kinds of encrypted data still work.
async fn still_works(app: &TestApp, ada: &Holder, code: usize) {
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.pend("ada").await.recovery(&ada.codes[code]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_totp_seed_survives_the_rotation_of_its_key() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    let bob = app.without_factor("bob").await;
    let unconfirmed = bob.set_up_totp().await;
    // The new key first: it encrypts new data, the old one still decrypts existing data.
    restart(&mut app, &both()).await;
    still_works(&app, &ada, 0).await;
    let dan = app.with_totp("dan").await;

    no_mail_waits(&app).await;
    let rows = app.audit_rows().await;
    // Ada's and Bob's; Dan's were encrypted with the new key.
    moved(&rotate_with(&app, &both()).await, [2, 1, 0, 0]);
    let events = app.audit_since(rows).await;
    assert_eq!(events.iter().map(|event| event.action.as_str()).collect::<Vec<_>>(), ["encryption_key.rotate"]);
    let details: serde_json::Value = serde_json::from_str(&events[0].details).unwrap();
    assert_eq!(details, json!({ "seeds": 2, "recoveryKeys": 1, "mails": 0, "challenges": 0 }));

    // Now the old key can be removed.
    restart(&mut app, NEW).await;
    still_works(&app, &ada, 1).await;
    app.pend("dan").await.totp(&dan.code()).await.assert(200);
    let code = unconfirmed.code(app.clock.now());
    bob.session.post("/v1/mfa/totp/confirm", json!({ "code": code })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_is_idempotent_and_works_with_a_running_server() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    restart(&mut app, &both()).await;
    moved(&rotate_with(&app, &both()).await, [1, 1, 0, 0]);
    moved(&rotate_with(&app, &both()).await, [0, 0, 0, 0]);
    // The server running meanwhile has both keys and keeps working.
    still_works(&app, &ada, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_mails_and_open_challenges_survive_a_rotation() {
    let mut app = TestApp::spawn_with(with_key(OLD).with("SMTP_URL", nowhere().await)).await;
    let mut ada = app.with_passkey("ada").await;
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let proof = ada.passkey_proof().await;
    assert_eq!(app.waiting_mails().await, 1, "of the new passkey");
    app.stop().await;
    moved(&rotate_with(&app, &both()).await, [0, 1, 1, 2]);
    app.configure("ENCRYPTION_KEY", NEW);
    app.configure("SMTP_URL", "");
    app.start().await;
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.assert(200);
    let body = json!({ "challengeId": asked["challengeId"], "response": ada.authenticator.assert(&asked["options"]) });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.assert(200);
    app.clock.advance(3_600_000);
    let subjects: Vec<String> = app.mails_to("ada@example.com").await.into_iter().map(|mail| mail.subject).collect();
    assert_eq!(subjects.len(), 2, "the queued mail, and one about the new codes: {subjects:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_rows_is_reencrypted() {
    // More rows than five batches of one page each would cover.
    const MANY: u32 = 1_100;
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let state = app.state();
    let mut tx = state.db.write().await.unwrap();
    for number in 0..MANY {
        let mail = Mail { to: format!("{number}@example.com"), kind: Kind::AlreadyRegistered };
        mail::enqueue(&mut tx, &state, &mail).await.unwrap();
    }
    // So that none is sent.
    let later = "UPDATE outbox SET next_attempt_time = next_attempt_time + 3600000";
    on_write!(tx, |conn| sqlx::query(later).execute(conn).await).unwrap();
    tx.commit().await.unwrap();
    drop(state);
    app.stop().await;
    app.configure("ENCRYPTION_KEY", NEW);
    moved(&rotate_with(&app, &both()).await, [0, 0, MANY, 0]);
    app.start().await;
    let mut tx = app.db().read().await.unwrap();
    let rows: Vec<(String, Vec<u8>)> =
        on!(tx, |conn| sqlx::query_as("SELECT key, payload FROM outbox WHERE kind = 'mail' ORDER BY key").fetch_all(conn).await).unwrap();
    let keys = EncryptionKeys::parse(NEW).unwrap();
    let addresses: Vec<String> = rows
        .iter()
        .map(|(id, sealed)| {
            let mail: Mail = serde_json::from_slice(&encryption::open(keys.all(), &mail::purpose(id), sealed).unwrap()).unwrap();
            mail.to
        })
        .collect();
    assert_eq!(addresses, (0..MANY).map(|number| format!("{number}@example.com")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_a_running_process_encrypts_with_the_old_key_are_not_lost() {
    // This server still has the old key first.
    let mut app = TestApp::spawn_with(with_key(&format!("{OLD},{NEW}"))).await;
    let ada = app.with_totp("ada").await;
    no_mail_waits(&app).await;
    moved(&rotate_with(&app, &both()).await, [1, 1, 0, 0]);
    starts(&app, NEW).await.unwrap();
    let dan = app.with_totp("dan").await;
    no_mail_waits(&app).await;
    // As the process does every minute.
    encryption::note(app.db(), &EncryptionKeys::parse(OLD).unwrap()).await.unwrap();
    for _ in 0..2 {
        let refusal = starts(&app, NEW).await.unwrap_err();
        assert!(refusal.ends_with(&needs("t1")), "{refusal}");
        refused(&rotate_with(&app, NEW).await, &needs("t1"));
    }
    moved(&rotate_with(&app, &both()).await, [1, 1, 0, 0]);
    restart(&mut app, NEW).await;
    still_works(&app, &ada, 0).await;
    app.pend("dan").await.totp(&dan.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_without_a_needed_key_is_refused() {
    // Each kind in turn, with the rows of the previous ones deleted.
    let kinds = ["authenticators", "authenticator_setups", "recovery_keys", "mail_outbox", "outbox", "passkey_challenges"];
    let app = TestApp::spawn_with(with_key(OLD).with("SMTP_URL", nowhere().await)).await;
    let ada = app.with_both("ada").await;
    ada.set_up_totp().await;
    ada.step_up_options().await;
    // An email that the previous release is sending.
    let old = "INSERT INTO mail_outbox (id, sealed, created_time, next_attempt_time, attempts, lease_owner, lease_until) \
        SELECT 'old-' || key, payload, created_time, next_attempt_time, attempts, 'another', 9000000000000 FROM outbox WHERE kind = 'mail'";
    assert!(app.change(old, &[]).await > 0);
    app.change("DELETE FROM secret_checks", &[]).await;
    let deletions = [
        "DELETE FROM authenticators",
        "DELETE FROM authenticator_setups",
        "DELETE FROM recovery_keys",
        "DELETE FROM mail_outbox",
        "DELETE FROM outbox WHERE kind = 'mail'",
        "DELETE FROM passkey_challenges",
    ];
    for (kind, deletion) in kinds.iter().zip(deletions) {
        // Startup does not check the rows.
        starts(&app, NEW).await.unwrap();
        refused(&rotate_with(&app, NEW).await, &needs("t1"));
        assert!(app.change(deletion, &[]).await > 0, "{kind}");
    }
    moved(&rotate_with(&app, NEW).await, [0, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_decrypt_every_row_are_refused() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    app.stop().await;
    let other = OLD.replace("t1:", "t3:");
    let changed = NEW.replace("t2:", "t1:");
    let another = "UPDRAFT_ENCRYPTION_KEY: this database was created with another key t1: use that one";
    for (keys, text) in [(NEW, needs("t1").as_str()), (&changed, another), (&other, &needs("t1"))] {
        let refusal = starts(&app, keys).await.unwrap_err();
        assert!(refusal.ends_with(text), "{keys}: {refusal}");
        refused(&rotate_with(&app, keys).await, text);
    }
    app.start().await;
    still_works(&app, &ada, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undecryptable_value_stops_a_rotation_and_the_old_key_stays_needed() {
    let app = TestApp::spawn_with(with_key(OLD)).await;
    app.with_totp("ada").await;
    app.with_totp("bob").await;
    no_mail_waits(&app).await;
    // The last row is a copy of the first, which decrypts only for the first account.
    let copy = "UPDATE authenticators SET sealed = (SELECT sealed FROM authenticators ORDER BY account_id LIMIT 1) \
        WHERE account_id = (SELECT MAX(account_id) FROM authenticators)";
    assert_eq!(app.change(copy, &[]).await, 1);
    let rows = app.audit_rows().await;
    refused(&rotate_with(&app, &both()).await, "internal error: the sealed value is not authentic");
    assert_eq!(app.audit_rows().await, rows);
    let refusal = starts(&app, NEW).await.unwrap_err();
    assert!(refusal.ends_with(&needs("t1")), "{refusal}");
    starts(&app, &both()).await.unwrap();
    // The rows before it were re-encrypted; once it is deleted, so are the rest.
    let last = "DELETE FROM authenticators WHERE account_id = (SELECT MAX(account_id) FROM authenticators)";
    assert_eq!(app.change(last, &[]).await, 1);
    moved(&rotate_with(&app, &both()).await, [0, 2, 0, 0]);
    starts(&app, NEW).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_fails_while_another_process_uses_the_old_key() {
    let app = TestApp::spawn_with(with_key(OLD)).await;
    app.with_totp("ada").await;
    no_mail_waits(&app).await;
    app.whenever(UNDO.0, UNDO.1).await;
    let rows = app.audit_rows().await;
    let text = "another process still encrypts with an older key: start every process with the same keys, then try again";
    refused(&rotate_with(&app, &both()).await, text);
    assert_eq!(app.audit_rows().await, rows);
    let refusal = starts(&app, NEW).await.unwrap_err();
    assert!(refusal.ends_with(&needs("t1")), "{refusal}");
}
