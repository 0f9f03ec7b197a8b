//! Abuse that was unlimited or left no trace: guessing codes, locking owners out, evading limits by changing networks, flooding logs or owners with
//! notices. What is logged, audited and mailed now, and what is not.

use std::num::NonZero;

use reqwest::Method;
use serde_json::{Value, json};
use tests::logged::{self, traces};
use tests::output::Output;
use tests::people::PASSWORD;
use tests::turnstile::Turnstile;
use tests::{Holder, Options, Reader, SessionOrigin, TestApp};
use tokio::task::JoinSet;

const EMAIL: &str = "ada@example.com";
const DAY: i64 = 86_400_000;
const STOPPED: &str = "codes are disabled for this account after 100 failed attempts in a row: use a passkey, or reset your password";

/// The audit rows of failures after so many others: action and details.
async fn failures(app: &TestApp, after: i64) -> Vec<(String, Value)> {
    let rows = app.audit_since(after).await.into_iter().filter(|row| row.action.split('.').nth(1) == Some("fail"));
    rows.map(|row| (row.action, serde_json::from_str(&row.details).unwrap())).collect()
}

async fn subjects(app: &TestApp) -> Vec<String> {
    app.write_traces().await;
    app.mails_to(EMAIL).await.into_iter().map(|mail| mail.subject).collect()
}

/// The number of emails to Ada with this subject.
async fn mails(app: &TestApp, subject: &str) -> usize {
    subjects(app).await.iter().filter(|found| *found == subject).count()
}

/// Ten wrong codes, the maximum in 15 minutes.
async fn guess(app: &TestApp, ada: &Holder) {
    for _ in 0..2 {
        let pending = app.pend("ada").await;
        for _ in 0..5 {
            pending.totp(&ada.wrong_code()).await.refused(401);
        }
    }
    app.pend("ada").await.totp(&ada.wrong_code()).await.refused(429);
    app.clock.advance(15 * 60_000);
}

// Twenty-one logins, each with a hash: two seconds.
#[tokio::test(flavor = "multi_thread")]
async fn guessing_codes_ends_in_a_block() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    for _ in 0..10 {
        guess(&app, &ada).await;
    }
    // Correct codes are refused like wrong ones, and are not consumed.
    let mut pending = app.pend("ada").await;
    assert_eq!(pending.methods, ["passkey"]);
    let code = ada.code();
    for _ in 0..6 {
        assert_eq!(pending.totp(&code).await.refused(403), STOPPED);
        assert_eq!(pending.recovery(&ada.codes[0]).await.refused(403), STOPPED);
    }
    let refused = ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": ada.totp_proof() })).await;
    assert_eq!((refused.refused(403).as_str(), refused.json()["code"].as_str()), (STOPPED, Some("step_up_required")));
    assert_eq!(ada.session.get("/v1/mfa").await.assert(200)["methods"], json!(["passkey"]));
    assert_eq!(mails(&app, "Codes for your account are disabled").await, 1);
    // Passkeys still work, and do not lift the block.
    pending.passkey(&mut ada.authenticator).await.assert(200);
    let proof = ada.passkey_proof().await;
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.assert(200);
    pending = app.pend("ada").await;
    assert_eq!((pending.methods.as_slice(), pending.totp(&ada.code()).await.refused(403).as_str()), (&["passkey".to_owned()][..], STOPPED));
    // A password reset lifts it.
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": EMAIL })).await.assert(202);
    let token = app.last_mail_to(EMAIL).await.token();
    app.anonymous().post("/v1/auth/reset-password", json!({ "token": token, "password": PASSWORD })).await.assert(200);
    pending = app.pend("ada").await;
    assert_eq!(pending.methods, ["passkey", "totp", "recovery_code"]);
    pending.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_factor_resets_the_count_and_the_operator_lifts_a_block() {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_both("ada").await;
    let count = async |number: i64| {
        let sql = "UPDATE accounts SET failed_factors = CAST($1 AS BIGINT)";
        app.change(sql, &[&number.to_string()]).await;
    };
    let failed = async || app.number("SELECT failed_factors FROM accounts").await;
    count(98).await;
    let pending = app.pend("ada").await;
    pending.totp(&ada.wrong_code()).await.refused(401);
    assert_eq!(failed().await, 99);
    pending.totp(&ada.code()).await.assert(200);
    assert_eq!(failed().await, 0);
    count(99).await;
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": ada.totp_proof() })).await.assert(200);
    assert_eq!(failed().await, 0);
    // A wrong step-up counts like a login.
    count(99).await;
    let proof = json!({ "type": "totp", "code": ada.wrong_code() });
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.refused(403);
    let pending = app.pend("ada").await;
    pending.totp(&ada.code()).await.refused(403);
    let done = tests::program::run(&app.settings(), &["account", "unlock", "--email", EMAIL]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    pending.totp(&ada.code()).await.assert(200);
}

/// Wrong passwords for Ada from two networks, until the account is locked.
async fn lock_out(app: &TestApp, network: &str) {
    for number in 0..10 {
        app.stranger(&format!("{network}.{}", number / 5)).log_in("ada", "not hers at all").await.refused(401);
    }
    app.stranger(&format!("{network}.9")).log_in("ada", PASSWORD).await.refused(429);
}

fn browser_at(app: &TestApp, address: &str) -> Reader {
    let mut reader = app.reader();
    reader.client = reader.client.from(address);
    reader
}

/// Drops everything but the device cookie.
fn keep_device(reader: &mut Reader) {
    reader.cookies.retain(|name, _| name == "updraft-device");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_cannot_lock_the_owner_out_of_a_known_browser() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up("ada").await;
    let mut ada = browser_at(&app, "198.51.100.1");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    let cookie = ada.cookies["updraft-device"].clone();
    assert_eq!(cookie.len(), 43);
    assert_eq!(app.texts("SELECT token_hash FROM device_cookies", &[]).await, [shared::hash::Sha256Hex::of(cookie.as_bytes()).to_string()]);

    lock_out(&app, "203.0.113").await;
    assert_eq!(mails(&app, "Sign-in to your account is paused").await, 1);
    browser_at(&app, "198.51.100.2").sign_in(EMAIL, PASSWORD).await.has_status(429);
    // The API ignores cookies.
    let with_cookie = ada.client.request(reqwest::Method::POST, "/v1/auth/login").header("cookie", format!("updraft-device={cookie}"));
    ada.client.send(with_cookie.json(&json!({ "email": EMAIL, "password": PASSWORD }))).await.refused(429);
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    assert_eq!(ada.cookies["updraft-device"], cookie);
    // It does not work for another account.
    app.sign_up("bob").await;
    for number in 0..10 {
        app.stranger(&format!("203.0.114.{}", number / 5)).log_in("bob", "not his at all").await.refused(401);
    }
    ada.sign_in("bob@example.com", PASSWORD).await.has_status(429);
    // Nor does it exempt from the limit per address.
    for _ in 0..5 {
        ada.sign_in(EMAIL, "not hers").await.has_status(401);
    }
    ada.sign_in(EMAIL, PASSWORD).await.has_status(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_browser_needs_no_challenge() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_among_strangers(turnstile.options(Options::default())).await;
    app.sign_up("ada").await;
    let mut ada = browser_at(&app, "198.51.100.1");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    for number in 0..3 {
        app.stranger(&format!("203.0.113.{number}")).log_in("ada", "not hers at all").await.refused(401);
    }
    browser_at(&app, "203.0.113.9").sign_in(EMAIL, PASSWORD).await.has_status(403).shows("Confirm that you are human");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    assert_eq!(turnstile.asked().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_failures_within_a_day_revoke_a_device_cookie() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up("ada").await;
    let mut ada = browser_at(&app, "198.51.100.1");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    // Nine failures that are a day old no longer count.
    let fail = async |ada: &mut Reader, from: usize, count: usize| {
        for number in from..from + count {
            ada.client = ada.client.from(&format!("198.51.100.{}", number / 4 + 10));
            ada.sign_in(EMAIL, "not hers").await.has_status(401);
        }
    };
    fail(&mut ada, 0, 9).await;
    app.clock.advance(DAY);
    lock_out(&app, "203.0.113").await;
    fail(&mut ada, 40, 9).await;
    ada.client = ada.client.from("198.51.100.100");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    assert_eq!(app.number("SELECT COUNT(*) FROM device_cookies").await, 1);
    fail(&mut ada, 80, 1).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM device_cookies").await, 0);
    for number in 0..9 {
        app.stranger(&format!("203.0.115.{}", number / 5)).log_in("ada", "not hers at all").await.refused(401);
    }
    ada.sign_in(EMAIL, PASSWORD).await.has_status(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn device_cookies_are_revoked_by_password_change_factor_removal_and_sign_out_everywhere() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_LOGIN_ADDRESS", "1000/15m")).await;
    let ada = app.with_totp("ada").await;
    let cookies = async || app.number("SELECT COUNT(*) FROM device_cookies").await;
    let sign_in = async |code: Option<String>| {
        let mut reader = app.reader();
        let page = reader.sign_in(EMAIL, PASSWORD).await;
        if let Some(code) = code {
            reader.send(&page.form_to("/dashboard/sign-in/second-factor").with(&[("code", &code)])).await.is_at("/dashboard");
        }
        assert_eq!(cookies().await, 1);
    };
    sign_in(Some(ada.code())).await;
    ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": ada.totp_proof() })).await.assert(200);
    assert_eq!(cookies().await, 0);
    sign_in(None).await;
    ada.session.delete("/v1/account/sessions?keepCurrent=true").await.assert(200);
    assert_eq!(cookies().await, 0);
    sign_in(None).await;
    let change = json!({ "password": "another long phrase for the gate", "currentPassword": PASSWORD });
    ada.session.patch("/v1/account", change).await.assert(200);
    assert_eq!(cookies().await, 0);
    let back = json!({ "password": PASSWORD, "currentPassword": "another long phrase for the gate" });
    ada.session.patch("/v1/account", back).await.assert(200);
    sign_in(None).await;
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": EMAIL })).await.assert(202);
    let token = app.last_mail_to(EMAIL).await.token();
    app.anonymous().post("/v1/auth/reset-password", json!({ "token": token, "password": PASSWORD })).await.assert(200);
    assert_eq!(cookies().await, 0);
    // A browser keeps one for each of up to five accounts, for 90 days.
    let mut reader = app.reader();
    for number in 0..6 {
        let name = format!("user{number}");
        app.sign_up(&name).await;
        reader.sign_in(&format!("{name}@example.com"), PASSWORD).await.is_at("/dashboard");
        keep_device(&mut reader);
    }
    assert_eq!(reader.cookies["updraft-device"].split('.').count(), 5);
    let mut app = app;
    app.clock.advance(90 * DAY);
    app.stop().await;
    app.start().await;
    tests::wait::until("they are deleted", async || (app.number("SELECT COUNT(*) FROM device_cookies").await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changing_networks_within_a_site_does_not_evade_limits() {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_LOGIN_ADDRESS", "1/15m")).await;
    for number in 0..50 {
        app.stranger(&format!("2001:db8:1:{number:x}::1")).forget(&format!("user{number}")).await.assert(202);
    }
    app.stranger("2001:db8:1:ff::1").forget("last").await.refused(429);
    app.stranger("2001:db8:2::1").forget("other").await.assert(202);
    // Registrations are checked before they are counted, logins before and after hashing.
    for number in 0..10 {
        app.stranger(&format!("2001:db8:3:{number:x}::1")).log_in("ada", "wrong").await.refused(401);
    }
    app.stranger("2001:db8:3:ff::1").log_in("eve", "wrong").await.refused(429);
    app.stranger("2001:db8:4::1").log_in("eve", "wrong").await.refused(401);
    // IPv4 has no sites.
    for number in 0..12 {
        app.stranger(&format!("192.0.2.{number}")).log_in("bob", "wrong").await;
    }
    app.stranger("192.0.2.99").log_in("eve", "wrong").await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_contain_the_failure_but_no_user_input() {
    let log = logged::listen("info");
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_both("ada").await;
    let id = app.account_of("ada").await.to_string();
    let (password, code) = ("confidential-password", ada.wrong_code());
    let stranger = app.stranger("203.0.113.7");
    stranger.log_in("ada", password).await.refused(401);
    stranger.log_in("confidential", password).await.refused(401);
    let pending = app.pend("ada").await;
    pending.totp(&code).await.refused(401);
    pending.recovery("conf-iden-tial-code").await.refused(401);
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "totp", "code": code } })).await.refused(403);
    let unknown = format!("svc_ak_{}", "confidential".repeat(4).split_at(43).0);
    app.anonymous().with_token(Some(unknown)).get("/v1/account").await.refused(401);
    app.anonymous().with_token(Some("confidential".to_owned())).get("/v1/account").await.refused(401);
    let key = app.api_key("ada", &["read"]).await;
    let wrong = format!("{}{}", &key.token()[..21], "confidential".repeat(3).split_at(32).0);
    app.anonymous().with_token(Some(wrong)).get("/v1/account").await.refused(401);
    let exchange = json!({ "grantType": "device_code", "deviceCode": "confidential" });
    app.anonymous().post("/v1/auth/cli/token", exchange).await.refused(400);
    for _ in 0..4 {
        stranger.log_in("confidential", password).await;
    }
    let told: Vec<[String; 4]> = traces(&log)
        .iter()
        .map(|line| ["event", "outcome", "account.id", "network"].map(|field| line[field].as_str().unwrap_or_default().to_owned()))
        .collect();
    let line = |event: &str, outcome: &str, account: &str, network: &str| [event, outcome, account, network].map(str::to_owned);
    let (theirs, local) = ("203.0.113.0/24", "127.0.0.0/24");
    let expected = [
        line("login", "wrong_password", &id, theirs),
        line("login", "unknown_account", "", theirs),
        line("second_factor", "wrong_totp", &id, local),
        line("second_factor", "wrong_recovery_code", &id, local),
        line("step_up", "wrong_totp", &id, local),
        line("bearer", "unknown", "", local),
        line("bearer", "wrong_secret", &id, local),
        line("exchange", "invalid_grant", "", local),
        line("login", "unknown_account", "", theirs),
        line("login", "unknown_account", "", theirs),
        line("login", "unknown_account", "", theirs),
        line("limit", "login_address", "", theirs),
    ];
    assert_eq!(told, expected);
    let written = log.lines().join("\n");
    assert!(written.contains("an email was written"), "{written}");
    for secret in ["confidential", "conf-iden", PASSWORD, "ada@", &code, &ada.codes[0], key.token(), &pending.token] {
        let line = written.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} is in the log");
    }
    // Nor is it in the audit trail.
    let trail = app.audit_text().await;
    for secret in ["confidential", "conf-iden", "ada@", &code] {
        assert!(!trail.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_not_flooded() {
    let log = logged::listen("info");
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let knock = async |address: &str| {
        let token = Some(format!("svc_ak_{}", "A".repeat(43)));
        app.anonymous().with_token(token).from(address).get("/v1/account").await.refused(401);
    };
    for number in 0..100 {
        // One /48, each request from a different /64.
        knock(&format!("2001:db8:1:{number:x}::1")).await;
    }
    knock("192.0.2.1").await;
    assert_eq!(traces(&log).len(), 11);
    app.clock.advance(60_000);
    knock("192.0.2.1").await;
    let lines = traces(&log);
    let summed: Vec<&Value> = lines.iter().filter(|line| line["outcome"] == "summed_up").collect();
    assert_eq!((lines.len(), summed.len()), (13, 1), "{lines:?}");
    assert_eq!((&summed[0]["network"], &summed[0]["more"], &summed[0]["event"]), (&json!("2001:db8:1::/48"), &json!(90), &json!("bearer")));
}

/// The number of lines that contain this text.
fn lines_with(log: &Output, text: &str) -> usize {
    log.lines().iter().filter(|line| line.contains(text)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_edge_signatures_do_not_flood_the_log() {
    let log = logged::listen("info");
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let knock = async |address: &str, path: &str, header: &str, status: u16| {
        let client = app.anonymous().from(address);
        client.send(client.request(Method::GET, path).header(header, "t=1,v1=00")).await.refused(status);
    };
    for _ in 0..50 {
        knock("192.0.2.1", "/internal/v1/reports", "x-updraft-signature", 404).await;
        knock("192.0.2.1", "/v1/apps", "x-updraft-address-signature", 400).await;
    }
    knock("198.51.100.1", "/v1/apps", "x-updraft-address-signature", 400).await;
    assert_eq!(lines_with(&log, "invalid edge signature"), 11);
    let outcomes: Vec<Value> = traces(&log).iter().map(|line| line["outcome"].clone()).collect();
    let mut expected = ["internal_call", "client_address"].repeat(5);
    expected.push("client_address");
    assert_eq!(outcomes, expected);
    app.clock.advance(60_000);
    knock("198.51.100.1", "/v1/apps", "x-updraft-address-signature", 400).await;
    let summed = traces(&log).into_iter().find(|line| line["outcome"] == "summed_up").unwrap();
    assert_eq!((&summed["event"], &summed["network"], &summed["more"]), (&json!("edge_signature"), &json!("192.0.2.0/24"), &json!(90)));
    assert_eq!(lines_with(&log, "invalid edge signature"), 12);
}

// Three hundred logins in a second; none is hashed.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_passwords_is_rate_limited_and_not_logged_as_an_error() {
    let log = logged::listen("info");
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let (state, mut held) = (app.state(), Vec::new());
    for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1) {
        held.push(state.passwords.acquire([127, 0, 0, 1].into()).await.unwrap());
    }
    let mut guesses = JoinSet::new();
    for _ in 0..300 {
        let stranger = app.stranger("203.0.113.7");
        guesses.spawn(async move { stranger.log_in("ada", "wrong").await });
    }
    // All except the 256 that may wait.
    for _ in 0..44 {
        let answer = guesses.join_next().await.unwrap().unwrap();
        answer.refused(503);
        assert_eq!(answer.header("retry-after"), "5");
    }
    let refused = traces(&log);
    assert_eq!(refused.len(), 10, "{refused:?}");
    for line in &refused {
        let told = ["event", "outcome", "network"].map(|field| line[field].as_str().unwrap_or_default());
        assert_eq!(told, ["limit", "waiting_passwords", "203.0.113.0/24"]);
    }
    assert_eq!(lines_with(&log, "a request failed"), 0);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_token_requests_are_logged() {
    let log = logged::listen("info");
    let app = TestApp::spawn().await;
    let bodies = [
        (json!({}), "invalid_request"),
        (json!({ "grantType": "device_code" }), "invalid_request"),
        (json!({ "grantType": "authorization_code", "code": "confidential" }), "invalid_request"),
        (json!({ "grantType": "confidential" }), "unsupported_grant_type"),
        (json!(["confidential"]), "invalid_request"),
    ];
    for (body, refusal) in &bodies {
        assert_eq!(app.anonymous().post("/v1/auth/cli/token", body.clone()).await.refused(400), *refusal);
    }
    let told: Vec<[Value; 2]> = traces(&log).iter().map(|line| ["event", "outcome"].map(|field| line[field].clone())).collect();
    assert_eq!(told, bodies.map(|(_, refusal)| [json!("exchange"), json!(refusal)]));
    assert_eq!(lines_with(&log, "confidential"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn login_failures_are_audited_at_once_and_summarized_after_a_minute() {
    let mut app = TestApp::spawn_with(Options::default().with("LIMIT_LOGIN_ADDRESS", "1000/15m")).await;
    app.sign_up("ada").await;
    let key = app.api_key("ada", &["read"]).await;
    let before = app.audit_rows().await;
    for _ in 0..4 {
        app.try_log_in("ada", "not hers").await.refused(401);
        app.try_log_in("nobody", "not theirs").await.refused(401);
    }
    let wrong = format!("{}{}", &key.token()[..21], "A".repeat(32));
    for _ in 0..50 {
        app.anonymous().with_token(Some(wrong.clone())).get("/v1/account").await.refused(401);
    }
    let first = [
        ("credential.fail".to_owned(), json!({ "outcome": "wrong_secret" })),
        ("login.fail".to_owned(), json!({ "outcome": "wrong_password" })),
    ];
    let mut found = failures(&app, before).await;
    found.sort_by_key(|(action, _)| action.clone());
    assert_eq!(found, first);
    let row = app.audit_since(before).await.remove(0);
    assert_eq!((row.object_kind.as_str(), row.object_id.as_str()), ("account", app.account_of("ada").await.as_str()));
    assert_eq!((row.account_id, row.client_address.as_deref()), (None, Some("127.0.0.1")));
    let since = app.clock.now().0;

    // Counts survive a restart.
    app.clock.advance(59_999);
    app.stop().await;
    app.start().await;
    assert_eq!(failures(&app, before).await.len(), 2);
    app.clock.advance(1);
    let mut summed = failures(&app, before + 2).await;
    summed.sort_by_key(|(action, _)| action.clone());
    assert_eq!(
        summed,
        [
            ("credential.fail".to_owned(), json!({ "count": 50, "since": since })),
            ("login.fail".to_owned(), json!({ "count": 4, "since": since })),
        ]
    );
    // A single failure needs no summary.
    app.try_log_in("ada", "not hers").await.refused(401);
    app.write_traces().await;
    app.clock.advance(60_000);
    assert_eq!(failures(&app, before + 4).await.len(), 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM tallies").await, 0);
    assert!(app.verify_audit().await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_warned_once_a_day_of_a_leaked_password() {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_totp("ada").await;
    let subject = "Someone entered your password but failed two-factor authentication";
    let pending = app.pend("ada").await;
    for _ in 0..3 {
        pending.totp(&ada.wrong_code()).await.refused(401);
    }
    assert_eq!(mails(&app, subject).await, 1);
    let mail = app.last_mail_to(EMAIL).await;
    assert!(mail.text.contains("IP address: 127.0.0.1") && mail.text.contains("/forgot-password"), "{}", mail.text);
    // The owner of the session knows about a wrong step-up.
    app.clock.advance(DAY - 60_000);
    app.pend("ada").await.recovery("abcd-efgh-abcd-efgh").await.refused(401);
    assert_eq!(mails(&app, subject).await, 1);
    app.clock.advance(60_000);
    app.pend("ada").await.recovery("abcd-efgh-abcd-efgh").await.refused(401);
    assert_eq!(mails(&app, subject).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_notified_of_a_sign_in_from_a_new_network_and_browser() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up("ada").await;
    let subject = "New sign-in to your account";
    let log_in = async |address: &str| app.stranger(address).log_in("ada", PASSWORD).await.assert(200);
    // The very first sign-in sends no notice, nor do later ones from the same network.
    log_in("192.0.2.1").await;
    log_in("192.0.2.200").await;
    assert_eq!(mails(&app, subject).await, 0);
    log_in("198.51.100.1").await;
    assert_eq!(mails(&app, subject).await, 1);
    assert!(app.last_mail_to(EMAIL).await.text.contains("198.51.100.1"));
    // One a day.
    log_in("203.0.113.1").await;
    app.clock.advance(DAY);
    log_in("203.0.113.2").await;
    assert_eq!(mails(&app, subject).await, 1);
    log_in("2001:db8::1").await;
    assert_eq!(mails(&app, subject).await, 2);
    log_in("2001:db8:0:ffff::1").await;
    // A known browser sends no notice from any network.
    let mut ada = browser_at(&app, "192.0.2.1");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    keep_device(&mut ada);
    app.clock.advance(DAY);
    ada.client = ada.client.from("100.64.0.1");
    ada.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    assert_eq!(mails(&app, subject).await, 2);
    // After 90 days a network is new again.
    app.clock.advance(90 * DAY);
    log_in("192.0.2.1").await;
    assert_eq!(mails(&app, subject).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_notices_become_twenty_and_a_summary() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_ACCESS_KEYS", "1000")).await;
    app.sign_up("ada").await;
    let session = app.open_session("ada", SessionOrigin::Dashboard).await;
    for number in 0..200 {
        session.post("/v1/access-keys", json!({ "friendlyName": format!("key {number}") })).await.assert(201);
    }
    assert_eq!(subjects(&app).await, ["An access key was created"; 20]);
    // Other kinds have a separate limit.
    session.delete("/v1/access-keys/key%200").await.assert(204);
    assert_eq!(mails(&app, "An access key was deleted").await, 1);
    app.clock.advance(3_600_000);
    assert_eq!(mails(&app, "More changes to your account").await, 1);
    let mail = app.last_mail_to(EMAIL).await;
    assert!(mail.text.contains("180 keys were created") && mail.text.contains("/dashboard/keys"), "{}", mail.text);
    let session = app.open_session("ada", SessionOrigin::Dashboard).await;
    session.post("/v1/access-keys", json!({ "friendlyName": "one more" })).await.assert(201);
    assert_eq!(mails(&app, "An access key was created").await, 21);
    assert_eq!(app.number("SELECT COUNT(*) FROM tallies").await, 0);
}
