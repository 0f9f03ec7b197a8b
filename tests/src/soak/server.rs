//! The control plane in the soak test: the real program, killed and restarted on the same data, and its clients.

use std::collections::BTreeMap;
use std::path::PathBuf;

use control::testing;
use control::testing::{Clock, Db};
use reqwest::RequestBuilder;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;

use super::events::{APPS, Deployment, RELEASES};
use crate::app::{DOWNLOAD_SECRET, EDGE_SECRET};
use crate::database::TestDatabase;
use crate::people::PASSWORD_HASH;
use crate::program::Serving;
use crate::{Answer, Client};

const ENCRYPTION_KEY: &str = "s1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// The maximum number of consecutive failed requests while the program has not been killed.
const MOST_FAILURES: usize = 20;

/// The program's data and settings.
#[derive(Debug)]
pub struct Place {
    settings: BTreeMap<String, String>,
    // In this order: the database is dropped before the folder is deleted.
    _database: TestDatabase,
    _folder: TempDir,
}

/// A client of a program that may be killed at any time.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The program's URL; `None` while it is down.
    base: watch::Receiver<Option<String>>,
    client: Client,
}

impl Place {
    /// An empty database with an account; also returns its access key. `binary_versions` is the limit of a deployment.
    pub async fn make(binary_versions: usize) -> (Self, String) {
        let (database, folder) = (TestDatabase::create().await, TempDir::new().unwrap());
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        let url = database.url().unwrap_or_else(|| format!("sqlite://{}", data.join("updraft.db").display()));
        let any_number = "1000000000/1m".to_owned();
        let settings = [
            ("DATA_DIR", data.display().to_string()),
            ("DATABASE_URL", url.clone()),
            ("EDGE_SECRET", EDGE_SECRET.to_owned()),
            ("DOWNLOAD_SECRET", DOWNLOAD_SECRET.to_owned()),
            ("ENCRYPTION_KEY", ENCRYPTION_KEY.to_owned()),
            ("LIMIT_REPORTS", any_number.clone()),
            ("LIMIT_REPORTS_ADDRESS", any_number.clone()),
            ("LIMIT_MANAGEMENT_API", any_number.clone()),
            ("LIMIT_ACCOUNT_MANAGEMENT_API", any_number.clone()),
            ("LIMIT_UPLOADS", any_number.clone()),
            ("LIMIT_ACCOUNT_UPLOADS", any_number.clone()),
            ("LIMIT_IMPORTS", any_number),
            ("LIMIT_BINARY_VERSIONS", binary_versions.to_string()),
            // Thousands of dropped reports are expected.
            ("LOG", "error".to_owned()),
        ];
        let settings = settings.into_iter().map(|(name, value)| (format!("UPDRAFT_{name}"), value)).collect();

        let db = Db::open(&url).await.unwrap();
        let now = Clock::System.now();
        let mut tx = db.write().await.unwrap();
        let account = testing::account(&mut tx, "ada@example.com", PASSWORD_HASH, testing::account_limits().unwrap(), now).await.unwrap();
        let key = testing::access_key(&mut tx, &account, "soak", testing::ACCESS_KEY_TTL, now).await.unwrap();
        tx.commit().await.unwrap();
        db.close().await;
        (Self { settings, _database: database, _folder: folder }, key)
    }

    /// Adds settings, by their full names.
    pub fn set(&mut self, settings: impl IntoIterator<Item = (String, String)>) {
        self.settings.extend(settings);
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        PathBuf::from(&self.settings["UPDRAFT_DATA_DIR"])
    }

    /// The database.
    pub fn database_url(&self) -> String {
        self.settings["UPDRAFT_DATABASE_URL"].clone()
    }

    /// Starts the program on this data.
    pub async fn start(&self) -> Serving {
        Serving::start(&self.settings).await
    }

    /// The same with the data folder on a small file system.
    pub async fn start_on_small_disk(&self, size: &str) -> Serving {
        Serving::start_on_small_disk(size, &self.settings).await
    }

    /// The same with a limit of open files.
    pub async fn start_within(&self, descriptors: u32) -> Serving {
        Serving::start_within(descriptors, &self.settings).await
    }
}

/// Creates the apps with their releases, and returns the deployments.
pub async fn publish(owner: &Client) -> Vec<Deployment> {
    let mut deployments = Vec::new();
    for (app, (app_name, names)) in APPS.into_iter().enumerate() {
        owner.create_app(app_name).await;
        for &name in names {
            if !["Production", "Staging"].contains(&name) {
                owner.post(&format!("/v1/apps/{app_name}/deployments"), json!({ "name": name })).await.assert(201);
            }
            for number in 1..=RELEASES {
                let content = format!("{app_name} {name} {number}");
                owner.upload(app_name, name, content.as_bytes(), json!({ "appVersion": "*" })).await.assert(201);
            }
            deployments.push(Deployment { app, name, key: owner.deployment_key(app_name, name).await });
        }
    }
    deployments
}

impl Caller {
    /// A client with this credential, if any.
    pub fn new(base: watch::Receiver<Option<String>>, token: Option<String>) -> Self {
        Self { base, client: Client::new("", token) }
    }

    /// Waits until the program is up, and returns its URL and a client.
    pub async fn up(&mut self) -> (String, Client) {
        let base = self.base.wait_for(Option::is_some).await.expect("the run has not ended").clone().unwrap();
        let client = self.client.at(&base);
        (base, client)
    }

    /// Retries until there is a response, and also returns the number of failed attempts: without a response, or refused temporarily, however often
    /// the program is killed. An error if it keeps failing without having been killed.
    pub async fn ask(&mut self, request: impl Fn(&Client) -> RequestBuilder) -> Result<(Answer, u64), String> {
        let (mut in_vain, mut failures) = (0, 0);
        loop {
            let (base, client) = self.up().await;
            let fault = match read(request(&client)).await {
                Ok(answer) if answer.status != 503 => return Ok((answer, in_vain)),
                Ok(answer) => answer.text(),
                Err(error) => format!("{error:?}"),
            };
            in_vain += 1;
            // The URL is removed before the program is killed.
            let was_killed = self.base.borrow().as_ref() != Some(&base);
            failures = if was_killed { 0 } else { failures + 1 };
            if failures > MOST_FAILURES {
                return Err(fault);
            }
        }
    }
}

async fn read(request: RequestBuilder) -> Result<Answer, reqwest::Error> {
    let response = request.send().await?;
    let (asked, status, headers) = (response.url().path().to_owned(), response.status(), response.headers().clone());
    Ok(Answer { asked, status, headers, body: response.bytes().await?.to_vec() })
}
