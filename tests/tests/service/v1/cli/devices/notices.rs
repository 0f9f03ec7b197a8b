//! Emails about authorized and revoked devices.

use serde_json::json;
use tests::SessionOrigin::Dashboard;
use tests::{Client, ReceivedMail, TestApp};

use crate::v1::auth::cli::participants::{CLI_FLOWS, Ceremony, CliFlow, ada_with, authorized_devices, deny, is_in, many, refused};

const EMAIL: &str = "ada@example.com";

/// The only mail since the first `so_far`.
async fn next(app: &TestApp, so_far: &mut usize) -> ReceivedMail {
    let mut mails = app.mails_to(EMAIL).await;
    *so_far += 1;
    assert_eq!(mails.len(), *so_far, "{:?}", mails.iter().map(|mail| &mail.subject).collect::<Vec<_>>());
    mails.pop().unwrap()
}

#[track_caller]
fn says(mail: &ReceivedMail, subject: &str, texts: &[&str]) {
    assert_eq!(mail.subject, subject);
    for text in texts {
        assert!(mail.text.contains(text), "{text}: {}", mail.text);
    }
    assert!(!mail.source.contains("svc_ss_") && !mail.source.contains("#token="));
}

async fn log_in(app: &TestApp, dashboard: &Client, flow: CliFlow) -> Client {
    let told = json!({ "deviceName": "Ada's laptop", "clientName": "updraft", "clientPlatform": "linux x64" });
    let cli = app.anonymous().from("203.0.113.7");
    Ceremony::begin_with(flow, &cli, &told).await.log_in(dashboard).await
}

async fn id(client: &Client) -> String {
    let current = authorized_devices(client).await.into_iter().find(|device| device["isCurrent"] == true);
    current.unwrap()["credentialId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_notified_of_each_authorized_and_revoked_device() {
    let (app, dashboard) = ada_with(many()).await;
    let dashboard = dashboard.from("198.51.100.9");
    let mut mails = 0;
    for flow in CLI_FLOWS {
        let device = log_in(&app, &dashboard, flow).await;
        says(&next(&app, &mut mails).await, "A device was authorized", &["Ada's laptop", "203.0.113.7"]);
        device.delete("/v1/cli/devices/current").await.assert(204);
        says(&next(&app, &mut mails).await, "A device was revoked", &["Ada's laptop", "203.0.113.7"]);

        for path in ["/v1/cli/devices/{id}", "/v1/access-keys/CLI-{id}", "/v1/sessions/203.0.113.7"] {
            let device = log_in(&app, &dashboard, flow).await;
            next(&app, &mut mails).await;
            dashboard.delete(&path.replace("{id}", &id(&device).await)).await.assert(204);
            assert!(!is_in(&device).await);
            says(&next(&app, &mut mails).await, "A device was revoked", &["Ada's laptop", "198.51.100.9"]);
        }
        let device = log_in(&app, &dashboard, flow).await;
        next(&app, &mut mails).await;
        device.delete("/v1/account/sessions/current").await.assert(204);
        says(&next(&app, &mut mails).await, "A device was revoked", &["Ada's laptop"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_notified_when_a_code_is_reused() {
    let (app, dashboard) = ada_with(many()).await;
    let mut mails = 0;
    let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &json!({ "deviceName": "Ada's laptop" })).await;
    ceremony.log_in(&dashboard).await;
    next(&app, &mut mails).await;
    refused(&ceremony.exchange().await, "invalid_grant");
    says(&next(&app, &mut mails).await, "A device was revoked", &["Ada's laptop"]);
    // Without anything to revoke, no notice is sent.
    refused(&ceremony.exchange().await, "invalid_grant");
    assert_eq!(app.mails_to(EMAIL).await.len(), mails);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_authorization_and_revocation_send_notices() {
    let (app, dashboard) = ada_with(many()).await;
    for flow in CLI_FLOWS {
        let mut approved = Ceremony::begin(flow, &app.anonymous()).await;
        approved.approve(&dashboard).await;
        let denied = Ceremony::begin(flow, &app.anonymous()).await;
        deny(&dashboard, denied.id()).await.assert(200);
    }
    let session = app.open_session("ada", Dashboard).await;
    session.delete("/v1/account/sessions/current").await.assert(204);
    let session = app.open_session_of("ada", Dashboard, "192.0.2.7", &tests::Device::default()).await;
    dashboard.delete("/v1/sessions/192.0.2.7").await.assert(204);
    assert!(!is_in(&session).await);
    assert!(app.mails_to(EMAIL).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_a_name_also_sends_a_notice() {
    let (app, dashboard) = ada_with(many()).await;
    let mut mails = 0;
    let device = Ceremony::begin(CliFlow::Device, &app.anonymous().from("203.0.113.7")).await.log_in(&dashboard).await;
    says(&next(&app, &mut mails).await, "A device was authorized", &["203.0.113.7"]);
    device.delete("/v1/cli/devices/current").await.assert(204);
    next(&app, &mut mails).await;
    // A device name is escaped.
    let told = json!({ "deviceName": "<a href=\"https://evil.example\">laptop</a>" });
    Ceremony::begin_with(CliFlow::Device, &app.anonymous(), &told).await.log_in(&dashboard).await;
    let mail = next(&app, &mut mails).await;
    assert!(!mail.html.contains("<a href=\"https://evil") && mail.html.contains("evil.example"), "{}", mail.html);
}
