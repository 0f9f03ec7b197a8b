//! The program's log of both flows at the most verbose level.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tests::database::TestDatabase;
use tests::output::Output;
use tests::people::{PASSWORD, login};
use tests::wait::until;
use tests::{Client, Db};
use xtask::leash::{self, Leashed, StopBy};

use super::participants::{
    Ceremony, CliFlow, ProofKey, approve, authorized_devices, deny, exchange, read, refused, resolve, signed_in, start,
};

const EMAIL: &str = "ada.lovelace@example.com";

/// The program built with these tests.
fn program() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let built = here.ancestors().nth(2).unwrap().join("updraft-control");
    assert!(built.is_file(), "{} does not exist: build the workspace, or run `cargo build -p control` first", built.display());
    built
}

/// The program's settings, with and without the leash.
fn configure(command: &mut Command, folder: &TempDir, database: &TestDatabase, format: &str) {
    command.env_clear().current_dir(folder.path()).env("PATH", std::env::var_os("PATH").unwrap());
    command.env("UPDRAFT_LISTEN", "127.0.0.1:0").env("UPDRAFT_DATA_DIR", folder.path().join("data"));
    command.env("UPDRAFT_EDGE_SECRET", "e".repeat(40)).env("UPDRAFT_DOWNLOAD_SECRET", "d".repeat(40));
    command.env("UPDRAFT_ENCRYPTION_KEY", "t1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    command.env("UPDRAFT_LOG", "trace").env("UPDRAFT_LOG_FORMAT", format);
    command.envs(database.url().map(|url| ("UPDRAFT_DATABASE_URL", url)));
}

async fn create_account(folder: &TempDir, database: &TestDatabase) {
    if database.url().is_none() {
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        Db::open(&format!("sqlite://{}", data.join("updraft.db").display())).await.unwrap().close().await;
    }
    let mut command = Command::new(program());
    configure(&mut command, folder, database, "text");
    command.args(["account", "create", "--email", EMAIL, "--password-stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The listening address from the log.
fn address(output: &Output) -> Option<String> {
    let lines = output.lines();
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    let found = words.map(|word| word.trim_end_matches([';', ','])).find(|word| word.starts_with("http://127.0.0.1:"));
    found.map(str::to_owned)
}

/// Runs both flows with possible errors; returns all values that must not be logged.
async fn act(base: &str) -> Vec<String> {
    let cli = Client::new(base, None);
    let answer = cli.post("/v1/auth/login", login(EMAIL, PASSWORD)).await;
    let dashboard = signed_in(&cli, &answer);
    let mut secrets = vec![dashboard.token().to_owned()];

    let told = json!({ "state": "confidential-state", "deviceName": "confidential-laptop" });
    let mut browser = Ceremony::begin_with(CliFlow::Browser, &cli, &told).await;
    read(&dashboard, browser.id()).await.assert(200);
    browser.approve(&dashboard).await;
    let mut device = Ceremony::begin_with(CliFlow::Device, &cli, &told).await;
    refused(&device.exchange().await, "authorization_pending");
    refused(&device.exchange().await, "slow_down");
    // A link to the dashboard that contains the code, and a misspelled one.
    let complete = device.started["verificationUriComplete"].as_str().unwrap();
    cli.get(complete.split_once("/dashboard/").map(|(_, rest)| format!("/dashboard/{rest}")).unwrap().as_str()).await;
    cli.get(&format!("/activate?user_code={}&state=confidential-query", device.user_code())).await.refused(404);
    resolve(&dashboard, device.user_code()).await.assert(200);
    resolve(&dashboard, "BCDF-GHJK").await.refused(404);
    device.approve(&dashboard).await;
    for ceremony in [&browser, &device] {
        secrets.push(signed_in(&cli, &ceremony.exchange().await).token().to_owned());
        refused(&ceremony.exchange().await, "invalid_grant");
        for (_, value) in ceremony.grant.as_object().unwrap() {
            secrets.push(value.as_str().unwrap().to_owned());
        }
    }
    secrets.extend([device.user_code().to_owned(), device.user_code().replace('-', "")]);
    assert_eq!(authorized_devices(&dashboard).await.len(), 1);

    let mut wrong = Ceremony::begin_with(CliFlow::Browser, &cli, &told).await;
    wrong.approve(&dashboard).await;
    let verifier = "confidential-verifier-of-a-thief-in-between";
    refused(&wrong.exchange_with("codeVerifier", json!(verifier)).await, "invalid_grant");
    secrets.push(wrong.grant["code"].as_str().unwrap().to_owned());
    let denied = Ceremony::begin_with(CliFlow::Browser, &cli, &told).await;
    deny(&dashboard, denied.id()).await.assert(200);
    approve(&dashboard, denied.id()).await.refused(409);
    let redirect = json!({ "redirectUri": "http://confidential.example/", "state": "confidential\nstate" });
    start(CliFlow::Browser, &cli, &ProofKey::new(), &redirect).await.refused(400);
    exchange(&cli, &json!({ "grantType": "confidential", "code": "confidential" })).await.refused(400);
    let malformed = cli.request(reqwest::Method::POST, "/v1/auth/cli/token").header("content-type", "application/json");
    cli.send(malformed.body("{\"code\": confidential}")).await.refused(400);
    secrets.retain(|secret| !["authorization_code", "device_code"].contains(&secret.as_str()));
    secrets
}

#[tokio::test(flavor = "multi_thread")]
async fn state_verifier_and_code_are_not_logged() {
    for format in ["text", "json"] {
        let (folder, database) = (TempDir::new().unwrap(), TestDatabase::create().await);
        create_account(&folder, &database).await;
        let mut command = leash::command(program(), StopBy::Terminate);
        configure(&mut command, &folder, &database, format);
        command.arg("serve");
        let output = Output::default();
        let lines = output.clone();
        let mut server = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
        let base = until("the program prints its listening address", async || address(&output)).await;
        until("the program responds", async || (Client::new(&base, None).get("/v1/health").await.status.as_u16() == 200).then_some(()))
            .await;

        let secrets = act(&base).await;
        server.stop(Duration::from_secs(10));

        let written = output.lines().join("\n");
        for said in ["TRACE", "an email was written"] {
            assert!(written.contains(said), "it logs everything, including device notices: {said}");
        }
        assert!(secrets.len() >= 8 && secrets.iter().all(|secret| secret.len() >= 8), "{secrets:?}");
        for secret in secrets.iter().map(String::as_str).chain(["confidential", "lovelace", PASSWORD, "argon2id"]) {
            let line = written.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{format}: {secret:?} is in the log");
        }
    }
}
