//! Samples of what the previous release wrote and this one reads after an upgrade: the database, values in KV, batches of reports, dead letters.
//!
//! `cargo xtask soak upgrade --keep-samples` writes them with the programs of that release, into `tests/samples/previous-release`. Tests read them:
//! `service::previous_release` and `edge::previous_release`. Start reading at [`keep`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shared::time::UnixMillis;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use xtask::edge::Consumer;
use xtask::paths;

use super::upgrade::{Control, Previous};
use crate::edge::{Edge, EdgeOptions};
use crate::site::Site;
use crate::stand_in::StandIn;
use crate::wait::{eventually, until};
use crate::{Bundle, Client, Clock};

const DATABASE: &str = "database.sql";
const ANSWERS: &str = "answers.json";
const VALUES: &str = "kv.json";
const BATCH: &str = "batch.json";
const DEAD_LETTER: &str = "dead-letter.json";
/// The path of batches.
const BATCHES: &str = "/internal/v1/reports";
const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
/// What the owner reads. With these, everything is compared that is kept for a release.
const PAGES: [&str; 9] = [
    "/v1/apps",
    "/v1/apps/app",
    "/v1/apps/app/deployments",
    "/v1/apps/app/deployments/Production/history",
    "/v1/apps/app/deployments/Staging/history",
    "/v1/apps/app/deployments/Production/metrics",
    "/v1/apps/app/deployments/Staging/metrics",
    "/v1/apps/app/collaborators",
    "/v1/apps/app/audit",
];

/// The samples.
#[derive(Debug)]
pub struct Samples {
    /// `time`, `base` (its base URL), `apiKey`, and the answers of the control plane by path: `checks` of devices, `pages` of the owner.
    pub answers: Value,
    /// The values in KV, by deployment key.
    pub values: BTreeMap<String, String>,
    /// The body of a signed call with reports, as the Worker delivers its Queue.
    pub batch: Value,
    /// `name` and `text` of an object in the bucket of dead letters.
    pub dead_letter: Value,
    /// The SQLite database, as statements that create it.
    database: String,
}

fn folder() -> PathBuf {
    paths::root().join("tests/samples/previous-release")
}

impl Samples {
    /// Reads the committed samples.
    pub fn read() -> Self {
        let text = |name: &str| fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let json = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap();
        Self {
            answers: json(ANSWERS),
            values: serde_json::from_value(json(VALUES)).unwrap(),
            batch: json(BATCH),
            dead_letter: json(DEAD_LETTER),
            database: text(DATABASE),
        }
    }

    /// When they were written.
    pub fn time(&self) -> UnixMillis {
        UnixMillis(self.answers["time"].as_i64().unwrap())
    }

    /// Creates the database of the previous release in this file.
    pub async fn restore(&self, file: &Path) {
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).foreign_keys(false);
        let mut connection = options.connect().await.unwrap();
        connection.execute(AssertSqlSafe(self.database.as_str())).await.unwrap();
        connection.close().await.unwrap();
    }
}

/// Lets the previous release write all samples, and keeps them.
pub async fn keep(previous: &Previous) {
    fs::create_dir_all(folder()).unwrap();
    let site = Site::start().await;
    let mut control = Control::start(&previous.control, &site).await;
    let owner = control.log_in().await;
    site.publish(&owner).await;
    let (production, staging) = change_history(&owner).await;
    report(&owner, &production, &staging).await;
    let keys = site.keys();
    eventually("all snapshots in KV, with the last change", async || {
        for key in &keys {
            site.cloud.kv_text(key).await.ok_or_else(|| format!("no value of {key}"))?;
        }
        let value: Value = serde_json::from_str(&site.cloud.kv_text(&production).await.unwrap_or_default()).unwrap_or_default();
        if value["r"][0]["l"] == json!(5) { Ok(()) } else { Err(value.to_string()) }
    })
    .await;
    let mut values = BTreeMap::new();
    for key in &keys {
        values.insert(key.clone(), site.cloud.kv_text(key).await.unwrap());
    }
    write(VALUES, &json!(values));
    let made = owner.post("/v1/api-keys", json!({ "name": "ci", "scopes": ["read"] })).await.assert(201);
    write(ANSWERS, &answers(&site, &owner, &production, &staging, &made["key"]).await);
    keep_reports(previous, &site, &production).await;
    control.stop().await;
    fs::write(folder().join(DATABASE), dump(&control.database()).await).unwrap();
}

/// Releases of every kind: mandatory, disabled, promoted, rolled back, with a rollout. Returns the keys of Production and Staging.
async fn change_history(owner: &Client) -> (String, String) {
    let upload = async |content: &str, info: Value| {
        owner.upload("app", "Production", &Bundle::script(content).0, info).await.assert(201);
    };
    upload("second", json!({ "appVersion": ">=1.0.0 <3.0.0", "isMandatory": true, "description": "Zweite Fassung: \"größer\"" })).await;
    upload("third", json!({ "appVersion": "*", "isDisabled": true })).await;
    upload("fourth", json!({ "appVersion": "*" })).await;
    owner.post("/v1/apps/app/deployments/Production/rollbacks", json!({})).await.assert(201);
    let finish = json!({ "packageInfo": { "rollout": 100 } });
    owner.patch("/v1/apps/app/deployments/Staging/release", finish).await.assert(200);
    let promotion = json!({ "destination": "Staging", "packageInfo": { "rollout": 25 } });
    owner.post("/v1/apps/app/deployments/Production/promotions", promotion).await.assert(201);
    (owner.deployment_key("app", "Production").await, owner.deployment_key("app", "Staging").await)
}

/// Devices that have installed releases, one that failed, and one that only runs the binary.
async fn report(owner: &Client, production: &str, staging: &str) {
    let device = owner.with_token(None);
    for (key, label, status, client) in [
        (production, "v1", "DeploymentSucceeded", "first"),
        (production, "v2", "DeploymentSucceeded", "first"),
        (production, "v2", "DeploymentFailed", "second"),
        (staging, "v1", "DeploymentSucceeded", "third"),
    ] {
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "label": label, "status": status, "client_unique_id": client });
        device.post(DEPLOY, body).await.assert(200);
    }
    device.post(DEPLOY, json!({ "deployment_key": staging, "app_version": "1.2.3", "client_unique_id": "fourth" })).await.assert(200);
}

/// What the previous control plane answers to devices and the owner.
async fn answers(site: &Site, owner: &Client, production: &str, staging: &str, api_key: &Value) -> Value {
    let (mut checks, mut pages) = (BTreeMap::new(), BTreeMap::new());
    let keys = site.keys();
    for key in &keys {
        let is_main = key == production || key == staging;
        for (version, client) in [("1.0.0", "first"), ("1.0.0", "second"), ("2.4.0", "third"), ("2.4.0", "fourth")] {
            let path = format!("/v1/public/svc/update_check?deployment_key={key}&app_version={version}&client_unique_id={client}");
            if is_main || client == "first" {
                checks.insert(path.clone(), stable(&owner.with_token(None).get(&path).await));
            }
        }
    }
    for path in PAGES {
        let answer = owner.get(path).await;
        if answer.status == 200 {
            pages.insert(path, stable(&answer));
        }
    }
    json!({ "time": Clock::System.now(), "base": site.cloud.base, "apiKey": api_key, "checks": checks, "pages": pages })
}

/// An answer without what is another one in each answer, such as the signature of addresses.
pub fn stable(answer: &crate::Answer) -> Value {
    let mut body = answer.json();
    strip(&mut body);
    json!({ "status": answer.status.as_u16(), "body": body })
}

fn strip(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(end) = text.find("?expires=") {
                text.truncate(end);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        Value::Object(members) => {
            members.remove("requestId");
            members.values_mut().for_each(strip);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What the previous Worker delivers to control, and its dead letter once control has refused that.
async fn keep_reports(previous: &Previous, site: &Site, key: &str) {
    let stand_in = StandIn::start(|_| b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    let options = EdgeOptions {
        stand_in: Some(stand_in.base.clone()),
        storage: Some(site.storage().to_owned()),
        worker: Some(previous.worker.clone()),
        reports: Consumer { max_retries: Some(1), ..Consumer::default() },
        ..EdgeOptions::default()
    };
    let edge = Edge::before(&options.with("REPORT_RETRY_BASE_SECONDS", "1")).await;
    let device = Client::new(&edge.base, None);
    for (label, client) in [("v1", "fifth"), ("v2", "日本-クライアント")] {
        let status = "DeploymentSucceeded";
        let body = json!({ "deployment_key": key, "app_version": "1.0.0", "label": label, "status": status, "client_unique_id": client });
        device.post(DEPLOY, body).await.assert(200);
    }
    let batch = until("a batch of both", async || {
        let calls = stand_in.asked().into_iter().filter(|call| call.line.contains(BATCHES));
        let mut batches = calls.filter_map(|call| serde_json::from_slice::<Value>(&call.body).ok());
        batches.find(|batch| batch["reports"].as_array().is_some_and(|reports| reports.len() == 2))
    });
    write(BATCH, &batch.await);
    let name = until("a dead letter", async || edge.dead_letters().await.into_iter().next()).await;
    write(DEAD_LETTER, &json!({ "name": name, "text": edge.dead_letter(&name).await }));
}

fn write(name: &str, value: &Value) {
    fs::write(folder().join(name), serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
}

/// The statements that create an SQLite database: its tables with their rows, then everything else.
async fn dump(file: &Path) -> String {
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let schema = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                  ORDER BY type <> 'table', name";
    let schema: Vec<(String, String, String)> = sqlx::query_as(schema).fetch_all(&mut connection).await.unwrap();
    let mut text = String::new();
    for (kind, name, sql) in schema {
        writeln!(text, "{sql};").unwrap();
        if kind == "table" {
            for row in rows(&mut connection, &name).await {
                writeln!(text, "INSERT INTO {name} VALUES ({row});").unwrap();
            }
        }
    }
    connection.close().await.unwrap();
    text
}

/// The rows of a table, each as the list of its values in SQL.
async fn rows(connection: &mut SqliteConnection, table: &str) -> Vec<String> {
    let columns = "SELECT group_concat('quote(\"' || name || '\")', ' || '', '' || ') FROM pragma_table_info($1)";
    let columns: String = sqlx::query_scalar(columns).bind(table).fetch_one(&mut *connection).await.unwrap();
    let rows = AssertSqlSafe(format!("SELECT {columns} FROM {table} ORDER BY 1"));
    sqlx::query_scalar(rows).fetch_all(connection).await.unwrap()
}
