//! Limits for failed second factors of all kinds.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Forgery, Holder, Options, TestApp};

use crate::v1::mfa::{MINUTE, limited, needs_step_up};

/// A failure, with the kinds in turn; returns the response.
async fn fail(app: &TestApp, ada: &mut Holder, number: usize) -> Answer {
    match number % 5 {
        0 => app.pend("ada").await.totp(&ada.wrong_code()).await,
        1 => app.pend("ada").await.recovery("aaaa-aaaa-aaaa-aaaa").await,
        2 => {
            let pending = app.pend("ada").await;
            let options = pending.options().await.assert(200)["options"].clone();
            pending.verify(&ada.authenticator.assert_but(&options, &Forgery::FlippedBit)).await
        }
        3 => ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "totp", "code": ada.wrong_code() } })).await,
        _ => {
            let options = ada.step_up_options().await;
            let response = ada.authenticator.assert_but(&options, &Forgery::FlippedBit);
            ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": { "type": "passkey", "response": response } })).await
        }
    }
}

/// Every operation that checks a factor, with a correct one; returns the responses.
async fn try_all(app: &TestApp, ada: &mut Holder) -> Vec<(&'static str, Answer)> {
    let step_up = json!({ "type": "totp", "code": ada.code() });
    let passkey = ada.passkey_proof().await;
    let mut answers = vec![
        ("totp", app.pend("ada").await.totp(&ada.code()).await),
        ("recovery", app.pend("ada").await.recovery(&ada.codes[0]).await),
        ("passkey", app.pend("ada").await.passkey(&mut ada.authenticator).await),
        ("codes", ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": step_up })).await),
        ("codes by passkey", ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": passkey })).await),
    ];
    ada.set_up_totp().await;
    let body = json!({ "code": "123456", "stepUp": ada.totp_proof() });
    answers.push(("confirm", ada.session.post("/v1/mfa/totp/confirm", body).await));
    let made = Authenticator::new(ORIGIN).register(&ada.registration_options().await);
    let body = json!({ "response": made, "stepUp": ada.totp_proof() });
    answers.push(("register", ada.session.post("/v1/mfa/passkeys/register/verify", body).await));
    let body = json!({ "stepUp": ada.totp_proof() });
    answers.push(("remove totp", ada.session.delete_with("/v1/mfa/totp", body).await));
    let path = format!("/v1/mfa/passkeys/{}", ada.passkeys().await[0]["id"].as_str().unwrap());
    let body = json!({ "stepUp": ada.totp_proof() });
    answers.push(("remove passkey", ada.session.delete_with(&path, body).await));
    let body = json!({ "currentPassword": PASSWORD, "password": "quite another passphrase of hers", "stepUp": ada.totp_proof() });
    answers.push(("password", ada.session.patch("/v1/account", body).await));
    let body = json!({ "password": PASSWORD, "stepUp": ada.totp_proof() });
    answers.push(("account", ada.session.delete_with("/v1/account", body).await));
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_limited_to_ten_failures_of_all_kinds_in_fifteen_minutes() {
    let mut app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    let bob = app.with_totp("bob").await;
    let start = app.clock.now().0;
    for number in 0..10 {
        let status = fail(&app, &mut ada, number).await.status.as_u16();
        assert_eq!(status, if number % 5 < 3 { 401 } else { 403 }, "{number}");
        app.clock.advance(10_000);
    }
    for (what, answer) in try_all(&app, &mut ada).await {
        assert_eq!(answer.status, 429, "{what}: {}", answer.text());
        limited(&answer);
    }
    // Signing in with a passkey alone is not limited: otherwise anyone who knows its ID could lock out the owner.
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let body = json!({ "challengeId": asked["challengeId"], "response": ada.authenticator.assert(&asked["options"]) });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.assert(200);
    limited(&app.pend("ada").await.totp(&ada.code()).await);
    // Counts survive a restart and expire only fifteen minutes after the first; other accounts are unaffected.
    app.pend("bob").await.totp(&bob.code()).await.assert(200);
    app.stop().await;
    app.start().await;
    app.clock.advance(start + 15 * MINUTE - 1_000 - app.clock.now().0);
    let pending = app.pend("ada").await;
    assert_eq!(limited(&pending.recovery(&ada.codes[0]).await), 1);
    app.clock.advance(1_000);
    pending.recovery(&ada.codes[0]).await.assert(200);
    // One has left the window, so one attempt is allowed.
    app.pend("ada").await.totp(&ada.wrong_code()).await.refused(401);
    limited(&app.pend("ada").await.recovery(&ada.codes[1]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limited_attempts_are_not_counted_and_consume_nothing() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MFA_ATTEMPTS", "2/1m")).await;
    let ada = app.with_totp("ada").await;
    for _ in 0..2 {
        app.pend("ada").await.totp(&ada.wrong_code()).await.refused(401);
    }
    let pending = app.pend("ada").await;
    for _ in 0..20 {
        assert_eq!(limited(&pending.recovery(&ada.codes[0]).await), 60);
    }
    app.clock.advance(MINUTE);
    // Neither the code nor the pending login was consumed.
    pending.totp(&ada.wrong_code()).await.refused(401);
    pending.recovery(&ada.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_in_a_setup_also_counts() {
    let app = TestApp::spawn().await;
    let dan = app.without_factor("dan").await;
    let totp = dan.set_up_totp().await;
    let now = app.clock.now();
    let wrong = if totp.code(now) == "000000" { "000001" } else { "000000" };
    let mut statuses = Vec::new();
    for _ in 0..11 {
        statuses.push(dan.session.post("/v1/mfa/totp/confirm", json!({ "code": wrong })).await.status.as_u16());
    }
    assert_eq!((&statuses[..10], statuses[10]), (&[401; 10][..], 429));
    limited(&dan.session.post("/v1/mfa/totp/confirm", json!({ "code": totp.code(now) })).await);
    app.clock.advance(15 * MINUTE);
    let totp = dan.set_up_totp().await;
    dan.session.post("/v1/mfa/totp/confirm", json!({ "code": totp.code(app.clock.now()) })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_does_not_clear_failures() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MFA_ATTEMPTS", "3/15m")).await;
    let ada = app.with_totp("ada").await;
    for _ in 0..3 {
        app.pend("ada").await.totp(&ada.code()).await.assert(200);
        app.pend("ada").await.totp(&ada.wrong_code()).await.refused(401);
    }
    limited(&app.pend("ada").await.totp(&ada.code()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_factor_is_not_an_attempt() {
    let app = TestApp::spawn_with(Options::default().with_passkeys().with("LIMIT_MFA_ATTEMPTS", "1/15m")).await;
    let ada = app.with_both("ada").await;
    for _ in 0..3 {
        needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", json!({})).await);
        ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": 1 })).await.refused(400);
        ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "totp", "code": "" } })).await.refused(400);
        for code in [Value::Null, json!("")] {
            ada.session.post("/v1/mfa/totp/confirm", json!({ "code": code })).await.refused(400);
        }
        let pending = app.pend("ada").await;
        pending.totp("").await.refused(400);
        pending.recovery("").await.refused(400);
        app.pend("ada").await.options().await.assert(200);
        ada.step_up_options().await;
        ada.registration_options().await;
    }
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_with_second_factors_do_not_count_as_failed_passwords() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let ada = app.with_totp("ada").await;
    for _ in 0..10 {
        app.pend("ada").await.totp(&ada.wrong_code()).await.refused(401);
    }
    // A login still reaches the second factor, which has its own count.
    limited(&app.pend("ada").await.totp(&ada.code()).await);
    // Ten wrong passwords lock the account before that.
    for number in 0..10 {
        app.stranger(&format!("203.0.113.{number}")).log_in("ada", "wrong").await.refused(401);
    }
    limited(&app.stranger("198.51.100.1").log_in("ada", PASSWORD).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_completed_login_clears_failed_logins() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let ada = app.with_totp("ada").await;
    let fail = async |round: usize, times: usize| {
        for number in 0..times {
            app.stranger(&format!("203.0.{round}.{number}")).log_in("ada", "wrong").await.refused(401);
        }
    };
    fail(1, 9).await;
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    fail(2, 9).await;
    app.pend("ada").await;
    fail(3, 1).await;
    limited(&app.stranger("198.51.100.1").log_in("ada", PASSWORD).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_password_with_a_refused_proof_does_not_clear_failed_logins() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let mut round = 0;
    let mut fail = async |name: &str, times: usize| {
        round += 1;
        for number in 0..times {
            app.stranger(&format!("203.0.{round}.{number}")).log_in(name, "wrong").await.refused(401);
        }
    };
    for name in ["ada", "bob"] {
        let holder = app.with_totp(name).await;
        fail(name, 9).await;
        let proof = json!({ "type": "totp", "code": holder.wrong_code() });
        let answer = if name == "ada" {
            let body = json!({ "currentPassword": PASSWORD, "password": "quite another passphrase of hers", "stepUp": proof });
            holder.session.patch("/v1/account", body).await
        } else {
            holder.session.delete_with("/v1/account", json!({ "password": PASSWORD, "stepUp": proof })).await
        };
        needs_step_up(&answer);
        fail(name, 1).await;
        limited(&app.stranger("198.51.100.1").log_in(name, PASSWORD).await);
    }
    // Without a second factor the password alone is sufficient.
    let dan = app.without_factor("dan").await;
    fail("dan", 9).await;
    let body = json!({ "currentPassword": PASSWORD, "password": "quite another passphrase of his" });
    dan.session.patch("/v1/account", body).await.assert(200);
    fail("dan", 9).await;
    app.stranger("198.51.100.2").log_in("dan", "quite another passphrase of his").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_invented_tokens_are_rate_limited() {
    let app = TestApp::spawn_among_strangers(Options::default().with_passkeys().with("LIMIT_POSTS", "4/10m")).await;
    let stranger = app.stranger("198.51.100.1");
    let token = format!("svc_pl_{}", "A".repeat(43));
    for (path, more) in [("totp", json!("123456")), ("recovery", json!("aaaa-aaaa-aaaa-aaaa"))] {
        for _ in 0..2 {
            stranger.post(&format!("/v1/auth/mfa/{path}"), json!({ "pendingToken": token, "code": more })).await.refused(401);
        }
    }
    for (path, body) in [
        ("totp", json!({ "pendingToken": token, "code": "123456" })),
        ("recovery", json!({ "pendingToken": token, "code": "aaaa-aaaa-aaaa-aaaa" })),
        ("options", json!({ "pendingToken": token })),
        ("verify", json!({ "pendingToken": token, "response": { "id": "AAAA" } })),
    ] {
        assert_eq!(limited(&stranger.post(&format!("/v1/auth/mfa/{path}"), body).await), 600, "{path}");
    }
    app.stranger("198.51.100.2").post("/v1/auth/mfa/options", json!({ "pendingToken": token })).await.refused(401);
}
