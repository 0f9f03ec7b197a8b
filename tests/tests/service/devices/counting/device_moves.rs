//! A device moves through two deployments, step by step, with the expected counters: on every path, in both dialects, for every SDK version, and in
//! any order.

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Map, Value, json};
use shared::wire::path::{self, Case, Job};
use tests::random::Random;
use tests::reports::Counts;
use tokio::task::JoinSet;

use crate::devices::counting::{World, stamped};

/// One step: what the device reports, and the resulting metrics per device.
///
/// The numbers are active, downloaded, installed, failed.
struct Step {
    job: Job,
    /// Whether the report is for Production instead of Staging.
    is_production: bool,
    /// The label, and the status.
    of: Option<(&'static str, &'static str)>,
    /// The previous deployment and label reported by the SDK; they must change nothing.
    previous: Option<(&'static str, bool)>,
    app_version: &'static str,
    staging: &'static [(&'static str, [i64; 4])],
    production: &'static [(&'static str, [i64; 4])],
}

const OK: &str = "DeploymentSucceeded";
const FAILED: &str = "DeploymentFailed";

/// A binary, a download, a success (twice), another success, a failure, a move to the other deployment, and a new binary back on the first.
const STEPS: [Step; 8] = [
    // A binary report makes the device run 1.0.0. It is not a label, so nothing is installed.
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: None,
        previous: None,
        app_version: "1.0.0",
        staging: &[("1.0.0", [1, 0, 0, 0])],
        production: &[],
    },
    // A download does not move the device.
    Step {
        job: Job::DownloadReport,
        is_production: false,
        of: Some(("v1", "")),
        previous: None,
        app_version: "1.0.0",
        staging: &[("1.0.0", [1, 0, 0, 0]), ("v1", [0, 1, 0, 0])],
        production: &[],
    },
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: Some(("v1", OK)),
        previous: Some(("1.0.0", false)),
        app_version: "1.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("v1", [1, 1, 1, 0])],
        production: &[],
    },
    // A retry, as after a lost response: the device runs it already.
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: Some(("v1", OK)),
        previous: Some(("1.0.0", false)),
        app_version: "1.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("v1", [1, 1, 1, 0])],
        production: &[],
    },
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: Some(("v2", OK)),
        previous: Some(("v1", false)),
        app_version: "1.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [1, 0, 1, 0])],
        production: &[],
    },
    // The device does not move.
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: Some(("v3", FAILED)),
        previous: None,
        app_version: "1.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [1, 0, 1, 0]), ("v3", [0, 0, 0, 1])],
        production: &[],
    },
    // The device leaves Staging.
    Step {
        job: Job::DeployReport,
        is_production: true,
        of: Some(("v7", OK)),
        previous: Some(("v2", false)),
        app_version: "1.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [0, 0, 1, 0]), ("v3", [0, 0, 0, 1])],
        production: &[("v7", [1, 0, 1, 0])],
    },
    // The device leaves Production.
    Step {
        job: Job::DeployReport,
        is_production: false,
        of: None,
        previous: Some(("v7", true)),
        app_version: "2.0.0",
        staging: &[("1.0.0", [0, 0, 0, 0]), ("2.0.0", [1, 0, 0, 0]), ("v1", [0, 1, 1, 0]), ("v2", [0, 0, 1, 0]), ("v3", [0, 0, 0, 1])],
        production: &[("v7", [0, 0, 1, 0])],
    },
];

impl Step {
    fn key<'k>(&self, (production, staging): &'k (String, String)) -> &'k str {
        if self.is_production { production } else { staging }
    }

    fn body(&self, keys: &(String, String), client: &str, case: Case) -> Value {
        let mut body = json!({ "deployment_key": self.key(keys), "client_unique_id": client });
        if self.job == Job::DeployReport {
            body["app_version"] = json!(self.app_version);
        }
        if let Some((label, status)) = self.of {
            body["label"] = json!(label);
            if self.job == Job::DeployReport {
                body["status"] = json!(status);
            }
        }
        if let Some((place, was_production)) = self.previous {
            body["previous_label_or_app_version"] = json!(place);
            body["previous_deployment_key"] = json!(if was_production { &keys.0 } else { &keys.1 });
        }
        match case {
            Case::Snake => body,
            Case::Camel => body.as_object().unwrap().iter().map(|(name, value)| (camel(name), value.clone())).collect::<Map<_, _>>().into(),
        }
    }

    /// The same as stamped by the edge, `number` milliseconds after the start.
    fn stamped(&self, number: u32, received: i64, keys: &(String, String), client: &str) -> Value {
        let (event, place) = match (self.job, self.of) {
            (Job::DownloadReport, Some((label, _))) => ("downloaded", label),
            (_, Some((label, FAILED))) => ("failed", label),
            (_, Some((label, _))) => ("installed", label),
            (_, None) => ("binary", self.app_version),
        };
        stamped(number, received, self.key(keys), Some(client), event, place)
    }
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// The table's numbers multiplied by this many devices.
fn times(table: &[(&str, [i64; 4])], clients: usize) -> Counts {
    let clients = i64::try_from(clients).unwrap();
    table.iter().map(|(place, counts)| ((*place).to_owned(), counts.map(|count| count * clients))).collect()
}

/// SDK version headers: one, several, or none.
fn headers() -> Vec<Vec<HeaderValue>> {
    let text = |value: &str| HeaderValue::from_str(value).unwrap();
    let long = "4".repeat(4_000);
    let mut headers: Vec<_> =
        ["4.2.3", "^4.2.2", "~3.0.1", ">=1.5.2-beta", "1.5.1", "^2.0.7", "", "latest", "4.2.3; DROP TABLE", "-1", &long]
            .into_iter()
            .map(|value| vec![text(value)])
            .collect();
    headers.push(vec![HeaderValue::from_bytes(b"\xff\xfe4.2.3").unwrap()]);
    headers.push(vec![text("4.2.3"), text("^1.0.0")]);
    headers.push(Vec::new());
    headers
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_the_same_on_every_path_and_for_every_sdk_version() {
    let world = World::new().await;
    let keys = world.app_with("demo", 7).await;
    let paths: Vec<String> =
        path::all().into_iter().filter(|(_, endpoint)| endpoint.job == Job::DeployReport).map(|(path, _)| path).collect();
    // A device for every path, dialect and header. All take each step at the same time.
    let mut clients = Vec::new();
    for path in &paths {
        for case in [Case::Snake, Case::Camel] {
            clients.extend(headers().into_iter().map(|headers| (path.clone(), case, headers)));
        }
    }
    assert_eq!(clients.len(), 12 * 2 * 14);
    for (number, step) in STEPS.iter().enumerate() {
        let mut sending = JoinSet::new();
        for (client, (deploy, case, headers)) in clients.iter().enumerate() {
            let path = if step.job == Job::DownloadReport { deploy.replace("/deploy", "/download") } else { deploy.clone() };
            let anonymous = world.app.anonymous();
            let request = anonymous.request(Method::POST, &path).json(&step.body(&keys, &format!("client {client}"), *case));
            let request = headers.iter().fold(request, |request, value| request.header("x-codepush-sdk-version", value));
            sending.spawn(async move { anonymous.send(request).await });
            // Each opens a connection, so the concurrency is limited.
            while sending.len() >= 16 {
                assert_eq!(sending.join_next().await.unwrap().unwrap().assert(200), json!({ "status": "ok" }), "{path}");
            }
        }
        for answer in sending.join_all().await {
            answer.assert(200);
        }
        world.app.clock.advance(1);
        assert_eq!(world.ada.counts("demo", "Staging").await, times(step.staging, clients.len()), "Staging after step {number}");
        assert_eq!(world.ada.counts("demo", "Production").await, times(step.production, clients.len()), "Production after step {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_the_steps_does_not_change_the_counts() {
    const CLIENTS: u32 = 250;
    let world = World::new().await;
    let keys = world.app_with("demo", 7).await;
    let mut random = Random::new(9);
    let steps = u32::try_from(STEPS.len()).unwrap();
    let mut reports = Vec::new();
    for client in 0..CLIENTS {
        for (number, step) in (0_u32..).zip(&STEPS) {
            let report = step.stamped(client * steps + number, i64::from(1_000 + number), &keys, &format!("client {client}"));
            // One in five is repeated.
            reports.extend(std::iter::repeat_n(report, if random.chance(20) { 2 } else { 1 }));
        }
    }
    // All reports of all devices are shuffled together.
    random.shuffle(&mut reports);
    world.app.deliver(&reports).await;
    let last = STEPS.last().unwrap();
    let clients = usize::try_from(CLIENTS).unwrap();
    assert_eq!(world.ada.counts("demo", "Staging").await, times(last.staging, clients));
    assert_eq!(world.ada.counts("demo", "Production").await, times(last.production, clients));
    // Everything is delivered again, in another order.
    random.shuffle(&mut reports);
    world.app.deliver(&reports).await;
    assert_eq!(world.ada.counts("demo", "Staging").await, times(last.staging, clients));
    assert_eq!(world.ada.counts("demo", "Production").await, times(last.production, clients));
}
