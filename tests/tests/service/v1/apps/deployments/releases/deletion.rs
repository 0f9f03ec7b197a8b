//! Bundles that no release needs any more are deleted, two days after their last use.

use control::testing::releases::Sweep;
use serde_json::{Value, json};
use tests::wait::until;
use tests::{Bundle, Client, TestApp};

const HOUR: i64 = 60 * 60 * 1_000;

/// A blob that has been due for deletion for years: when it is gone, the job has looked at all that come before it.
const CANARY: &str = "INSERT INTO blobs (app_id, sha256, size, last_used_time, deleting, account_id) VALUES ('zz', $1, 1, 1, FALSE, '')";

/// Lets time pass while the service is down, and waits until the deletion job has looked at every blob.
async fn pass(app: &mut TestApp, hours: i64) {
    app.change(CANARY, &[&"f".repeat(64)]).await;
    app.stop().await;
    app.clock.advance(hours * HOUR);
    app.start().await;
    until("the job has been at work", async || (app.number("SELECT COUNT(*) FROM blobs WHERE app_id = 'zz'").await == 0).then_some(()))
        .await;
}

/// The rows and the objects.
async fn stored(app: &TestApp) -> (i64, usize) {
    let leftovers = app.leftovers().await;
    let objects = leftovers.files.keys().filter(|path| path.starts_with("blobs/") && !path.ends_with('/')).count();
    (leftovers.rows[1], objects)
}

async fn download(app: &TestApp, client: &Client, deployment: &str) -> Vec<u8> {
    let release = client.get(&format!("/v1/apps/demo/deployments/{deployment}")).await.assert(200)["deployment"]["package"].take();
    let url = release["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    let answer = app.anonymous().get(&url).await;
    answer.assert_status(200);
    answer.body
}

async fn upload(client: &Client, deployment: &str, bundle: &Bundle) -> Value {
    client.upload("demo", deployment, &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_stays_two_days_after_its_last_reference() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let (shared, own) = (Bundle::script("shared"), Bundle::script("own"));
    upload(&ada, "Staging", &own).await;
    upload(&ada, "Staging", &shared).await;
    let promotion = json!({ "destination": "Production", "packageInfo": {} });
    ada.post("/v1/apps/demo/deployments/Staging/promotions", promotion).await.assert(201);
    pass(&mut app, 100).await;
    assert_eq!(stored(&app).await, (4, 4), "two archives and their manifests");

    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    pass(&mut app, 47).await;
    assert_eq!(stored(&app).await, (4, 4), "URLs that were given out are still valid");
    pass(&mut app, 2).await;
    assert_eq!(stored(&app).await, (2, 2), "what Production has stays");
    assert_eq!(download(&app, &ada, "Production").await, shared.0);

    // What is deleted with its app does not count against its owner any more.
    ada.delete("/v1/apps/demo").await.assert(204);
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs WHERE account_id <> ''").await, 2);
    pass(&mut app, 49).await;
    assert_eq!(stored(&app).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_bytes_are_stored_again_after_their_deletion_and_not_during_it() {
    let mut app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let bundle = Bundle::script("again");
    upload(&ada, "Staging", &bundle).await;
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    // As if a process had died between the mark and the deletion of the object.
    let now = app.clock.now().0.to_string();
    let mark = "UPDATE blobs SET deleting = TRUE, last_used_time = CAST($1 AS BIGINT)";
    assert_eq!(app.change(mark, &[&now]).await, 2);
    let refused = ada.upload("demo", "Staging", &bundle.0, json!({ "appVersion": "1.0.0" })).await;
    refused.refused(503);
    assert!(!refused.header("retry-after").is_empty());
    assert_eq!(stored(&app).await, (2, 2), "the refused upload deleted nothing");

    // Two minutes later, the deletion is taken over. Then the bytes are stored again.
    app.stop().await;
    app.clock.advance(3 * 60 * 1_000);
    app.start().await;
    until("the deletion is over", async || (stored(&app).await == (0, 0)).then_some(())).await;
    upload(&ada, "Staging", &bundle).await;
    assert_eq!(download(&app, &ada, "Staging").await, bundle.0);
    assert_eq!(stored(&app).await, (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_delete_each_bundle_once() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for number in 0..20 {
        upload(&ada, "Staging", &Bundle::script(&number.to_string())).await;
    }
    ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
    app.clock.advance(49 * HOUR);
    let (state, mut first, mut second) = (app.state(), Sweep::default(), Sweep::default());
    let (one, two) = tokio::join!(first.step(&state), second.step(&state));
    assert_eq!((one.unwrap(), two.unwrap()), (false, false));
    // The service's own job may have taken some.
    let by_these = first.deleted + second.deleted;
    assert!((1..=40).contains(&by_these), "{by_these} of 40");
    until("nothing is left", async || (stored(&app).await == (0, 0)).then_some(())).await;
}
