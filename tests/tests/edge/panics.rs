//! A panic fails one request and does not affect concurrent ones. The Worker here is a build that panics on demand.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use serde_json::json;
use tests::Client;
use tests::app::EDGE_SECRET;
use tests::edge::{Edge, EdgeApp, EdgeOptions};
use tests::signed;
use tests::wait::until;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use xtask::paths;

const CHECK: &str = "/v1/public/svc/update_check";
const DEPLOY: &str = "/v1/public/svc/report_status/deploy";

fn planted() -> EdgeOptions {
    EdgeOptions { worker: Some(paths::target().join(paths::PLANTED)), ..EdgeOptions::default() }
}

/// A control plane that blocks all requests until released, and then knows every deployment and accepts everything.
#[derive(Clone)]
struct Busy {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
    is_let_go: watch::Sender<bool>,
    /// The JSON of a snapshot, signed for each key that is asked for.
    snapshot: String,
}

impl Busy {
    async fn start(snapshot: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let busy = Self { base, asked: Arc::default(), is_let_go: watch::Sender::new(false), snapshot };
        let router = Router::new().fallback(answer).with_state(busy.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        busy
    }
}

async fn answer(State(busy): State<Busy>, method: Method, uri: Uri) -> (StatusCode, String) {
    busy.asked.lock().await.push(format!("{method} {}", uri.path()));
    busy.is_let_go.subscribe().wait_for(|is_let_go| *is_let_go).await.unwrap();
    match uri.path() {
        "/internal/v1/reports" => (StatusCode::OK, json!({ "rejected": [] }).to_string()),
        path if path.starts_with("/internal/") => {
            let key = path.rsplit('/').next().unwrap();
            (StatusCode::OK, signed::sign(EDGE_SECRET, key, &busy.snapshot))
        }
        path => (StatusCode::OK, format!("{method} {path}")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_cached_check_affects_only_that_request() {
    let app = EdgeApp::spawn_with(planted()).await;
    let owner = app.control.sign_up("ada").await;
    let (key, _) = owner.create_app("app").await;
    app.until_pushed(&key).await;
    let client = app.anonymous();
    let check = format!("{CHECK}?deployment_key={key}&app_version=1.0.0");
    let expected = client.get(&check).await.assert(200);
    for place in ["check", "begin", "end"] {
        // The first two load the snapshot into the cache of a new instance.
        assert_eq!(client.get(&check).await.assert(200), expected);
        assert_eq!(client.get(&check).await.assert(200), expected);
        // Only unknown keys reach the code after the fast path.
        let key = if place == "check" { key.as_str() } else { "nobody-knows-this-key" };
        let answer = client.get(&format!("{CHECK}?deployment_key={key}&app_version=1.0.0&planted={place}")).await;
        answer.assert_status(500);
        let id = answer.header("x-request-id");
        assert_eq!(answer.json(), json!({ "error": "internal error", "requestId": id }), "{place}");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(client.get(&check).await.assert(200), expected);
        let failed = app.edge.output.until("request.failed", |events| events.iter().any(|event| event["request"] == *id)).await;
        assert!(!failed.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_does_not_affect_concurrent_requests() {
    const EACH: usize = 10;
    let snapshot = {
        let app = EdgeApp::spawn_with(EdgeOptions::default()).await;
        let owner = app.control.sign_up("ada").await;
        let (key, _) = owner.create_app("app").await;
        app.until_pushed(&key).await;
        app.edge.kv_value(&key).await.unwrap().to_string()
    };
    let busy = Busy::start(snapshot).await;
    let edge = Edge::before(&EdgeOptions { stand_in: Some(busy.base.clone()), ..planted() }).await;
    for place in ["begin", "end"] {
        busy.is_let_go.send_replace(false);
        busy.asked.lock().await.clear();
        let mut under_way = JoinSet::new();
        // The edge's own calls to the control plane time out after five seconds, so they start last.
        for is_looked_up in [false, true] {
            for number in 0..EACH {
                let requests = [
                    (Method::GET, format!("/v1/apps/{number}"), None),
                    (Method::POST, format!("/v1/apps/{number}"), Some(json!({ "name": "app" }))),
                    (Method::GET, format!("{CHECK}?deployment_key=checked-key-{place}-{number}&app_version=1.0.0"), None),
                    (
                        Method::POST,
                        DEPLOY.to_owned(),
                        Some(json!({ "deployment_key": format!("told-key-{place}-{number}"), "app_version": "1.0.0" })),
                    ),
                ];
                // Lookups are limited to twenty a second: otherwise half of them would be refused when retried after the panic.
                let requests = requests.into_iter().filter(|(_, path, _)| path.starts_with("/v1/apps") != is_looked_up);
                let requests = requests.filter(|_| number < EACH / 2 || !is_looked_up);
                for (method, path, body) in requests {
                    let client = Client::new(&edge.base, None);
                    under_way.spawn(async move {
                        let request = client.request(method.clone(), &path);
                        let answer = client.send(match &body {
                            Some(body) => request.json(body),
                            None => request,
                        });
                        (format!("{method} {path}"), answer.await)
                    });
                }
            }
            let count = under_way.len();
            until("all requests at the control plane", async || (busy.asked.lock().await.len() >= count).then_some(())).await;
        }

        // An unsupported method is refused without the control plane.
        let client = Client::new(&edge.base, None);
        let refuse = async |query: &str| client.send(client.request(Method::DELETE, &format!("{CHECK}{query}"))).await;
        refuse(&format!("?planted={place}")).await.assert_status(500);
        refuse("").await.assert_status(405);

        busy.is_let_go.send_replace(true);
        while let Some(done) = under_way.join_next().await {
            let (asked, answer) = done.unwrap();
            assert_eq!(answer.status, 200, "{asked}: {}", answer.text());
        }
        // Requests that had reached the control plane were not sent again.
        let asked = busy.asked.lock().await;
        for number in 0..EACH {
            for method in ["GET", "POST"] {
                let line = format!("{method} /v1/apps/{number}");
                assert_eq!(asked.iter().filter(|asked| **asked == line).count(), 1, "{line}");
            }
        }
    }
}
