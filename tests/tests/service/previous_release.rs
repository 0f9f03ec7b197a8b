//! What the previous release has left in the database: this release migrates it, answers as before, and goes on from there.

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::app::Options;
use tests::people::PASSWORD;
use tests::reports::{BATCHES, batch};
use tests::soak::samples::{Samples, stable};
use tests::soak::upgrade::OWNER;
use tests::{Bundle, Client, TestApp};

/// A control plane on the database of the previous release, at the time when that was kept.
async fn upgraded(samples: &Samples) -> (TestApp, Client, TempDir) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("updraft.db");
    samples.restore(&file).await;
    let options = Options { start: Some(samples.time()), ..Options::default() };
    let options = options.with("DATABASE_URL", format!("sqlite://{}", file.display()));
    let app = TestApp::spawn_with(options.with("BASE_URL", samples.answers["base"].as_str().unwrap())).await;
    let session = app.anonymous().post("/v1/auth/login", json!({ "email": OWNER, "password": PASSWORD })).await.assert(200);
    let owner = app.anonymous().with_token(Some(session["accessKey"].as_str().unwrap().to_owned()));
    (app, owner, folder)
}

/// Whether an answer still has everything that the previous release's had. It may have more.
fn has_all(now: &Value, before: &Value) -> bool {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            before.iter().all(|(name, before)| now.get(name).is_some_and(|now| has_all(now, before)))
        }
        (Value::Array(now), Value::Array(before)) => {
            now.len() == before.len() && now.iter().zip(before).all(|(now, before)| has_all(now, before))
        }
        (now, before) => now == before,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_database_gives_the_same_answers_to_devices_and_the_owner() {
    let samples = Samples::read();
    let (app, owner, _folder) = upgraded(&samples).await;
    let compare = async |client: &Client, kind: &str| {
        let answers = samples.answers[kind].as_object().unwrap();
        for (path, before) in answers {
            let now = stable(&client.get(path).await);
            assert!(has_all(&now, before), "{path}: {now} instead of {before}");
        }
        answers.len()
    };
    assert!(compare(&app.anonymous(), "checks").await >= 8);
    assert!(compare(&owner, "pages").await >= 6);
    let key = app.anonymous().with_token(Some(samples.answers["apiKey"].as_str().unwrap().to_owned()));
    assert_eq!(stable(&key.get("/v1/apps").await), stable(&owner.get("/v1/apps").await), "its API key is accepted");
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn its_history_goes_on_and_reports_that_its_worker_has_queued_are_counted() {
    let samples = Samples::read();
    let (app, owner, _folder) = upgraded(&samples).await;
    let releases = async || {
        let history = owner.get("/v1/apps/app/deployments/Production/history").await.assert(200);
        history["history"].as_array().unwrap().clone()
    };
    let before = releases().await.len();
    owner.upload("app", "Production", &Bundle::script("after the upgrade").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let label = format!("v{}", before + 1);
    assert_eq!(releases().await.last().unwrap()["label"], label);
    let key = owner.deployment_key("app", "Production").await;
    let check = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0&client_unique_id=fifth");
    assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["label"], label);

    let counts = owner.counts("app", "Production").await;
    let reports = samples.batch["reports"].as_array().unwrap();
    // They were received after the other samples were kept.
    app.clock.advance(60_000);
    let anonymous = app.anonymous();
    let answer = anonymous.send(batch(&anonymous, app.clock.now(), reports)).await.assert(200);
    assert_eq!(answer, json!({ "accepted": 2, "dropped": [] }), "{BATCHES}");
    let counted = owner.counts("app", "Production").await;
    for label in ["v1", "v2"] {
        let installed = |counts: &tests::reports::Counts| counts.get(label).map_or(0, |counts| counts[2]);
        assert_eq!(installed(&counted), installed(&counts) + 1, "{label}");
    }
    app.verify_audit().await.unwrap();
}
