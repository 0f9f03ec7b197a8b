//! Emails to the owner of an account about changed second factors and used recovery codes.

use serde_json::json;
use tests::{Holder, Options, ReceivedMail, TestApp};

/// A server whose emails name the actor, without limits on emails.
async fn with_ada() -> (TestApp, Holder) {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    ada.session = ada.session.from("203.0.113.7");
    (app, ada)
}

/// Expects exactly one new email, with the client address and without secrets.
async fn one_more(app: &TestApp, ada: &Holder, before: usize) -> ReceivedMail {
    let mut mails = app.mails_to(&ada.email()).await.split_off(before);
    let mail = mails.pop().unwrap();
    assert_eq!(mails, [], "one for each change");
    for part in [&mail.text, &mail.html] {
        assert!(!ada.codes.iter().any(|code| part.contains(code)), "{part}");
        assert!(!part.contains("#token=") && !part.contains("otpauth"), "{part}");
    }
    mail
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_factors_sends_one_notice() {
    let (app, mut ada) = with_ada().await;
    let mut subjects = Vec::new();

    ada.enrol_totp().await.assert(200);
    let mail = one_more(&app, &ada, 0).await;
    assert!(mail.text.contains("203.0.113.7") && mail.text.contains("Two-factor authentication is now on"), "{}", mail.text);
    subjects.push(mail.subject);

    ada.enrol_passkey(Some("<b>Blue</b> key")).await.assert(200);
    let mail = one_more(&app, &ada, 1).await;
    assert!(mail.text.contains("203.0.113.7") && mail.text.contains("<b>Blue</b> key"), "{}", mail.text);
    assert!(!mail.html.contains("<b>Blue"), "{}", mail.html);
    assert!(!mail.text.contains("is now on"), "{}", mail.text);
    subjects.push(mail.subject);

    let proof = ada.totp_proof();
    let answer = ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await;
    answer.assert(200);
    ada.keep_codes(&answer);
    subjects.push(one_more(&app, &ada, 2).await.subject);

    ada.enrol_totp().await.assert(200);
    subjects.push(one_more(&app, &ada, 3).await.subject);

    let proof = ada.passkey_proof().await;
    ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.assert(200);
    let mail = one_more(&app, &ada, 4).await;
    assert!(!mail.text.contains("Two-factor authentication is now off"), "{}", mail.text);
    subjects.push(mail.subject);

    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let proof = ada.passkey_proof().await;
    ada.session.delete_with(&format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": proof })).await.assert(200);
    let mail = one_more(&app, &ada, 5).await;
    assert!(mail.text.contains("Two-factor authentication is now off") && mail.text.contains("<b>Blue</b> key"), "{}", mail.text);
    subjects.push(mail.subject);

    let expected = [
        "An authenticator app was added",
        "A passkey was added",
        "Your recovery codes were regenerated",
        "An authenticator app was added",
        "The authenticator app was removed",
        "A passkey was removed",
    ];
    assert_eq!(subjects, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn using_a_recovery_code_sends_a_notice_with_the_number_left() {
    let (app, mut ada) = with_ada().await;
    ada.enrol_totp().await.assert(200);
    for left in [9, 8] {
        let before = app.mails_to(&ada.email()).await.len();
        let token = app.pend("ada").await.token;
        let body = json!({ "pendingToken": token, "code": ada.codes[left] });
        app.stranger("198.51.100.9").post("/v1/auth/mfa/recovery", body).await.assert(200);
        let mail = one_more(&app, &ada, before).await;
        assert_eq!(mail.subject, "A recovery code was used to sign in");
        assert!(mail.text.contains("198.51.100.9") && mail.text.contains(&format!("{left} recovery codes are left")), "{}", mail.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_effect_send_no_notice() {
    let (app, mut ada) = with_ada().await;
    ada.enrol_passkey(None).await.assert(200);
    ada.enrol_totp().await.assert(200);
    let before = app.mails_to(&ada.email()).await.len();
    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    ada.session.patch(&format!("/v1/mfa/passkeys/{id}"), json!({ "name": "renamed" })).await.assert(200);
    ada.set_up_totp().await;
    ada.registration_options().await;
    app.pend("ada").await.totp(&ada.wrong_code()).await.refused(401);
    app.pend("ada").await.recovery("aaaa-aaaa-aaaa-aaaa").await.refused(401);
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    ada.session.delete("/v1/mfa/totp").await.refused(403);
    ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": { "type": "totp", "code": ada.wrong_code() } })).await.refused(403);
    // Except the daily warning that the password is known.
    let told: Vec<String> = app.mails_to(&ada.email()).await.into_iter().skip(before).map(|mail| mail.subject).collect();
    assert_eq!(told, ["Someone entered your password but failed two-factor authentication"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_on_unauthenticated_mails_do_not_block_notices() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_RESET_MAILS", "1/1h")).await;
    let mut ada = app.without_factor("ada").await;
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": ada.email() })).await.assert(202);
    ada.enrol_totp().await.assert(200);
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
    assert_eq!(app.mails_to(&ada.email()).await.len(), 3);
}
