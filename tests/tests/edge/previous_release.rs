//! What the previous release has left in KV and R2: this Worker reads its snapshots while it is upgraded, and its dead letters are as before.

use shared::report::Report;
use shared::snapshot::Distrust;
use tests::Client;
use tests::app::EDGE_SECRET;
use tests::edge::{Edge, EdgeOptions};
use tests::signed::keys_of;
use tests::soak::samples::{Samples, stable};

#[tokio::test(flavor = "multi_thread")]
async fn its_snapshots_give_the_same_answers_while_unsigned_ones_are_allowed() {
    let samples = Samples::read();
    // No control plane, so everything is from KV.
    let options = EdgeOptions { stand_in: Some("http://127.0.0.1:9".to_owned()), ..EdgeOptions::default() };
    let options = options.with("SNAPSHOT_UNSIGNED", "allow").with("BASE_URL", samples.answers["base"].as_str().unwrap());
    let edge = Edge::before(&options).await;
    for (key, value) in &samples.values {
        let key_of_value = shared::keys::DeploymentKey::try_from(key.as_str()).unwrap();
        assert_eq!(keys_of(EDGE_SECRET).verify(&key_of_value, value.as_bytes()), Err(Distrust::Unsigned), "{key}: {value}");
        edge.put_kv(key, value).await;
    }
    let device = Client::new(&edge.base, None);
    for (path, before) in samples.answers["checks"].as_object().unwrap() {
        assert_eq!(stable(&device.get(path).await), *before, "{path}");
    }
    assert_eq!(edge.output.events("snapshot.distrusted"), Vec::<serde_json::Value>::new());
}

#[test]
fn its_dead_letters_and_queued_reports_are_read() {
    let samples = Samples::read();
    let text = samples.dead_letter["text"].as_str().unwrap();
    let letter = Report::from_text(text).unwrap();
    let reports = samples.batch["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 2);
    let queued: Vec<Report> = reports.iter().map(|report| Report::from_value(report.clone()).unwrap()).collect();
    assert!(queued.contains(&letter), "{letter:?} is none of {queued:?}");
}
