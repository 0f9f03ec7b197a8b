//! Concurrent uploads.

use std::collections::BTreeSet;

use control::testing::releases;
use serde_json::json;
use shared::hash::Sha256Hex;
use shared::ids::AppId;
use tests::{Answer, Bundle, Client, Options, TestApp};

/// Uploads all of these concurrently.
async fn at_once(client: &Client, uploads: Vec<(&'static str, Vec<u8>)>) -> Vec<Answer> {
    let under_way: Vec<_> = uploads
        .into_iter()
        .map(|(deployment, bytes)| {
            let client = client.clone();
            tokio::spawn(async move { client.upload("demo", deployment, &bytes, json!({ "appVersion": "1.0.0" })).await })
        })
        .collect();
    let mut answers = Vec::new();
    for upload in under_way {
        answers.push(upload.await.unwrap());
    }
    answers
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    statuses.sort_unstable();
    statuses
}

async fn downloads(app: &TestApp, client: &Client, deployment: &str) -> Vec<Vec<u8>> {
    let history = client.get(&format!("/v1/apps/demo/deployments/{deployment}/history")).await.assert(200);
    let mut downloads = Vec::new();
    for release in history["history"].as_array().unwrap() {
        let answer = app.anonymous().get(release["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap()).await;
        answer.assert_status(200);
        downloads.push(answer.body);
    }
    downloads
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_identical_uploads_exactly_one_succeeds() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for round in 1..=5_i64 {
        let bundle = Bundle::script(&format!("round {round}"));
        let answers = at_once(&ada, vec![("Staging", bundle.0.clone()), ("Staging", bundle.0.clone())]).await;
        assert_eq!(statuses(&answers), [201, 409], "round {round}");
        for answer in answers.iter().filter(|answer| answer.status.as_u16() == 409) {
            answer.refused(409);
        }
        let remains = app.leftovers().await;
        // The bundle and its manifest of each round; refused uploads did not delete anything of accepted ones.
        assert_eq!(remains.rows, [round, 2 * round, 2]);
        let objects = remains.files.keys().filter(|path| path.starts_with("blobs/") && !path.ends_with('/')).count();
        assert_eq!(i64::try_from(objects).unwrap(), 2 * round, "{:?}", remains.files);
        assert_eq!(downloads(&app, &ada, "Staging").await.last(), Some(&bundle.0));
    }
    let labels = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    let labels: Vec<_> =
        labels["history"].as_array().unwrap().iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect();
    assert_eq!(labels, ["v1", "v2", "v3", "v4", "v5"], "a refused upload uses no label");
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_concurrent_uploads_succeed_with_consecutive_labels() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let bundles: Vec<Bundle> = (0..20).map(|index| Bundle::script(&format!("bundle {index}"))).collect();
    let answers = at_once(&ada, bundles.iter().map(|bundle| ("Staging", bundle.0.clone())).collect()).await;
    let labels: BTreeSet<String> =
        answers.iter().map(|answer| answer.assert(201)["package"]["label"].as_str().unwrap().to_owned()).collect();
    assert_eq!(labels, (1..=20).map(|number| format!("v{number}")).collect());
    let downloaded: BTreeSet<Vec<u8>> = downloads(&app, &ada, "Staging").await.into_iter().collect();
    assert_eq!(downloaded, bundles.into_iter().map(|bundle| bundle.0).collect());
    // Each URL in the response serves the bytes that were sent.
    let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    let in_order: Vec<_> =
        history["history"].as_array().unwrap().iter().map(|release| release["label"].as_str().unwrap().to_owned()).collect();
    assert_eq!(in_order, (1..=20).map(|number| format!("v{number}")).collect::<Vec<_>>());
    assert_eq!(app.leftovers().await.rows, [20, 40, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_bytes_survive_concurrent_refused_uploads() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for round in 1..=4_i64 {
        let bundle = Bundle::script(&format!("shared {round}")).0;
        let uploads = (0..8).map(|index| (if index % 2 == 0 { "Staging" } else { "Production" }, bundle.clone())).collect();
        let answers = at_once(&ada, uploads).await;
        assert_eq!(statuses(&answers), [201, 201, 409, 409, 409, 409, 409, 409], "round {round}");
        for deployment in ["Staging", "Production"] {
            assert_eq!(downloads(&app, &ada, deployment).await.last(), Some(&bundle), "{deployment}, round {round}");
        }
        assert_eq!(app.leftovers().await.rows, [2 * round, 2 * round, 2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_is_discarded_only_by_its_last_user_and_never_with_a_release() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let id = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    let (id, hash) = (AppId::try_from(id.as_str()).unwrap(), Sha256Hex::of(b"bytes"));
    let touch = async || {
        let mut tx = app.db().write().await.unwrap();
        let used = releases::touch(&mut tx, &id, &hash, 5, releases::Purpose::Package, app.clock.now()).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        used
    };
    let context = app.state().context;
    let discard = async |stamp| releases::delete(&context, &id, &hash, stamp).await.unwrap();
    let hold = async || {
        let mut tx = app.db().write().await.unwrap();
        let held = releases::hold(&mut tx, &id, &hash).await.unwrap();
        tx.commit().await.unwrap();
        held
    };
    // The first use is older than the second, so it must not discard the blob.
    let (first, second) = (touch().await, touch().await);
    assert_eq!((first.is_first, second.is_first), (true, false), "a refused upload discards only what was not there before");
    assert!(!discard(first.stamp).await);
    assert!(discard(second.stamp).await);
    assert!(!hold().await, "an upload that still wanted it is told so");
    // It stores the bytes again; once a release holds them, no refused upload discards them.
    let (first, second) = (touch().await, touch().await);
    assert!(hold().await);
    assert!(!discard(first.stamp).await && !discard(second.stamp).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_upload_does_not_delete_a_releases_bytes() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for round in 0..12 {
        // In Staging one of two wins, and the loser's bytes are also in Production.
        let (first, shared) = (Bundle::script(&format!("first {round}")).0, Bundle::script(&format!("shared {round}")).0);
        let rollout = json!({ "appVersion": format!("1.0.{round}"), "rollout": 50 });
        let plain = json!({ "appVersion": format!("1.0.{round}") });
        ada.post("/v1/apps/demo/deployments", json!({ "name": format!("Staging-{round}") })).await.assert(201);
        let staging = format!("Staging-{round}");
        let (one, two, three) = tokio::join!(
            ada.upload("demo", &staging, &first, rollout.clone()),
            ada.upload("demo", &staging, &shared, rollout),
            ada.upload("demo", "Production", &shared, plain),
        );
        three.assert(201);
        assert_eq!(statuses(&[one, two]), [201, 409]);
        assert_eq!(downloads(&app, &ada, "Production").await.last(), Some(&shared), "round {round}");
        assert_eq!(downloads(&app, &ada, &staging).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_of_concurrent_rollout_uploads_succeeds() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "20")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let under_way: Vec<_> = (0..6)
        .map(|index| {
            let ada = ada.clone();
            let bundle = Bundle::script(&format!("rollout {index}"));
            tokio::spawn(async move { ada.upload("demo", "Staging", &bundle.0, json!({ "appVersion": "1.0.0", "rollout": 10 })).await })
        })
        .collect();
    let mut answers = Vec::new();
    for upload in under_way {
        answers.push(upload.await.unwrap());
    }
    assert_eq!(statuses(&answers), [201, 409, 409, 409, 409, 409]);
    let remains = app.leftovers().await;
    assert_eq!(remains.rows, [1, 2, 2]);
    assert_eq!(remains.files.keys().filter(|path| path.starts_with("blobs/") && !path.ends_with('/')).count(), 2, "{:?}", remains.files);
}
