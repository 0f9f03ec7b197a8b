//! Pending logins: what completes them and what cancels them.

use serde_json::{Value, json};
use tests::people::{PASSWORD, login};
use tests::{Holder, TestApp};

use crate::v1::mfa::{MINUTE, members};

const OTHER: &str = "quite another passphrase of hers";

async fn with_ada() -> (TestApp, Holder) {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_both("ada").await;
    (app, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_with_a_second_factor_is_pending() {
    let (app, _ada) = with_ada().await;
    let sessions = app.number("SELECT COUNT(*) FROM access_keys").await;
    let answer = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert_eq!(members(&answer), ["expires", "methods", "mfaRequired", "pendingToken"]);
    assert_eq!(answer["mfaRequired"], true);
    assert_eq!(answer["methods"], json!(["passkey", "totp", "recovery_code"]));
    assert_eq!(answer["expires"], app.clock.now().0 + 5 * MINUTE);
    let token = answer["pendingToken"].as_str().unwrap();
    assert_eq!((&token[..7], token.len()), ("svc_pl_", 7 + 43));
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys").await, sessions, "there is no session yet");
    let bearer = app.anonymous().with_token(Some(token.to_owned()));
    for path in ["/v1/authenticated", "/v1/account", "/v1/mfa", "/v1/apps"] {
        bearer.get(path).await.refused(401);
    }
    // A wrong password does not reveal it.
    let wrong = app.try_log_in("ada", "not her password").await;
    wrong.refused_with(401, None);
    assert_eq!(members(&wrong.json()), ["error", "requestId"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_usable_methods_are_listed() {
    let mut app = TestApp::spawn_with_passkeys().await;
    app.with_totp("ada").await;
    app.with_passkey("bob").await;
    let both = app.with_both("eve").await;
    assert_eq!(app.pend("ada").await.methods, ["totp", "recovery_code"]);
    assert_eq!(app.pend("bob").await.methods, ["passkey", "recovery_code"]);
    // An unconfirmed app does not count.
    app.without_factor("dan").await.set_up_totp().await;
    app.try_log_in("dan", PASSWORD).await.assert(200)["accessKey"].as_str().unwrap();
    for code in &both.codes {
        app.pend("eve").await.recovery(code).await.assert(200);
    }
    assert_eq!(app.pend("eve").await.methods, ["passkey", "totp"]);
    // A server without a hostname still accepts other factors.
    app.stop().await;
    app.configure("DASHBOARD_URL", "http://127.0.0.1:8080/dashboard");
    app.start().await;
    assert_eq!(app.pend("eve").await.methods, ["totp"]);
    assert_eq!(app.pend("bob").await.methods, ["recovery_code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_factor_completes_the_login_with_an_ordinary_session() {
    let (app, mut ada) = with_ada().await;
    for method in ["totp", "recovery_code", "passkey"] {
        let pending = app.pend("ada").await;
        let rows = app.audit_rows().await;
        let answer = match method {
            "totp" => pending.totp(&ada.code()).await,
            "recovery_code" => pending.recovery(&ada.codes[0]).await,
            _ => pending.passkey(&mut ada.authenticator).await,
        };
        let body = answer.assert(200);
        let plain = ["accessKey", "expires"];
        let expected: Vec<_> = if method == "recovery_code" { [&plain[..], &["recoveryCodesRemaining"]].concat() } else { plain.to_vec() };
        assert_eq!(members(&body), expected, "{method}");
        assert_eq!(body["expires"], app.clock.now().0 + 14 * 24 * 60 * MINUTE);
        let session = app.client_of(&body);
        session.get("/v1/authenticated").await.assert(200);
        // A dashboard session, which can create keys.
        session.post("/v1/access-keys", json!({ "friendlyName": method })).await.assert(201);
        let events = app.audit_since(rows).await;
        let logins: Vec<_> = events.iter().filter(|event| event.action == "session.create").collect();
        assert_eq!(logins.len(), 1, "{method}: {events:?}");
        let trail = app.audit_text().await;
        let secrets = [&pending.token, &ada.codes[0], &ada.authenticator.id()];
        assert!(!secrets.into_iter().any(|secret| trail.contains(secret)), "{method}: {trail}");
        assert!(logins[0].details.contains(method), "the method is audited: {:?}", logins[0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_login_works_once() {
    let (app, mut ada) = with_ada().await;
    let pending = app.pend("ada").await;
    let options = pending.options().await.assert(200)["options"].clone();
    pending.totp(&ada.code()).await.assert(200);
    pending.totp(&ada.code()).await.refused_with(401, None);
    pending.recovery(&ada.codes[0]).await.refused_with(401, None);
    pending.options().await.refused_with(401, None);
    pending.verify(&ada.authenticator.assert(&options)).await.refused_with(401, None);
    // The code was not consumed.
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_pending_login_is_refused_without_a_reason() {
    let (app, ada) = with_ada().await;
    let (mut unknown, mut of_session, used) = (app.pend("ada").await, app.pend("ada").await, app.pend("ada").await);
    unknown.token = format!("svc_pl_{}", "A".repeat(43));
    ada.session.token().clone_into(&mut of_session.token);
    used.totp(&ada.code()).await.assert(200);
    let mut texts = Vec::new();
    for pending in [&unknown, &of_session, &used] {
        texts.push(pending.totp(&ada.code()).await.refused(401));
        texts.push(pending.recovery(&ada.codes[0]).await.refused(401));
        texts.push(pending.options().await.refused(401));
    }
    for place in 0..3 {
        let same: Vec<_> = texts.iter().skip(place).step_by(3).collect();
        assert!(same.iter().all(|text| *text == same[0]), "{same:?}");
    }
    // A bearer token does not replace it.
    let body = json!({ "pendingToken": unknown.token, "code": ada.code() });
    ada.session.post("/v1/auth/mfa/totp", body).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_login_expires_after_five_minutes() {
    let (app, mut ada) = with_ada().await;
    let (in_time, late) = (app.pend("ada").await, app.pend("ada").await);
    let options = late.options().await.assert(200)["options"].clone();
    app.clock.advance(in_time.expires - app.clock.now().0 - 1);
    in_time.totp(&ada.code_now()).await.assert(200);
    app.clock.advance(1);
    late.totp(&ada.code()).await.refused_with(401, None);
    late.recovery(&ada.codes[0]).await.refused_with(401, None);
    late.options().await.refused_with(401, None);
    late.verify(&ada.authenticator.assert(&options)).await.refused_with(401, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fifth_wrong_attempt_of_any_kind_cancels_the_login() {
    let (app, mut ada) = with_ada().await;
    let pending = app.pend("ada").await;
    let fail = async |ada: &mut Holder, number: usize| {
        let answer = match number % 3 {
            0 => pending.totp(&ada.wrong_code()).await,
            1 => pending.recovery("aaaa-aaaa-aaaa-aaaa").await,
            _ => {
                let options = pending.options().await.assert(200)["options"].clone();
                pending.verify(&ada.authenticator.assert_but(&options, &tests::Forgery::FlippedBit)).await
            }
        };
        answer.refused_with(401, None);
    };
    for number in 0..4 {
        fail(&mut ada, number).await;
    }
    let options = pending.options().await.assert(200)["options"].clone();
    fail(&mut ada, 4).await;
    pending.totp(&ada.code()).await.refused_with(401, None);
    pending.recovery(&ada.codes[0]).await.refused_with(401, None);
    pending.verify(&ada.authenticator.assert(&options)).await.refused_with(401, None);
    // Only this one was canceled.
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_fifth_attempt_completes_the_login() {
    let (app, ada) = with_ada().await;
    let pending = app.pend("ada").await;
    for _ in 0..4 {
        pending.totp(&ada.wrong_code()).await.refused(401);
    }
    // An invalid request is not an attempt.
    let empty = json!({ "pendingToken": pending.token, "code": "" });
    for body in [json!({}), json!({ "code": "123456" }), json!({ "pendingToken": pending.token }), empty, json!([])] {
        app.anonymous().post("/v1/auth/mfa/totp", body.clone()).await.refused(400);
        app.anonymous().post("/v1/auth/mfa/recovery", body).await.refused(400);
    }
    pending.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_logins_can_be_pending_concurrently() {
    let (app, ada) = with_ada().await;
    let bob = app.with_totp("bob").await;
    let (first, second, of_bob) = (app.pend("ada").await, app.pend("ada").await, app.pend("bob").await);
    // Another user's factor is refused.
    of_bob.totp(&ada.code()).await.refused(401);
    of_bob.recovery(&ada.codes[1]).await.refused(401);
    first.totp(&bob.code()).await.refused(401);
    first.recovery(&bob.codes[1]).await.refused(401);
    second.totp(&ada.code()).await.assert(200);
    first.totp(&ada.code()).await.assert(200);
    of_bob.recovery(&bob.codes[1]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_cancels_pending_logins_and_keeps_the_factors() {
    let (app, mut ada) = with_ada().await;
    let pending = app.pend("ada").await;
    let body = json!({ "currentPassword": PASSWORD, "password": OTHER, "stepUp": ada.passkey_proof().await });
    ada.session.patch("/v1/account", body).await.assert(200);
    pending.totp(&ada.code()).await.refused_with(401, None);
    app.try_log_in("ada", PASSWORD).await.refused(401);
    let again = app.try_log_in("ada", OTHER).await.assert(200);
    assert_eq!(again["mfaRequired"], true, "MFA stays");

    let pending = tests::second_factors::Pending::read(app.anonymous(), &app.try_log_in("ada", OTHER).await);
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": ada.email() })).await.assert(202);
    let token = app.last_mail_to(&ada.email()).await.token();
    app.anonymous().post("/v1/auth/reset-password", json!({ "token": token, "password": PASSWORD })).await.assert(200);
    pending.totp(&ada.code()).await.refused_with(401, None);
    let pending = app.pend("ada").await;
    assert_eq!(pending.methods, ["passkey", "totp", "recovery_code"], "a reset keeps the factors, too");
    pending.recovery(&ada.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_login_is_deleted_with_its_account() {
    let (app, mut ada) = with_ada().await;
    let pending = app.pend("ada").await;
    let body = json!({ "password": PASSWORD, "stepUp": ada.passkey_proof().await });
    ada.session.delete_with("/v1/account", body).await.assert(204);
    pending.totp(&ada.code()).await.refused_with(401, None);
    pending.options().await.refused_with(401, None);
    app.anonymous().post("/v1/auth/login", login(&ada.email(), PASSWORD)).await.refused(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_invalid_members_are_named_together() {
    let (app, _ada) = with_ada().await;
    let token = app.pend("ada").await.token;
    for path in ["/v1/auth/mfa/totp", "/v1/auth/mfa/recovery"] {
        let refusal = app.anonymous().post(path, json!({ "pendingToken": 1, "code": [] })).await.refused(400);
        assert!(refusal.contains("pendingToken: ") && refusal.contains("code: "), "{path}: {refusal}");
        for code in [Value::Null, json!(123_456), json!(["123456"]), json!({})] {
            let refusal = app.anonymous().post(path, json!({ "pendingToken": token, "code": code })).await.refused(400);
            assert!(refusal.starts_with("code: "), "{path}: {refusal}");
        }
        let refusal = app.anonymous().post(path, json!({ "pendingToken": "", "code": "" })).await.refused(400);
        assert_eq!(refusal, "pendingToken: must not be empty; code: must not be empty", "{path}");
        // Any other text is an attempt.
        for code in [" ", &"1".repeat(1_000)] {
            app.anonymous().post(path, json!({ "pendingToken": token, "code": code })).await.refused(401);
        }
    }
    app.anonymous().post("/v1/auth/mfa/options", json!({})).await.refused(400);
    app.anonymous().post("/v1/auth/mfa/options", json!({ "pendingToken": "" })).await.refused(400);
    let refusal = app.anonymous().post("/v1/auth/mfa/verify", json!({ "pendingToken": "", "response": {} })).await.refused(400);
    assert_eq!(refusal, "pendingToken: must not be empty");
    for response in [Value::Null, json!("x"), json!([]), json!(1)] {
        let body = json!({ "pendingToken": token, "response": response });
        let refusal = app.anonymous().post("/v1/auth/mfa/verify", body).await.refused(400);
        assert!(refusal.starts_with("response: "), "{refusal}");
    }
}
