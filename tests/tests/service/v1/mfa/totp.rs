//! Authenticator apps: set up, confirm, replace, use for logins, remove.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rqrr::PreparedImage;
use serde_json::json;
use shared::time::UnixMillis;
use tests::totp::STEP;
use tests::{Options, TestApp, Totp};

use crate::v1::mfa::{MINUTE, members, needs_step_up, texts};

/// Decodes a QR code drawn as one path of rectangles, `M<left> <top>h<width>v<height>…`.
fn scanned(svg: &str) -> String {
    let number = |text: &str| text.parse::<usize>().unwrap();
    let side = number(svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap());
    let path = svg.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut is_dark = vec![false; side * side];
    for rectangle in path.split('M').skip(1) {
        let numbers: Vec<usize> = rectangle.split([' ', 'h', 'v', 'H', 'V']).map(number).collect();
        for row in numbers[1]..numbers[1] + numbers[3] {
            is_dark[row * side + numbers[0]..][..numbers[2]].fill(true);
        }
    }
    let mut image = PreparedImage::prepare_from_greyscale(side, side, |x, y| if is_dark[y * side + x] { 0 } else { 255 });
    image.detect_grids()[0].decode().unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_returns_the_secret_as_text_url_and_qr_code() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    let setup = ada.session.post("/v1/mfa/totp/setup", json!({})).await.assert(200);
    assert_eq!(members(&setup), ["otpauthUrl", "qrCode", "secret"]);
    let secret = setup["secret"].as_str().unwrap();
    assert_eq!((secret.len(), Totp::new(secret).secret().len()), (32, 20), "160 bits, without padding: {secret}");
    let url = reqwest::Url::parse(setup["otpauthUrl"].as_str().unwrap()).unwrap();
    assert_eq!((url.scheme(), url.host_str()), ("otpauth", Some("totp")));
    assert_eq!(url.path().trim_start_matches('/').replace("%40", "@").replace("%3A", ":"), "Updraft:ada@example.com");
    let query: std::collections::BTreeMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(query["secret"], secret);
    assert_eq!(query["issuer"], "Updraft");
    // Absent parameters have the defaults of the format.
    for (name, value) in [("algorithm", "SHA1"), ("digits", "6"), ("period", "30")] {
        assert_eq!(query.get(name).map_or(value, String::as_str), value);
    }
    let (kind, image) = setup["qrCode"].as_str().unwrap().split_once(',').unwrap();
    assert_eq!(kind, "data:image/svg+xml;base64");
    let image = String::from_utf8(STANDARD.decode(image).unwrap()).unwrap();
    assert!(image.contains("<svg") && !image.contains("<script"), "{image}");
    assert_eq!(setup["otpauthUrl"], scanned(&image));
    // Each setup has a new secret, and nothing is enabled yet.
    assert_ne!(ada.session.post("/v1/mfa/totp/setup", json!({})).await.assert(200)["secret"], secret);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaEnabled"], &mfa["methods"]), (&json!(false), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_app_turns_second_factors_on_and_shows_recovery_codes_once() {
    let app = TestApp::spawn().await;
    let mut ada = app.without_factor("ada").await;
    let answer = ada.enrol_totp().await.assert(200);
    assert_eq!(members(&answer), ["mfaEnabled", "recoveryCodes"]);
    assert_eq!((&answer["mfaEnabled"], texts(&answer["recoveryCodes"]).len()), (&json!(true), 10));
    let expected = json!({
        "mfaEnabled": true, "methods": ["totp", "recovery_code"], "passkeys": 0, "recoveryCodesRemaining": 10, "mfaSetupRequired": false,
    });
    assert_eq!(ada.mfa().await, expected);
    assert_eq!(ada.session.get("/v1/account").await.assert(200)["account"]["mfaEnabled"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_confirms_nothing() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    let confirm = async |code: &str| ada.session.post("/v1/mfa/totp/confirm", json!({ "code": code })).await;
    confirm("123456").await.refused_with(409, None);
    let totp = ada.set_up_totp().await;
    let now = app.clock.now().0;
    let near: Vec<String> = (-2..=2).map(|steps| totp.code(UnixMillis(now + steps * STEP))).collect();
    let wrong = (0..1_000_000).map(|number| format!("{number:06}")).find(|code| !near[1..4].contains(code)).unwrap();
    for code in [&wrong, &near[0], &near[4]] {
        if !near[1..4].contains(code) {
            confirm(code).await.refused_with(401, None);
        }
    }
    assert_eq!(ada.mfa().await["mfaEnabled"], false);
    // A failure does not cancel the setup.
    confirm(&totp.code(app.clock.now())).await.assert(200);
    confirm(&totp.code(UnixMillis(now + STEP))).await.refused_with(403, Some("step_up_required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_without_a_valid_code_are_refused() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    ada.set_up_totp().await;
    for body in [json!({}), json!({ "code": null }), json!({ "code": 123_456 }), json!({ "code": ["1"] })] {
        let refusal = ada.session.post("/v1/mfa/totp/confirm", body).await.refused(400);
        assert!(refusal.starts_with("code: "), "{refusal}");
    }
    let refusal = ada.session.post("/v1/mfa/totp/confirm", json!({ "code": 1, "stepUp": "x" })).await.refused(400);
    assert!(refusal.contains("code: ") && refusal.contains("stepUp: "), "{refusal}");
    let mut large = json!({ "code": "123456" });
    large["padding"] = json!("x".repeat(10_240));
    ada.session.post("/v1/mfa/totp/confirm", large).await.refused(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_expires_after_ten_minutes_or_when_replaced() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    let confirm = async |totp: &Totp| {
        let code = totp.code(app.clock.now());
        ada.session.post("/v1/mfa/totp/confirm", json!({ "code": code })).await
    };
    let first = ada.set_up_totp().await;
    app.clock.advance(10 * MINUTE);
    confirm(&first).await.refused_with(409, None);
    let second = ada.set_up_totp().await;
    let third = ada.set_up_totp().await;
    confirm(&second).await.refused_with(401, None);
    app.clock.advance(10 * MINUTE - 1);
    confirm(&third).await.assert(200);
    confirm(&third).await.refused_with(403, Some("step_up_required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_up_another_app_keeps_the_confirmed_one_valid() {
    let app = TestApp::spawn().await;
    let mut ada = app.with_totp("ada").await;
    let codes = ada.codes.clone();
    let old = ada.totp.clone().unwrap();
    let new = ada.set_up_totp().await;
    app.pend("ada").await.totp(&new.code(app.clock.now())).await.refused(401);
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    // It requires a proof with the old one.
    let code = |totp: &Totp| totp.code(app.clock.now());
    needs_step_up(&ada.session.post("/v1/mfa/totp/confirm", json!({ "code": code(&new) })).await);
    let proof = json!({ "type": "totp", "code": code(&new) });
    needs_step_up(&ada.session.post("/v1/mfa/totp/confirm", json!({ "code": code(&new), "stepUp": proof })).await);
    let answer = ada.enrol_totp().await.assert(200);
    assert_eq!(answer, json!({ "mfaEnabled": true }), "the recovery codes are kept and not shown again");
    app.clock.advance(STEP);
    app.pend("ada").await.totp(&code(&old)).await.refused(401);
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.pend("ada").await.recovery(&codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_valid_one_step_before_and_after_its_own() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MFA_ATTEMPTS", "100/15m")).await;
    let ada = app.with_totp("ada").await;
    let totp = ada.totp.clone().unwrap();
    app.clock.advance(10 * STEP);
    let at = |steps: i64| totp.code(UnixMillis(app.clock.now().0 + steps * STEP));
    for steps in [-10, -3, -2, 2, 3, 10] {
        if !(-1..=1).any(|near| at(near) == at(steps)) {
            app.pend("ada").await.totp(&at(steps)).await.refused(401);
        }
    }
    // In order, since an earlier step is refused after a later one.
    for steps in -1..=1 {
        app.pend("ada").await.totp(&at(steps)).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_time_step_is_accepted_once_for_any_purpose() {
    let app = TestApp::spawn().await;
    let mut ada = app.with_totp("ada").await;
    // The code that confirmed the setup.
    app.pend("ada").await.totp(&ada.code_now()).await.refused(401);
    needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "totp", "code": ada.code_now() } })).await);
    // A code used for a login.
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.pend("ada").await.totp(&ada.code_now()).await.refused(401);
    needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": { "type": "totp", "code": ada.code_now() } })).await);
    // A code used as a proof.
    let proof = ada.totp_proof();
    ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await.assert(200);
    needs_step_up(&ada.session.post("/v1/mfa/recovery-codes", json!({ "stepUp": proof })).await);
    app.pend("ada").await.totp(&ada.code_now()).await.refused(401);
    // A failed code did not consume the next one.
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    assert_eq!(ada.mfa().await["recoveryCodesRemaining"], 10);
    ada.enrol_totp().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_codes_are_read_leniently_and_invalid_ones_fail() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MFA_ATTEMPTS", "100/15m")).await;
    let ada = app.with_totp("ada").await;
    for code in ["12345", "1234567", "abcdef", "12345x", "١٢٣٤٥٦", "-12345", "+12345", "12.345"] {
        app.pend("ada").await.totp(code).await.refused_with(401, None);
    }
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_removed_with_a_proof() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    needs_step_up(&ada.session.delete("/v1/mfa/totp").await);
    needs_step_up(&ada.session.delete_with("/v1/mfa/totp", json!({})).await);
    let proof = ada.totp_proof();
    let answer = ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.assert(200);
    assert_eq!(members(&answer), ["message", "mfaEnabled"]);
    assert_eq!(answer["mfaEnabled"], true, "the passkey remains");
    ada.totp = None;
    assert_eq!(ada.mfa().await["methods"], json!(["passkey", "recovery_code"]));
    // It no longer exists.
    let proof = ada.passkey_proof().await;
    ada.session.delete_with("/v1/mfa/totp", json!({ "stepUp": proof })).await.refused_with(404, None);
    let bob = app.without_factor("bob").await;
    bob.session.delete_with("/v1/mfa/totp", json!({})).await.refused_with(404, None);
    bob.set_up_totp().await;
    bob.session.delete_with("/v1/mfa/totp", json!({})).await.refused_with(404, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_totp_secret_is_stored_encrypted() {
    let app = TestApp::spawn().await;
    let ada = app.without_factor("ada").await;
    let secret = ada.session.post("/v1/mfa/totp/setup", json!({})).await.assert(200)["secret"].as_str().unwrap().to_owned();
    let totp = Totp::new(&secret);
    ada.session.post("/v1/mfa/totp/confirm", json!({ "code": totp.code(app.clock.now()) })).await.assert(200);
    ada.set_up_totp().await;
    let bytes = totp.secret().to_vec();
    for sealed in app.sealed().await {
        assert!(sealed.len() > 20 && !sealed.windows(20).any(|window| window == bytes), "a seed is stored unencrypted");
    }
    assert_eq!(app.sealed().await.len(), 3, "two seeds, and the key of the recovery codes");
    assert!(!app.audit_text().await.contains(&secret));
}
