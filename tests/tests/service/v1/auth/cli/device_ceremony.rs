//! The complete flow with a code that the user copies (RFC 8628).

use serde_json::{Value, json};

use super::participants::{
    Ceremony, CliFlow, ada, ada_with, approve, authorized_devices, deny, exchange, is_in, many, members, read, refused, resolve, signed_in,
    status,
};
use super::{DAY, MINUTE};

const SECOND: i64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_is_authorized_with_a_copied_code() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous().from("2001:db8::7");
    let told = json!({ "deviceId": "77", "deviceName": "build server", "clientName": "updraft", "clientPlatform": "linux arm64" });
    let begun = app.clock.now().0;
    let mut ceremony = Ceremony::begin_with(CliFlow::Device, &cli, &told).await;
    let (id, code, user_code) = (ceremony.id().to_owned(), ceremony.grant["deviceCode"].clone(), ceremony.user_code().to_owned());
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
    assert!(code.as_str().unwrap().len() == 43 && user_code.len() == 9 && user_code.as_bytes()[4] == b'-', "{code} {user_code}");
    assert!(user_code.replacen('-', "", 1).chars().all(|letter| "BCDFGHJKLMNPQRSTVWXZ".contains(letter)), "{user_code}");
    let page = format!("{}/dashboard/activate", app.base);
    let complete = ceremony.started["verificationUriComplete"].as_str().unwrap().to_owned();
    assert_eq!(
        ceremony.started,
        json!({
            "authorizationId": id, "deviceCode": code, "userCode": user_code, "verificationUri": page, "verificationUriComplete": complete,
            "expiresAt": begun + 10 * MINUTE, "interval": 5,
        })
    );
    assert!(complete.starts_with(&page) && complete.contains(&user_code), "{complete}");

    app.clock.advance(5 * SECOND);
    refused(&ceremony.exchange().await, "authorization_pending");
    assert_eq!(resolve(&dashboard, &user_code).await.assert(200), json!({ "authorizationId": id }));
    let shown = json!({
        "authorizationId": id, "mode": "device", "status": "pending", "deviceName": "build server", "clientName": "updraft",
        "clientPlatform": "linux arm64", "createdBy": "2001:db8::7", "createdTime": begun, "expiresAt": begun + 10 * MINUTE,
    });
    assert_eq!(read(&dashboard, &id).await.assert(200), shown);
    assert_eq!(approve(&dashboard, &id).await.assert(200), json!({ "status": "approved", "mode": "device" }));
    assert_eq!((authorized_devices(&dashboard).await.len(), status(&dashboard, &id).await), (0, "approved".to_owned()));

    app.clock.advance(5 * SECOND);
    let answer = ceremony.exchange().await;
    let (given, now) = (answer.assert(200), app.clock.now().0);
    assert_eq!(members(&given), ["accessKey", "account", "credentialId", "expires", "tokenType"]);
    assert_eq!((&given["expires"], &given["tokenType"]), (&json!(now + 90 * DAY), &json!("Bearer")));
    assert_eq!(given["account"], json!({ "email": "ada@example.com" }));
    ceremony.cli = signed_in(&cli, &answer);
    let listed = json!({
        "credentialId": given["credentialId"], "deviceId": "77", "deviceName": "build server", "clientName": "updraft",
        "clientPlatform": "linux arm64", "credentialOrigin": "cli_device", "createdBy": "2001:db8::7", "createdTime": now,
        "lastUsedTime": now, "expires": now + 90 * DAY, "isCurrent": true,
    });
    assert_eq!(authorized_devices(&ceremony.cli).await, [listed]);
    assert_eq!(status(&dashboard, &id).await, "consumed");
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_too_fast_increases_the_interval() {
    let (app, dashboard) = ada().await;
    let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    let after = async |milliseconds: i64| {
        app.clock.advance(milliseconds);
        ceremony.exchange().await
    };
    refused(&after(5 * SECOND).await, "authorization_pending");
    refused(&after(5 * SECOND).await, "authorization_pending");
    // A moment too early: from now on the interval is ten seconds, starting with this poll.
    refused(&after(5 * SECOND - 1).await, "slow_down");
    refused(&after(10 * SECOND).await, "authorization_pending");
    refused(&after(10 * SECOND - 1).await, "slow_down");
    refused(&after(15 * SECOND - 1).await, "slow_down");
    refused(&after(20 * SECOND).await, "authorization_pending");
    // For another request it is still five.
    let other = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    app.clock.advance(5 * SECOND);
    refused(&other.exchange().await, "authorization_pending");
    app.clock.advance(15 * SECOND);
    refused(&ceremony.exchange().await, "authorization_pending");
    ceremony.approve(&dashboard).await;
    app.clock.advance(20 * SECOND);
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_that_polled_too_fast_is_authorized_once_it_slows_down() {
    let (app, dashboard) = ada().await;
    let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    app.clock.advance(5 * SECOND);
    refused(&ceremony.exchange().await, "authorization_pending");
    for _ in 0..5 {
        refused(&ceremony.exchange().await, "slow_down");
    }
    ceremony.approve(&dashboard).await;
    app.clock.advance(30 * SECOND);
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn reusing_a_device_code_is_refused_and_revokes_nothing() {
    let (app, dashboard) = ada().await;
    let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    let device = ceremony.log_in(&dashboard).await;
    for minutes in [0, 1, 8, 20] {
        app.clock.advance(minutes * MINUTE);
        refused(&ceremony.exchange().await, "invalid_grant");
        assert!(is_in(&device).await, "a lost response is retried");
    }
    assert_eq!(authorized_devices(&dashboard).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_device_is_told_so() {
    let (app, dashboard) = ada().await;
    let ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    assert_eq!(deny(&dashboard, ceremony.id()).await.assert(200), json!({ "status": "denied", "mode": "device" }));
    assert_eq!(status(&dashboard, ceremony.id()).await, "denied");
    for _ in 0..2 {
        app.clock.advance(15 * SECOND);
        refused(&ceremony.exchange().await, "access_denied");
    }
    assert_eq!(authorized_devices(&dashboard).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_code_expires_after_ten_minutes_approved_or_not() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let (mut timely, mut late, waiting) = (
        Ceremony::begin(CliFlow::Device, &cli).await,
        Ceremony::begin(CliFlow::Device, &cli).await,
        Ceremony::begin(CliFlow::Device, &cli).await,
    );
    app.clock.advance(10 * MINUTE - 1);
    for ceremony in [&mut timely, &mut late] {
        ceremony.approve(&dashboard).await;
    }
    refused(&waiting.exchange().await, "authorization_pending");
    timely.exchange().await.assert(200);
    app.clock.advance(1);
    approve(&dashboard, waiting.id()).await.refused(409);
    deny(&dashboard, waiting.id()).await.refused(409);
    assert_eq!(status(&dashboard, waiting.id()).await, "expired");
    app.clock.advance(15 * SECOND);
    for ceremony in [&late, &waiting] {
        refused(&ceremony.exchange().await, "expired_token");
    }
    assert_eq!(authorized_devices(&dashboard).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_one_flow_is_invalid_in_the_other() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let (mut browser, mut device) = (Ceremony::begin(CliFlow::Browser, &cli).await, Ceremony::begin(CliFlow::Device, &cli).await);
    browser.approve(&dashboard).await;
    device.approve(&dashboard).await;
    app.clock.advance(5 * SECOND);
    refused(&exchange(&cli, &json!({ "grantType": "device_code", "deviceCode": browser.grant["code"] })).await, "invalid_grant");
    refused(&browser.exchange_with("code", device.grant["deviceCode"].clone()).await, "invalid_grant");
    refused(&exchange(&cli, &json!({ "grantType": "device_code", "deviceCode": device.user_code() })).await, "invalid_grant");
    // Neither was canceled.
    browser.exchange().await.assert(200);
    device.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn user_codes_are_unique_and_neither_code_reveals_the_other() {
    let (app, _) = ada_with(many()).await;
    let mut codes = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
        let device_code = ceremony.grant["deviceCode"].as_str().unwrap().to_owned();
        assert!(!ceremony.started["verificationUriComplete"].as_str().unwrap().contains(&device_code));
        codes.insert(ceremony.user_code().to_owned());
        codes.insert(device_code);
    }
    assert_eq!(codes.len(), 100);
}
