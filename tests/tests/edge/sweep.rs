//! Properties that all responses have in common: every route of edge and control plane, on success and on every kind of error.
//!
//! New routes must be added to the table of [`Sweep::management`]; acquisition paths come from the table that both servers use.

use std::collections::BTreeSet;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use shared::signature::{Secrets, sign_call};
use shared::wire::path::{self, Job};
use tests::app::EDGE_SECRET;
use tests::edge::{EdgeApp, EdgeOptions};
use tests::{Answer, Bundle, Client, Options, TestApp, TestClock};
use uuid::Uuid;

/// The request ID that a client claims.
const CLAIMED: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
/// Methods to try on every path.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const HTTPS: &str = "https://updates.example.com";

/// The additional headers required for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedHeaders {
    Plain,
    Cors,
    Bundle,
}

/// One pass over all routes of one address.
struct Sweep {
    owner: Client,
    is_https: bool,
    is_edge: bool,
    ids: BTreeSet<Uuid>,
    names: u32,
}

impl Sweep {
    fn new(owner: Client, is_https: bool, is_edge: bool) -> Self {
        Self { owner, is_https, is_edge, ids: BTreeSet::new(), names: 0 }
    }

    /// A name that is unique in this pass.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.owner.request(method.parse().unwrap(), path)
    }

    /// Sends a request with a claimed ID, and checks the common properties of the response.
    async fn expect(&mut self, status: u16, expected_headers: ExpectedHeaders, request: RequestBuilder) -> Answer {
        let request = request.header("x-request-id", CLAIMED);
        let is_head = request.try_clone().is_some_and(|request| request.build().unwrap().method() == Method::HEAD);
        let answer = self.owner.send(request).await;
        answer.assert_status(status);
        let asked = &answer.asked;

        let id: Uuid = answer.header("x-request-id").parse().unwrap();
        assert_eq!(id.get_version_num(), 7, "{asked}");
        assert_eq!(id.to_string(), answer.header("x-request-id"), "{asked}");
        assert_ne!(id.to_string(), CLAIMED, "{asked}");
        assert!(self.ids.insert(id), "{asked}: the request ID was used before");

        for name in answer.headers.keys() {
            assert_eq!(answer.headers.get_all(name).iter().count(), 1, "{asked}: {name} occurs twice");
        }
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{asked}");
        let is_bundle = expected_headers == ExpectedHeaders::Bundle && status < 400 && status != 204;
        let kept = if is_bundle { "public, max-age=86400, immutable, no-transform" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), kept, "{asked}");
        let secure = self.is_https.then(|| "max-age=31536000; includeSubDomains".to_owned());
        assert_eq!(answer.optional_header("strict-transport-security"), secure, "{asked}");
        let cors = (expected_headers != ExpectedHeaders::Plain).then(|| "*".to_owned());
        assert_eq!(answer.optional_header("access-control-allow-origin"), cors, "{asked}");

        if status >= 400 {
            assert_eq!(answer.header("content-type"), "application/json", "{asked}");
            if is_head {
                assert!(answer.body.is_empty(), "{asked}");
            } else {
                let body = answer.json();
                let members: Vec<&String> = body.as_object().unwrap().keys().collect();
                assert_eq!(members, ["error", "requestId"], "{asked}: {body}");
                assert_eq!(body["requestId"], id.to_string(), "{asked}");
                assert!(body["error"].as_str().is_some_and(|error| error.len() > 3), "{asked}: {body}");
            }
        }
        assert_eq!(
            answer.optional_header("allow").is_some(),
            status == 405 || (status == 204 && expected_headers != ExpectedHeaders::Plain),
            "{asked}"
        );
        answer
    }

    /// Every other method is refused; `methods` are the supported ones, as in `Allow`.
    async fn other_methods(&mut self, path: &str, methods: &str, expected_headers: ExpectedHeaders) {
        let known: BTreeSet<&str> = methods.split(", ").collect();
        for method in METHODS.into_iter().filter(|method| !known.contains(method)) {
            for slash in ["", "/"] {
                let request = self.request(method, &format!("{path}{slash}"));
                let answer = self.expect(405, expected_headers, request).await;
                let allow = answer.header("allow");
                assert_eq!(allow.split(',').map(str::trim).collect::<BTreeSet<_>>(), known, "{}", answer.asked);
            }
        }
    }

    /// Every kind of invalid JSON body. The path accepts POST.
    async fn bad_json(&mut self, path: &str, expected_headers: ExpectedHeaders) {
        let json = "application/json";
        let large = format!("{{\"name\":\"{}\"}}", "x".repeat(10_230));
        assert_eq!(large.len(), 10_241);
        for (status, kind, body) in [
            (400, json, "{".to_owned()),
            (400, json, "\u{0}".to_owned()),
            (400, json, "{}".to_owned()),
            (400, json, "null".to_owned()),
            (400, json, String::new()),
            (413, json, large),
            (415, "text/plain", "{}".to_owned()),
            (415, "multipart/form-data; boundary=b", "--b--".to_owned()),
        ] {
            for slash in ["", "/"] {
                let request = self.request("POST", &format!("{path}{slash}")).header("content-type", kind).body(body.clone());
                self.expect(status, expected_headers, request).await;
            }
        }
    }

    async fn management(&mut self) {
        for path in ["/", "/health", "/v1/health", "/v1/health?live"] {
            for method in ["GET", "HEAD"] {
                let request = self.request(method, path);
                // The first path redirects to the dashboard.
                self.expect(if path == "/" { 303 } else { 200 }, ExpectedHeaders::Plain, request).await;
            }
            if !path.contains('?') {
                self.other_methods(path, "GET, HEAD", ExpectedHeaders::Plain).await;
            }
        }
        let production = "/v1/apps/app/deployments/Production";
        for (path, methods) in [
            ("/v1/apps", "GET, HEAD, POST"),
            ("/v1/apps/app", "DELETE, GET, HEAD, PATCH"),
            ("/v1/apps/app/collaborators", "GET, HEAD"),
            ("/v1/apps/app/deployments", "GET, HEAD, POST"),
            (production, "DELETE, GET, HEAD, PATCH"),
            (&format!("{production}/history"), "DELETE, GET, HEAD"),
            (&format!("{production}/metrics"), "GET, HEAD"),
            (&format!("{production}/metrics/history"), "GET, HEAD"),
            (&format!("{production}/metrics/imported"), "GET, HEAD"),
            (&format!("{production}/metrics/recent"), "GET, HEAD"),
            (&format!("{production}/releases"), "GET, HEAD, POST"),
            (&format!("{production}/releases/v1/diffs"), "GET, HEAD"),
            (&format!("{production}/rollbacks"), "POST"),
        ] {
            for slash in ["", "/"] {
                let path = format!("{path}{slash}");
                for method in methods.split(", ").filter(|method| ["GET", "HEAD"].contains(method)) {
                    let request = self.request(method, &path);
                    self.expect(200, ExpectedHeaders::Plain, request).await;
                }
                for method in methods.split(", ") {
                    let nobody = self.owner.with_token(None);
                    let answer = self.expect(401, ExpectedHeaders::Plain, nobody.request(method.parse().unwrap(), &path)).await;
                    assert_eq!(answer.header("www-authenticate"), "Bearer");
                    let stranger = self.owner.with_token(Some(format!("svc_ak_{}", "A".repeat(43))));
                    self.expect(401, ExpectedHeaders::Plain, stranger.request(method.parse().unwrap(), &path)).await;
                    if path.contains("/app/") {
                        let request = self.request(method, &path.replace("/app/", "/absent/"));
                        self.expect(404, ExpectedHeaders::Plain, request).await;
                        let request = self.request(method, &path.replace("Production", "Absent"));
                        // A PATCH without a body is refused for another reason.
                        if path.contains("Production") && method != "PATCH" {
                            self.expect(404, ExpectedHeaders::Plain, request).await;
                        }
                    }
                }
            }
            self.other_methods(path, methods, ExpectedHeaders::Plain).await;
        }
        for method in ["GET", "HEAD"] {
            for (status, query) in [(200, "?appVersion=1.0.0"), (400, "")] {
                let request = self.request(method, &format!("{production}/explain{query}"));
                self.expect(status, ExpectedHeaders::Plain, request).await;
            }
        }
        self.other_methods(&format!("{production}/explain"), "GET, HEAD", ExpectedHeaders::Plain).await;
        self.other_methods(&format!("{production}/release"), "PATCH", ExpectedHeaders::Plain).await;
        for path in [&format!("{production}/imports"), "/v1/apps/app/imports/packages", "/v1/imports/apps", "/v1/imports/check"] {
            self.other_methods(path, "POST", ExpectedHeaders::Plain).await;
        }
        self.other_methods(&format!("{production}/promotions"), "POST", ExpectedHeaders::Plain).await;
        self.bad_json(&format!("{production}/promotions"), ExpectedHeaders::Plain).await;
        for path in ["/v1/apps", "/v1/apps/app/deployments"] {
            self.bad_json(path, ExpectedHeaders::Plain).await;
            for slash in ["", "/"] {
                let name = self.name();
                let request = self.request("POST", &format!("{path}{slash}")).json(&json!({ "name": name }));
                let made = self.expect(201, ExpectedHeaders::Plain, request).await;
                assert_eq!(made.header("location"), format!("{path}/{name}"));
                let request = self.request("POST", path).json(&json!({ "name": name }));
                self.expect(409, ExpectedHeaders::Plain, request).await;
            }
        }
        self.uploads(&format!("{production}/releases")).await;
        for path in ["/v1", "/v1/", "/nothing", "/v1/apps/app/nothing", "/%00", "/a/../b", "/index.php?x=1"] {
            for method in METHODS {
                let request = self.request(method, path);
                self.expect(404, ExpectedHeaders::Plain, request).await;
            }
        }
    }

    async fn uploads(&mut self, path: &str) {
        let form = |content: &str, info: Value| {
            let bundle = reqwest::multipart::Part::bytes(Bundle::script(content).0).file_name("bundle.zip");
            reqwest::multipart::Form::new().text("packageInfo", info.to_string()).part("package", bundle)
        };
        let sound = json!({ "appVersion": "1.0.0" });
        for slash in ["", "/"] {
            let path = format!("{path}{slash}");
            let name = self.name();
            let request = self.request("POST", &path).multipart(form(&name, sound.clone()));
            self.expect(201, ExpectedHeaders::Plain, request).await;
            let request = self.request("POST", &path).multipart(form(&name, sound.clone()));
            self.expect(409, ExpectedHeaders::Plain, request).await;
            let request = self.request("POST", &path).multipart(form(&name, json!({ "appVersion": "one" })));
            self.expect(400, ExpectedHeaders::Plain, request).await;
            let request = self.request("POST", &path).multipart(reqwest::multipart::Form::new().text("packageInfo", "{"));
            self.expect(400, ExpectedHeaders::Plain, request).await;
            let request = self.request("POST", &path).json(&sound);
            self.expect(415, ExpectedHeaders::Plain, request).await;
            let request = self.request("POST", &path).header("content-type", "multipart/form-data; boundary=b").body("--x");
            self.expect(400, ExpectedHeaders::Plain, request).await;
            let nobody = self.owner.with_token(None).request(Method::POST, &path).multipart(form(&name, sound.clone()));
            self.expect(401, ExpectedHeaders::Plain, nobody).await;
        }
    }

    async fn acquisition(&mut self, key: &str) {
        for (path, endpoint) in path::all() {
            for slash in ["", "/"] {
                let path = format!("{path}{slash}");
                let request = self.request("OPTIONS", &path).header("origin", "https://elsewhere.example");
                self.expect(204, ExpectedHeaders::Cors, request).await;
                if endpoint.job == Job::Check {
                    for method in ["GET", "HEAD"] {
                        for (status, query) in [
                            (200, format!("?deploymentKey={key}&appVersion=1.0.0")),
                            (400, String::new()),
                            (400, format!("?deployment_key={key}&app_version=%FF")),
                            (404, "?deployment_key=never-made-0123456789&app_version=1.0.0".to_owned()),
                        ] {
                            let request = self.request(method, &format!("{path}{query}"));
                            self.expect(status, ExpectedHeaders::Cors, request).await;
                        }
                    }
                } else {
                    let sound = json!({ "deploymentKey": key, "appVersion": "1.0.0", "label": "v1", "clientUniqueId": "c" });
                    let unknown = json!({ "deploymentKey": "never-made-0123456789", "appVersion": "1.0.0", "label": "v1" });
                    for (status, body) in [(200, sound), (404, unknown)] {
                        let request = self.request("POST", &path).json(&body);
                        self.expect(status, ExpectedHeaders::Cors, request).await;
                    }
                }
            }
            self.other_methods(&path, endpoint.job.methods(), ExpectedHeaders::Cors).await;
            if endpoint.job != Job::Check {
                self.bad_json(&path, ExpectedHeaders::Cors).await;
            }
        }
    }

    async fn bundles(&mut self, url: &str) {
        let path = url.get(url.find("/v1/public/").unwrap()..).unwrap();
        let (address, query) = path.split_once('?').unwrap();
        for method in ["GET", "HEAD"] {
            for path in [path.to_owned(), format!("{address}/?{query}")] {
                let request = self.request(method, &path);
                let answer = self.expect(200, ExpectedHeaders::Bundle, request).await;
                let request = self.request(method, &path).header("if-none-match", answer.header("etag"));
                self.expect(304, ExpectedHeaders::Bundle, request).await;
            }
            let request = self.request(method, address);
            self.expect(403, ExpectedHeaders::Bundle, request).await;
            let request = self.request(method, &format!("{path}x"));
            self.expect(403, ExpectedHeaders::Bundle, request).await;
        }
        for (status, range) in [(206, "bytes=1-2"), (416, "bytes=9999999-")] {
            let request = self.request("GET", path).header("range", range);
            self.expect(status, ExpectedHeaders::Bundle, request).await;
        }
        let request = self.request("OPTIONS", path);
        self.expect(204, ExpectedHeaders::Bundle, request).await;
        self.other_methods(address, "GET, HEAD, OPTIONS", ExpectedHeaders::Bundle).await;
    }

    /// At the edge internal paths are always 404; at the control plane they require a signature.
    async fn internal(&mut self, key: &str) {
        let snapshot = format!("/internal/v1/snapshots/{key}");
        let secrets = Secrets::parse(EDGE_SECRET).unwrap();
        let owner = self.owner.clone();
        let signed = |method: &str, path: &str, body: &str| {
            let signature = sign_call(&secrets, method, path, TestClock::starting_now().now(), body.as_bytes());
            owner.request(method.parse().unwrap(), path).header("x-updraft-signature", signature).body(body.to_owned())
        };
        for (method, path, body, status) in [
            ("GET", snapshot.as_str(), "", 200),
            ("GET", "/internal/v1/snapshots/never-made-0123456789", "", 404),
            ("POST", "/internal/v1/reports", "{\"reports\":[]}", 200),
            ("POST", "/internal/v1/reports", "{}", 400),
        ] {
            let request = signed(method, path, body);
            self.expect(if self.is_edge { 404 } else { status }, ExpectedHeaders::Plain, request).await;
            let request = self.request(method, path).body(body.to_owned());
            self.expect(404, ExpectedHeaders::Plain, request).await;
        }
        for path in ["/internal", "/internal/", "/internal/v1/nothing"] {
            let request = self.request("GET", path);
            self.expect(404, ExpectedHeaders::Plain, request).await;
        }
        for (path, methods) in [(snapshot.as_str(), "GET, HEAD"), ("/internal/v1/reports", "POST"), ("/internal/v1/edge-counters", "POST")]
        {
            for method in METHODS {
                let request = self.request(method, path);
                self.expect(404, ExpectedHeaders::Plain, request).await;
            }
            let request = signed("PUT", path, "");
            let answer = self.expect(if self.is_edge { 404 } else { 405 }, ExpectedHeaders::Plain, request).await;
            assert_eq!(answer.optional_header("allow").as_deref(), (!self.is_edge).then_some(methods), "{path}");
        }
    }

    async fn run(mut self) {
        let (key, _) = self.owner.create_app("app").await;
        let bundle = Bundle::script("swept");
        let made = self.owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
        self.management().await;
        self.acquisition(&key).await;
        self.bundles(made["package"]["blobUrl"].as_str().unwrap()).await;
        self.internal(&key).await;
        assert!(self.ids.len() > 1_000, "{} answers", self.ids.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_control_plane_response_has_the_required_headers() {
    let options = Options { has_machine_clock: true, ..Options::default() };
    let app = TestApp::spawn_with(options).await;
    Sweep::new(app.sign_up("ada").await, false, false).run().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_control_plane_response_behind_https_has_the_required_headers() {
    let options = Options { has_machine_clock: true, ..Options::default() };
    let app = TestApp::spawn_with(options.with("BASE_URL", HTTPS)).await;
    Sweep::new(app.sign_up("ada").await, true, false).run().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edge_response_has_the_required_headers() {
    let app = EdgeApp::spawn().await;
    Sweep::new(app.sign_up("ada").await, false, true).run().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edge_response_behind_https_has_the_required_headers() {
    let app = EdgeApp::spawn_with(EdgeOptions::default().with("BASE_URL", HTTPS)).await;
    Sweep::new(app.sign_up("ada").await, true, true).run().await;
}
