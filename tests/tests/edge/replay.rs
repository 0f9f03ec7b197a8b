//! Reports that exhausted their retries are counted by `updraft-control reports replay` from the Worker's bucket of dead letters.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::report::Report;
use tests::Bundle;
use tests::edge::{BUCKET_KEY, EdgeApp, EdgeOptions, until_counted};
use tests::program::{self, Ended};
use xtask::edge::Consumer;

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const DOWNLOAD: &str = "/v1/public/svc/report_status/download";

/// More than one page of a listing, and more than one batch.
const CLIENTS: usize = 120;

fn settings(app: &EdgeApp, key: (&str, &str)) -> BTreeMap<String, String> {
    let mut settings = app.control.settings();
    settings.insert("AWS_ACCESS_KEY_ID".to_owned(), key.0.to_owned());
    settings.insert("AWS_SECRET_ACCESS_KEY".to_owned(), key.1.to_owned());
    settings
}

async fn replay(app: &EdgeApp, more: &[&str]) -> Ended {
    let bucket = app.edge.bucket();
    let mut arguments = vec!["reports", "replay", "--from", &bucket];
    arguments.extend(more);
    program::run(&settings(app, BUCKET_KEY), &arguments).await
}

fn counts(active: usize, anonymous: usize) -> Value {
    json!({ "v1": { "active": active, "downloaded": anonymous, "installed": active, "failed": 0 } })
}

#[tokio::test(flavor = "multi_thread")]
async fn replayed_dead_letters_count_once_and_invalid_ones_are_kept() {
    let reports = Consumer { max_retries: Some(1), ..Consumer::default() };
    let options = EdgeOptions { reports, ..EdgeOptions::default() };
    let mut app = EdgeApp::spawn_with(options.with("REPORT_RETRY_BASE_SECONDS", "1")).await;
    let owner = app.control.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    owner.upload("app", "Production", &Bundle::script("first").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    app.until_offered(&key, "v1").await;

    app.control.stop().await;
    for number in 0..CLIENTS {
        let client = format!("client-{number}");
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "client_unique_id": client });
        app.anonymous().post(DEPLOY, body).await.assert(200);
    }
    app.anonymous().post(DOWNLOAD, json!({ "deployment_key": key, "label": "v1" })).await.assert(200);
    app.edge.output.until("reports.parked", |events| events.len() > CLIENTS).await;
    let parked = app.edge.dead_letters().await;
    assert_eq!(parked.len(), CLIENTS + 1);
    // Invalid dead letters, and unrelated objects.
    let one = Report::from_text(&app.edge.dead_letter(&parked[0]).await).unwrap();
    let other_service = Report {
        report: shared::report::NewReport { deployment_key: "nobody-has-this-key".try_into().unwrap(), ..one.report.clone() },
        ..one.clone()
    };
    let left = ["dead-letters/2026-01-01/bad.json", "dead-letters/2026-01-01/elsewhere.json", "dead-letters/zz/large.json"];
    app.edge.put_dead_letter(left[0], b"{\"clientId\": \"words of a client\"").await;
    app.edge.put_dead_letter(left[1], other_service.to_text().as_bytes()).await;
    app.edge.put_dead_letter(left[2], &vec![b' '; 200_000]).await;
    app.edge.put_dead_letter("other/letter.json", one.to_text().as_bytes()).await;
    let everything = app.edge.dead_letters().await;

    app.control.start().await;
    // Without the key, access is refused without revealing anything.
    let refused =
        program::run(&settings(&app, (BUCKET_KEY.0, "another-secret-0123456789")), &["reports", "replay", "--from", &app.edge.bucket()])
            .await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.err.contains("the bucket cannot be listed") && !refused.err.contains("another-secret"), "{refused:?}");
    assert_eq!(owner.metrics("app", "Production").await, json!({}));

    // Kept, so that they are replayed twice.
    for _ in 0..2 {
        let kept = replay(&app, &["--keep"]).await;
        assert_eq!((kept.code, kept.out.as_str()), (Some(1), "dead letters counted: 121, remaining: 3\n"), "{kept:?}");
        assert_eq!(owner.metrics("app", "Production").await, counts(CLIENTS, 1));
        assert_eq!(app.edge.dead_letters().await, everything);
    }
    let last = replay(&app, &[]).await;
    assert_eq!((last.code, last.out.as_str()), (Some(1), "dead letters counted: 121, remaining: 3\n"), "{last:?}");
    for name in left {
        assert_eq!(last.err.lines().filter(|line| line.contains(name)).count(), 1, "{last:?}");
    }
    assert!(!last.err.contains("words of a client") && !last.err.contains("client-"), "{last:?}");
    let mut expected = left.map(str::to_owned).to_vec();
    expected.push("other/letter.json".to_owned());
    assert_eq!(app.edge.dead_letters().await, expected);
    let again = replay(&app, &[]).await;
    assert_eq!(again.out, "dead letters counted: 0, remaining: 3\n", "{again:?}");

    // Live reports are processed as usual.
    let late = json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "client_unique_id": "late" });
    app.anonymous().post(DEPLOY, late).await.assert(200);
    until_counted(&owner, "app", "Production", &counts(CLIENTS + 1, 1)).await;
}
