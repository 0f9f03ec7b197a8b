//! Uploads during which deployments are renamed or recreated.

use std::convert::Infallible;

use futures_util::stream;
use reqwest::{Body, Method};
use serde_json::json;
use tests::multipart::Multipart;
use tests::wait::until;
use tests::{Answer, Client, TestApp};
use tokio::sync::mpsc;

use crate::v1::apps::deployments::{below, history, prepared, stored};

/// Sends half of an upload to Staging, runs `meanwhile` once that is on disk, and sends the rest.
async fn upload_while(app: &TestApp, client: &Client, meanwhile: impl AsyncFnOnce()) -> Answer {
    let (sender, receiver) = mpsc::unbounded_channel::<Vec<u8>>();
    let chunks = stream::unfold(receiver, async |mut receiver| {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, Infallible>(chunk), receiver))
    });
    let request = client.request(Method::POST, &below("Staging", "releases")).header("content-type", Multipart::content_type());
    let request = request.body(Body::wrap_stream(chunks));
    let before = app.leftovers().await.files;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.send(request).await }
    });
    let body = Multipart::default().text("packageInfo", r#"{"appVersion":"1.0.0"}"#).file("package", &vec![7; 1 << 20]).end();
    let (first, rest) = body.split_at(body.len() / 2);
    sender.send(first.to_vec()).unwrap();
    until("half of the upload is on disk", async || {
        app.leftovers().await.files.iter().any(|(path, size)| *size > 0 && !before.contains_key(path)).then_some(())
    })
    .await;
    meanwhile().await;
    sender.send(rest.to_vec()).unwrap();
    drop(sender);
    asking.await.unwrap()
}

async fn rename(client: &Client, from: &str, to: &str) {
    client.patch(&format!("/v1/apps/demo/deployments/{from}"), json!({ "name": to })).await.assert(200);
}

/// The upload left no release, label, file or row.
async fn leaves_nothing(app: &TestApp, client: &Client, answer: &Answer) {
    let text = answer.refused(404);
    assert!(text.starts_with("deployment "), "{text}");
    for deployment in ["Staging", "Production"] {
        assert!(history(client, deployment).await.is_empty(), "{deployment}");
    }
    assert_eq!(stored(app).await, ([0, 0], Vec::new()));
    assert_eq!(app.number("SELECT COUNT(*) FROM deployments WHERE last_label > 0").await, 0);
    assert_eq!(app.number("SELECT COUNT(*) FROM audit_events WHERE action = 'release.upload'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_deployment_names_during_an_upload_does_not_misdirect_it() {
    let (app, ada) = prepared().await;
    let answer = upload_while(&app, &ada, async || {
        rename(&ada, "Staging", "Elsewhere").await;
        rename(&ada, "Production", "Staging").await;
        rename(&ada, "Elsewhere", "Production").await;
    })
    .await;
    leaves_nothing(&app, &ada, &answer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_recreated_during_an_upload_does_not_get_it() {
    let (app, ada) = prepared().await;
    let answer = upload_while(&app, &ada, async || {
        ada.delete("/v1/apps/demo/deployments/Staging").await.assert_status(204);
        ada.post("/v1/apps/demo/deployments", json!({ "name": "Staging" })).await.assert(201);
    })
    .await;
    leaves_nothing(&app, &ada, &answer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_renamed_back_during_an_upload_gets_it() {
    let (app, ada) = prepared().await;
    let answer = upload_while(&app, &ada, async || {
        rename(&ada, "Staging", "Elsewhere").await;
        rename(&ada, "Elsewhere", "Staging").await;
    })
    .await;
    assert_eq!(answer.assert(201)["package"]["label"], "v1");
    assert_eq!(history(&ada, "Staging").await.len(), 1);
}
