//! The authorized devices of an account: list and revoke.

mod notices;

use serde_json::{Value, json};
use tests::SessionOrigin::{CliBrowser, CliDevice, Dashboard};
use tests::{Client, Device, TestApp};

use crate::v1::auth::cli::DAY;
use crate::v1::auth::cli::participants::{Ceremony, CliFlow, ada, authorized_devices, is_in, members, person};

fn laptop() -> Device {
    let text = |text: &str| Some(text.to_owned());
    Device {
        id: text("5d3c"),
        name: text("Ada's laptop"),
        client_name: text("updraft"),
        client_version: text("1.2.3"),
        client_platform: text("linux x64"),
    }
}

/// The ID of a client's own credential.
async fn own(client: &Client) -> String {
    let current = authorized_devices(client).await.into_iter().find(|device| device["isCurrent"] == true);
    current.unwrap()["credentialId"].as_str().unwrap().to_owned()
}

async fn shut_out(client: &Client, id: &str) -> tests::Answer {
    client.delete(&format!("/v1/cli/devices/{id}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_accounts_active_devices_are_listed() {
    let (app, dashboard) = ada().await;
    let bob = person(&app, "bob").await;
    app.open_session("bob", CliBrowser).await;
    app.named_key("ada", "build server").await;
    let ended = app.open_session("ada", CliBrowser).await;
    app.clock.advance(DAY);
    let begun = app.clock.now().0;
    let first = app.open_session_of("ada", CliBrowser, "203.0.113.7", &laptop()).await;
    app.clock.advance(1_000);
    let second = app.open_session_of("ada", CliDevice, "2001:db8::7", &Device::default()).await;
    assert_eq!(authorized_devices(&dashboard).await.len(), 3);
    ended.delete("/v1/account/sessions/current").await.assert(204);

    let shown = authorized_devices(&first).await;
    assert_eq!(
        shown[0],
        json!({
            "credentialId": shown[0]["credentialId"], "deviceId": "5d3c", "deviceName": "Ada's laptop", "clientName": "updraft",
            "clientVersion": "1.2.3", "clientPlatform": "linux x64", "credentialOrigin": "cli_browser", "createdBy": "203.0.113.7",
            "createdTime": begun, "lastUsedTime": begun + 1_000, "expires": begun + 90 * DAY, "isCurrent": true,
        })
    );
    assert_eq!(
        shown[1],
        json!({
            "credentialId": shown[1]["credentialId"], "credentialOrigin": "cli_device", "createdBy": "2001:db8::7",
            "createdTime": begun + 1_000, "lastUsedTime": null, "expires": begun + 1_000 + 90 * DAY, "isCurrent": false,
        })
    );
    assert_eq!(shown.len(), 2, "oldest first");
    let flags = |shown: Vec<Value>| shown.iter().map(|device| device["isCurrent"].as_bool().unwrap()).collect::<Vec<_>>();
    assert_eq!(
        (flags(authorized_devices(&second).await), flags(authorized_devices(&dashboard).await)),
        (vec![false, true], vec![false, false])
    );
    assert_eq!(authorized_devices(&bob).await.len(), 1);

    app.clock.advance(90 * DAY - 1_000);
    let again = app.open_session("ada", Dashboard).await;
    assert_eq!(authorized_devices(&again).await.len(), 1, "the other one has expired");
    assert_eq!(members(&again.get("/v1/cli/devices").await.json()), ["devices"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_a_device_affects_no_other() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let mut clients = Vec::new();
    for flow in [CliFlow::Browser, CliFlow::Device, CliFlow::Browser, CliFlow::Device] {
        clients.push(Ceremony::begin(flow, &cli).await.log_in(&dashboard).await);
    }
    let mut ids = Vec::new();
    for client in &clients {
        ids.push(own(client).await);
    }
    let answer = shut_out(&dashboard, &ids[0]).await;
    answer.assert(204);
    assert!(answer.body.is_empty());
    assert!(!is_in(&clients[0]).await && is_in(&clients[1]).await);
    shut_out(&dashboard, &ids[0]).await.refused(404);
    // A device revokes another one, and itself.
    shut_out(&clients[1], &ids[2]).await.assert(204);
    shut_out(&clients[1], &ids[1]).await.assert(204);
    assert!(!is_in(&clients[1]).await && !is_in(&clients[2]).await && is_in(&clients[3]).await);
    assert_eq!(
        authorized_devices(&dashboard).await.iter().map(|device| device["credentialId"].as_str().unwrap()).collect::<Vec<_>>(),
        [&ids[3]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_can_revoke_itself() {
    let (app, dashboard) = ada().await;
    for flow in [CliFlow::Browser, CliFlow::Device] {
        let device = Ceremony::begin(flow, &app.anonymous()).await.log_in(&dashboard).await;
        let other = Ceremony::begin(flow, &app.anonymous()).await.log_in(&dashboard).await;
        device.delete("/v1/cli/devices/current").await.assert(204);
        device.delete("/v1/cli/devices/current").await.refused(401);
        assert!(is_in(&other).await && is_in(&dashboard).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_other_than_clis_are_not_devices() {
    let (app, dashboard) = ada().await;
    let old = app.open_session("ada", Dashboard).await;
    app.forget_origin(&old).await;
    for client in [&dashboard, &old] {
        client.delete("/v1/cli/devices/current").await.refused(404);
        assert!(is_in(client).await);
    }
    let key = app.named_key("ada", "build server").await;
    let robot = app.api_key("ada", &["read", "deploy", "apps"]).await;
    let device = app.open_session("ada", CliBrowser).await;
    let id = own(&device).await;
    for client in [&key, &robot] {
        client.get("/v1/cli/devices").await.refused_with(403, None);
        client.delete("/v1/cli/devices/current").await.refused_with(403, None);
        shut_out(client, &id).await.refused_with(403, None);
    }
    assert!(is_in(&key).await && is_in(&device).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_of_another_account_are_not_found() {
    let (app, dashboard) = ada().await;
    let bob = person(&app, "bob").await;
    let bobs = app.open_session("bob", CliDevice).await;
    let device = app.open_session("ada", CliBrowser).await;
    let other = app.open_session("ada", Dashboard).await;
    app.named_key("ada", "build server").await;
    let mut ids = vec![own(&bobs).await, "x".to_owned(), "%00".to_owned(), "%ff".to_owned(), "a%20b".to_owned(), "x".repeat(3_000)];
    // Dashboard sessions and access keys are revoked elsewhere.
    ids.extend(app.texts("SELECT id FROM access_keys WHERE credential_origin IS NULL", &[]).await);
    ids.extend(app.texts("SELECT id FROM access_keys WHERE credential_origin = 'dashboard_session'", &[]).await);
    assert!(ids.len() >= 10, "{ids:?}");
    for id in &ids {
        shut_out(&dashboard, id).await.refused(404);
    }
    assert!(is_in(&bobs).await && is_in(&bob).await && is_in(&device).await && is_in(&other).await);
    // An expired device is not found.
    let id = own(&device).await;
    app.clock.advance(90 * DAY);
    let again = app.open_session("ada", Dashboard).await;
    shut_out(&again, &id).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_revocations_of_a_device_one_succeeds() {
    let (app, dashboard) = ada().await;
    let device = app.open_session("ada", CliBrowser).await;
    let id = own(&device).await;
    let attempts: Vec<_> = (0..10)
        .map(|_| {
            let (client, id) = (dashboard.clone(), id.clone());
            tokio::spawn(async move { shut_out(&client, &id).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[204].as_slice(), &[404; 9]].concat());
}

/// How other ways of revoking sessions affect devices.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_can_be_revoked_by_name_by_address_and_as_an_access_key() {
    let (app, dashboard): (TestApp, Client) = ada().await;
    let open = async || app.open_session_of("ada", CliBrowser, "203.0.113.7", &laptop()).await;
    let (by_name, by_address) = (open().await, "/v1/sessions/203.0.113.7");
    dashboard.delete("/v1/sessions/Ada's%20laptop").await.assert(204);
    assert!(!is_in(&by_name).await);
    let device = open().await;
    dashboard.delete(by_address).await.assert(204);
    assert!(!is_in(&device).await);
    let device = open().await;
    let id = own(&device).await;
    dashboard.delete(&format!("/v1/access-keys/CLI-{id}")).await.assert(204);
    assert!(!is_in(&device).await);
    // Only dashboard sessions.
    let device = open().await;
    dashboard.delete("/v1/account/sessions").await.assert(200);
    assert!(is_in(&device).await);
}
