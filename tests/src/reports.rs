//! Reports as delivered by the edge's consumer, and the resulting counters.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use shared::signature::{Secrets, sign_call};
use shared::time::UnixMillis;

use crate::app::EDGE_SECRET;
use crate::{Client, TestApp};

/// The path of batches.
pub const BATCHES: &str = "/internal/v1/reports";

/// Active, downloaded, installed and failed by label or binary version.
pub type Counts = BTreeMap<String, [i64; 4]>;

/// A report as stamped by the edge. `place` is the label, or the version of a `binary`.
pub fn report(id: &str, received: i64, key: &str, client: Option<&str>, event: &str, place: &str) -> Value {
    let mut report = json!({ "id": id, "received": received, "deploymentKey": key, "event": event });
    if let Some(client) = client {
        report["clientId"] = json!(client);
    }
    report[if event == "binary" { "appVersion" } else { "label" }] = json!(place);
    report
}

/// The signed request that delivers these reports.
pub fn batch(client: &Client, now: UnixMillis, reports: &[Value]) -> RequestBuilder {
    let body = json!({ "reports": reports }).to_string();
    let signature = sign_call(&Secrets::parse(EDGE_SECRET).unwrap(), "POST", BATCHES, now, body.as_bytes());
    client.request(Method::POST, BATCHES).header("content-type", "application/json").header("x-updraft-signature", signature).body(body)
}

impl TestApp {
    /// Delivers these reports in batches of a hundred, in this order; each must be accepted.
    pub async fn deliver(&self, reports: &[Value]) {
        for chunk in reports.chunks(100) {
            let client = self.anonymous();
            let answer = client.send(batch(&client, self.clock.now(), chunk)).await;
            assert_eq!(answer.assert(200), json!({ "accepted": chunk.len(), "dropped": [] }));
        }
    }
}

impl Client {
    /// The complete counters of a deployment.
    pub async fn counts(&self, app: &str, deployment: &str) -> Counts {
        read(&self.metrics(app, deployment).await)
    }
}

/// The counters in a response's `metrics`.
pub fn read(metrics: &Value) -> Counts {
    let numbers = |counts: &Value| {
        assert_eq!(counts.as_object().unwrap().len(), 4, "{counts}");
        ["active", "downloaded", "installed", "failed"].map(|name| counts[name].as_i64().unwrap())
    };
    metrics.as_object().unwrap().iter().map(|(place, counts)| (place.clone(), numbers(counts))).collect()
}

/// The same as literals in a test.
pub fn counts<const N: usize>(counts: [(&str, [i64; 4]); N]) -> Counts {
    counts.into_iter().map(|(place, counts)| (place.to_owned(), counts)).collect()
}
