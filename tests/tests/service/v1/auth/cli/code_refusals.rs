//! Expired, wrong and reused authorization codes: each refusal cancels the request.

use serde_json::{Value, json};

use super::MINUTE;
use super::participants::{
    Ceremony, CliFlow, REDIRECT, ada, ada_with, authorized_devices, exchange, is_in, many, read, refused, signed_in, status,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_code_expires_after_a_minute() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let (mut timely, mut late) = (Ceremony::begin(CliFlow::Browser, &cli).await, Ceremony::begin(CliFlow::Browser, &cli).await);
    timely.approve(&dashboard).await;
    late.approve(&dashboard).await;
    app.clock.advance(MINUTE - 1);
    timely.exchange().await.assert(200);
    app.clock.advance(1);
    refused(&late.exchange().await, "expired_token");
    assert_eq!(status(&dashboard, late.id()).await, "expired");
    refused(&late.exchange().await, "expired_token");
    assert_eq!(authorized_devices(&dashboard).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_issued_at_the_last_moment_is_valid_for_a_minute() {
    let (app, dashboard) = ada().await;
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
    app.clock.advance(10 * MINUTE - 1);
    ceremony.approve(&dashboard).await;
    app.clock.advance(MINUTE - 1);
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_verifier_or_redirect_cancels_the_request() {
    let (app, dashboard) = ada_with(many()).await;
    let wrong = [
        ("codeVerifier", json!("A".repeat(43))),
        ("redirectUri", json!("http://127.0.0.1:49152/callback/")),
        ("redirectUri", json!("http://127.0.0.1:49153/callback")),
        ("redirectUri", json!("http://[::1]:49152/callback")),
        ("redirectUri", json!("HTTP://127.0.0.1:49152/callback")),
        ("redirectUri", json!("http://127.0.0.1:49152/%63allback")),
        ("redirectUri", json!("https://evil.example/")),
    ];
    for (member, value) in wrong {
        let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        ceremony.approve(&dashboard).await;
        refused(&ceremony.exchange_with(member, value.clone()).await, "invalid_grant");
        refused(&ceremony.exchange().await, "invalid_grant");
        assert_ne!(status(&dashboard, ceremony.id()).await, "approved", "{member} {value}");
    }
    // Neither the challenge nor another request's verifier is valid.
    let (key, cli) = (super::participants::ProofKey::new(), app.anonymous());
    let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &cli, &json!({ "codeChallenge": key.challenge })).await;
    ceremony.approve(&dashboard).await;
    refused(&ceremony.exchange_with("codeVerifier", json!(key.challenge)).await, "invalid_grant");
    refused(&ceremony.exchange_with("codeVerifier", json!(key.verifier)).await, "invalid_grant");
    assert_eq!(authorized_devices(&dashboard).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn reusing_a_code_revokes_its_credential() {
    let (app, dashboard) = ada_with(many()).await;
    for (member, value) in
        [("grantType", json!("authorization_code")), ("codeVerifier", json!("A".repeat(43))), ("redirectUri", json!("http://127.0.0.1:1/"))]
    {
        let mut bystander = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        let bystander = bystander.log_in(&dashboard).await;
        let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        let device = ceremony.log_in(&dashboard).await;
        assert!(is_in(&device).await);
        refused(&ceremony.exchange_with(member, value).await, "invalid_grant");
        assert!(!is_in(&device).await && is_in(&bystander).await && is_in(&dashboard).await);
        refused(&ceremony.exchange().await, "invalid_grant");
        bystander.delete("/v1/cli/devices/current").await.assert(204);
        assert!(authorized_devices(&dashboard).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reusing_a_code_later_also_revokes_its_credential() {
    let (app, dashboard) = ada().await;
    for wait in [MINUTE, 9 * MINUTE, 30 * MINUTE] {
        let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        let device = ceremony.log_in(&dashboard).await;
        app.clock.advance(wait);
        refused(&ceremony.exchange().await, "invalid_grant");
        assert!(!is_in(&device).await, "{wait}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_exchanges_get_the_matching_oauth_error() {
    let (app, dashboard) = ada_with(many()).await;
    let cli = app.anonymous();
    for grant in [
        json!({}),
        json!({ "grantType": null }),
        json!({ "grantType": "" }),
        json!({ "grantType": 5 }),
        json!({ "grantType": ["authorization_code"] }),
        json!({ "code": "A".repeat(43) }),
        json!({ "grantType": "device_code" }),
        json!({ "grantType": "device_code", "deviceCode": null }),
        json!({ "grantType": "device_code", "deviceCode": 5 }),
        json!({ "grantType": "device_code", "deviceCode": {} }),
        json!({ "grantType": "device_code", "deviceCode": "" }),
        json!({ "grantType": "device_code", "code": "A".repeat(43) }),
        json!({ "grantType": "authorization_code" }),
    ] {
        refused(&exchange(&cli, &grant).await, "invalid_request");
    }
    for kind in [" ", "password", "AUTHORIZATION_CODE", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code", "device_code "] {
        refused(&exchange(&cli, &json!({ "grantType": kind })).await, "unsupported_grant_type");
    }
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &cli).await;
    ceremony.approve(&dashboard).await;
    // A malformed code is not looked up, so it cancels nothing.
    for member in ["code", "codeVerifier", "redirectUri"] {
        for value in [json!(null), json!(""), json!(5), json!([]), json!({}), json!(true)] {
            refused(&ceremony.exchange_with(member, value).await, "invalid_request");
        }
    }
    for verifier in ["A".repeat(42), "A".repeat(129), format!("{}+", "A".repeat(43)), format!("{}=", "A".repeat(43)), "ü".repeat(43)] {
        // A malformed verifier is wrong, and cancels the request like any other.
        let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        ceremony.approve(&dashboard).await;
        refused(&ceremony.exchange_with("codeVerifier", json!(verifier)).await, "invalid_grant");
        refused(&ceremony.exchange().await, "invalid_grant");
    }
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_code_reveals_nothing() {
    let (app, dashboard) = ada_with(many()).await;
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
    ceremony.approve(&dashboard).await;
    let code = ceremony.grant["code"].as_str().unwrap().to_owned();
    let hash = shared::hash::Sha256Hex::of(code.as_bytes()).to_string();
    for wrong in ["A".repeat(43), hash, code[..42].to_owned(), format!("{code}A"), code.to_lowercase(), format!(" {code}")] {
        refused(&ceremony.exchange_with("code", json!(wrong)).await, "invalid_grant");
        refused(&exchange(&ceremony.cli, &json!({ "grantType": "device_code", "deviceCode": wrong })).await, "invalid_grant");
    }
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_other_grants_are_ignored() {
    let (app, dashboard) = ada().await;
    let mut browser = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
    browser.approve(&dashboard).await;
    for (name, value) in [("deviceCode", json!("A")), ("clientId", json!(7)), ("scope", json!({}))] {
        browser.grant[name] = value;
    }
    let browser = signed_in(&browser.cli, &browser.exchange().await);
    let mut device = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    device.approve(&dashboard).await;
    for (name, value) in [("code", json!("A")), ("codeVerifier", json!(7)), ("redirectUri", json!(REDIRECT))] {
        device.grant[name] = value;
    }
    let device = signed_in(&device.cli, &device.exchange().await);
    assert!(is_in(&browser).await && is_in(&device).await);
    assert!(read(&dashboard, "x").await.status.is_client_error());
}
