//! With `--output json`, every command prints one document, of the shape that the OpenAPI document promises.

use control::testing::server;
use serde_json::{Value, json};
use tests::{Cli, SessionOrigin, TestApp};

/// The schema of a response, with everything that it refers to.
fn schema(document: &Value, method: &str, path: &str, status: u16) -> Value {
    let response = &document["paths"][path][method]["responses"][status.to_string()];
    let schema = &response["content"]["application/json"]["schema"];
    assert!(!schema.is_null(), "{method} {path} has no schema for {status}");
    json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema], "components": document["components"] })
}

/// A user's terminal, and the API's document.
struct Checked {
    cli: Cli,
    document: Value,
}

impl Checked {
    /// Runs a command, and expects the response of this operation.
    async fn is(&self, arguments: &[&str], method: &str, path: &str, status: u16) -> Value {
        let printed = self.cli.json(arguments).await;
        let validator = jsonschema::draft202012::new(&schema(&self.document, method, path, status)).unwrap();
        let faults: Vec<String> = validator.iter_errors(&printed).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{arguments:?} printed {printed}\n{}", faults.join("\n"));
        printed
    }

    /// Runs a command, and expects one document of any shape.
    async fn prints(&self, arguments: &[&str]) -> Value {
        self.cli.json(arguments).await
    }
}

const APPS: &str = "/v1/apps";
const APP: &str = "/v1/apps/{app}";
const DEPLOYMENTS: &str = "/v1/apps/{app}/deployments";
const DEPLOYMENT: &str = "/v1/apps/{app}/deployments/{deployment}";

fn below(path: &str) -> String {
    format!("{DEPLOYMENT}/{path}")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_prints_what_the_api_promises() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    app.sign_up("bob").await;
    let session = app.open_session("ada", SessionOrigin::CliBrowser).await;
    let cli = Cli::with_token(&app.base, session.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("CodePush/main.jsbundle", "console.log('v1');");
    let checked = Checked { cli, document: server::document(&app.base) };

    checked.is(&["app", "create", "demo"], "post", APPS, 201).await;
    checked.is(&["app", "list"], "get", APPS, 200).await;
    checked.is(&["app", "show", "demo"], "get", APP, 200).await;
    checked.is(&["app", "activity"], "get", "/v1/apps/{app}/audit", 200).await;
    checked.is(&["deployment", "create", "Beta"], "post", DEPLOYMENTS, 201).await;
    checked.is(&["deployment", "list"], "get", DEPLOYMENTS, 200).await;
    checked.is(&["deployment", "show", "Beta"], "get", DEPLOYMENT, 200).await;
    checked.is(&["deployment", "rename", "Beta", "Canary"], "patch", DEPLOYMENT, 200).await;
    checked.prints(&["deployment", "delete", "Canary", "--yes"]).await;

    checked.is(&["release", "create", "CodePush", "--target-version", "^1.0.0"], "post", &below("releases"), 201).await;
    checked.is(&["release", "list"], "get", &below("releases"), 200).await;
    checked.is(&["release", "show", "v1"], "get", &below("releases/{label}"), 200).await;
    checked.is(&["release", "show", "v1"], "get", &below("releases/{label}/diffs"), 200).await;
    checked.is(&["release", "edit", "v1", "--description", "notes"], "patch", &below("release"), 200).await;
    checked.is(&["release", "disable", "v1", "--yes"], "patch", &below("release"), 200).await;
    checked.is(&["release", "enable", "v1", "--yes"], "patch", &below("release"), 200).await;
    checked.is(&["release", "promote", "v1", "--to", "Staging"], "post", &below("promotions"), 201).await;
    checked.cli.write("CodePush/main.jsbundle", "console.log('v2');");
    checked.is(&["release", "create", "CodePush", "--target-version", "^1.0.0", "--rollout", "10"], "post", &below("releases"), 201).await;
    checked.prints(&["rollout", "show"]).await;
    checked.is(&["rollout", "set", "50"], "patch", &below("release"), 200).await;
    checked.is(&["release", "rollback", "--yes"], "post", &below("rollbacks"), 201).await;
    checked.is(&["metrics"], "get", &below("metrics"), 200).await;
    checked.is(&["check", "--app-version", "1.2.0"], "get", &below("explain"), 200).await;
    checked.prints(&["deployment", "clear", "Staging", "--yes"]).await;

    checked.is(&["collaborator", "add", "bob@example.com", "--role", "Viewer"], "post", "/v1/apps/{app}/collaborators/{email}", 201).await;
    checked.is(&["collaborator", "list"], "get", "/v1/apps/{app}/collaborators", 200).await;
    checked
        .is(&["collaborator", "edit", "bob@example.com", "--role", "Developer"], "patch", "/v1/apps/{app}/collaborators/{email}", 200)
        .await;
    checked.prints(&["collaborator", "remove", "bob@example.com", "--yes"]).await;

    checked.is(&["access-key", "list"], "get", "/v1/access-keys", 200).await;
    checked.is(&["access-key", "show", "test"], "get", "/v1/access-keys/{key}", 200).await;
    checked.is(&["access-key", "rename", "test", "old"], "patch", "/v1/access-keys/{key}", 200).await;
    checked.prints(&["access-key", "delete", "old", "--yes"]).await;
    checked.is(&["api-key", "list"], "get", "/v1/api-keys", 200).await;
    checked.is(&["device", "list"], "get", "/v1/cli/devices", 200).await;
    checked.is(&["session", "list"], "get", "/v1/account/sessions", 200).await;
    checked.prints(&["whoami"]).await;
    checked.prints(&["server", "list"]).await;
    checked.prints(&["doctor"]).await;
    checked.is(&["api", "GET", "/v1/account"], "get", "/v1/account", 200).await;
    checked.is(&["app", "rename", "demo", "example"], "patch", APP, 200).await;
    checked.prints(&["app", "delete", "example", "--yes"]).await;
}
