//! The edge without Cloudflare: the Worker on a bare workerd, with the control plane in place of KV and Queue, as in `docs/self-hosted-edge.md`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::output::Output;
use tests::self_hosted::{SelfHosted, workerd};
use tests::wait::eventually;
use tests::{Answer, Bundle, Client};
use tokio::task::JoinSet;
use toml::Table;
use xtask::leash::{self, Leashed, StopBy};
use xtask::{paths, probe, workerd};

const DEPLOY: &str = "/v1/public/svc/report_status/deploy";
const CLIENTS: usize = 500;

/// An owner at the edge, the key of a deployment, and the bundle of its release v1.
async fn with_release(app: &SelfHosted) -> (Client, String, Bundle) {
    let owner = app.control.sign_up("ada").await.at(&app.base);
    let (key, _) = owner.create_app("app").await;
    let bundle = Bundle::script("first");
    owner.upload("app", "Production", &bundle.0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    (owner, key, bundle)
}

/// Waits until the control plane's health is seen through the Worker.
async fn healthy(client: &Client, program: &mut Leashed) {
    eventually("the control plane's health through the edge", async || {
        if let Some(status) = program.status() {
            panic!("workerd exited with {status}");
        }
        match client.request(Method::GET, "/v1/health").send().await {
            Ok(answer) if answer.status() == 200 => Ok(()),
            Ok(answer) => Err(answer.text().await.unwrap_or_default()),
            Err(error) => Err(format!("{error:?}")),
        }
    })
    .await;
}

fn check(key: &str) -> String {
    format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")
}

fn success(key: &str, client: &str) -> Value {
    json!({ "deployment_key": key, "app_version": "1.0.0", "label": "v1", "status": "DeploymentSucceeded", "client_unique_id": client })
}

fn counts(number: usize) -> Value {
    json!({ "v1": { "active": number, "downloaded": 0, "installed": number, "failed": 0 } })
}

/// Sends concurrent reports of these devices; returns the statuses.
async fn report_at_once(client: &Client, key: &str, names: &str) -> Vec<u16> {
    let mut sending = JoinSet::new();
    for number in 0..CLIENTS {
        let (client, report) = (client.clone(), success(key, &format!("{names}-{number}")));
        sending.spawn(async move { client.post(DEPLOY, report).await.status.as_u16() });
    }
    sending.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_reaches_devices_immediately_and_acknowledged_reports_are_counted() {
    let app = SelfHosted::spawn(&[("SNAPSHOT_FRESH_MS", "0"), ("SNAPSHOT_STALE_MS", "0")]).await;
    let (owner, key, bundle) = with_release(&app).await;
    let device = app.anonymous();

    let snake = device.get(&check(&key)).await;
    let offered = snake.assert(200)["update_info"].clone();
    assert_eq!((&offered["is_available"], &offered["label"]), (&json!(true), &json!("v1")));
    assert_eq!(snake.header("access-control-allow-origin"), "*");
    let camel = device.get(&format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0")).await.assert(200);
    assert_eq!((&camel["updateInfo"]["isAvailable"], &camel["updateInfo"]["label"]), (&json!(true), &json!("v1")));
    let head = device.send(device.request(Method::HEAD, &check(&key))).await;
    head.assert_status(200);
    assert!(head.body.is_empty());
    device.get(&check("never-made-0123456789")).await.refused(404);

    let url = offered["download_url"].as_str().unwrap();
    let downloaded = device.get(url.strip_prefix(&app.base).unwrap()).await;
    downloaded.assert_status(200);
    assert_eq!(downloaded.body, bundle.0);

    for number in 1..=2 {
        device.post(DEPLOY, success(&key, &format!("phone-{number}"))).await.assert(200);
        assert_eq!(owner.metrics("app", "Production").await, counts(number));
    }
    device.post(DEPLOY, json!({ "deployment_key": key })).await.refused(400);
    device.post(DEPLOY, success("never-made-0123456789", "phone-1")).await.refused(404);

    owner.upload("app", "Production", &Bundle::script("second").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(device.get(&check(&key)).await.assert(200)["update_info"]["label"], "v2");
    device.get("/internal/v1/reports").await.refused(404);
    device.get("/v1/apps").await.refused(401);
    app.control.free_key(&key).await;
    app.control.change("UPDATE deployment_keys SET snapshot_version = snapshot_version + 1 WHERE deployment_key = $1", &[&key]).await;
    device.get(&check(&key)).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reports_are_counted_exactly() {
    let app = SelfHosted::spawn(&[("LIMIT_REPORTS", "10000/1m")]).await;
    let (owner, key, _) = with_release(&app).await;
    for _repeated in 0..2 {
        assert_eq!(report_at_once(&app.anonymous(), &key, "phone").await, [200; CLIENTS]);
        assert_eq!(owner.metrics("app", "Production").await, counts(CLIENTS));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_continue_and_no_report_is_acknowledged_while_the_control_plane_is_down() {
    // Every check tries to fetch a newer snapshot and fails.
    let mut app = SelfHosted::spawn(&[("SNAPSHOT_FRESH_MS", "0"), ("SNAPSHOT_STALE_MS", "0")]).await;
    let (owner, key, _) = with_release(&app).await;
    let device = app.anonymous();
    let offered = async || device.get(&check(&key)).await.assert(200)["update_info"]["label"].clone();
    assert_eq!(offered().await, "v1");

    app.control.stop().await;
    for _again in 0..3 {
        assert_eq!(offered().await, "v1");
    }
    let refused: Vec<Answer> = vec![device.post(DEPLOY, success(&key, "phone")).await, device.get("/v1/apps").await];
    for answer in refused {
        answer.refused(503);
        answer.header("retry-after").parse::<u32>().unwrap();
    }

    app.control.start().await;
    device.post(DEPLOY, success(&key, "phone")).await.assert(200);
    assert_eq!(owner.metrics("app", "Production").await, counts(1));
    owner.upload("app", "Production", &Bundle::script("second").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    eventually("v2 at the edge", async || {
        let label = offered().await;
        if label == "v2" { Ok(()) } else { Err(label.to_string()) }
    })
    .await;
}

/// Reports with headers that claim a client address.
async fn report_from(device: &Client, key: &str, headers: &[(&str, &str)]) -> Answer {
    let request = device.request(Method::POST, DEPLOY).json(&success(key, "phone"));
    device.send(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_client_address_does_not_evade_the_limit() {
    let app = SelfHosted::spawn(&[("LIMIT_REPORTS", "5/1h")]).await;
    let (_, key, _) = with_release(&app).await;
    let device = app.anonymous();
    for number in 0..8 {
        let address = format!("192.0.2.{number}");
        let forged = [("cf-connecting-ip", address.as_str()), ("x-real-ip", &address), ("x-forwarded-for", &address)];
        let answer = report_from(&device, &key, &forged).await;
        if number < 5 {
            answer.assert(200);
        } else {
            answer.refused(429);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_only_its_header_is_trusted() {
    let app = SelfHosted::spawn(&[("LIMIT_REPORTS", "5/1h"), ("CLIENT_ADDRESS", "X-Real-IP")]).await;
    let (_, key, _) = with_release(&app).await;
    let device = app.anonymous();
    for client in ["192.0.2.1", "2001:db8::1"] {
        for number in 0..6 {
            let forged = format!("198.51.100.{number}");
            let answer = report_from(&device, &key, &[("x-real-ip", client), ("cf-connecting-ip", &forged)]).await;
            answer.assert_status(if number < 5 { 200 } else { 429 });
        }
    }
}

#[test]
fn the_configuration_matches_the_one_for_cloudflare() {
    let read = |name: &str| fs::read_to_string(paths::root().join(name)).unwrap();
    let (wrangler, workerd): (Table, _) = (read("wrangler.toml").parse().unwrap(), read("edge/workerd.capnp"));
    let date = wrangler["compatibility_date"].as_str().unwrap();
    assert!(workerd.contains(&format!("compatibilityDate = \"{date}\"")), "{date}");
    let main = wrangler["main"].as_str().unwrap().trim_start_matches("edge/");
    let first = workerd.split("modules = [").nth(1).unwrap().lines().nth(1).unwrap();
    assert!(first.contains(&format!("embed \"{main}\"")), "{main}: {first}");
    // The control plane's URL is the external service's, and there are no queue consumers here.
    let without = ["CONTROL_URL", "REPORT_RETRY_BASE_SECONDS", "DEAD_LETTER_QUEUE"];
    let variables = wrangler["vars"].as_table().unwrap().keys().map(String::as_str).chain(["EDGE_SECRET", "DOWNLOAD_SECRET"]);
    for name in variables.filter(|name| !without.contains(name)) {
        assert!(workerd.contains(&format!("(name = \"{name}\", fromEnvironment = \"{name}\")")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_trusted_proxies_setting_nothing_is_served() {
    let (port, output) = (probe::free_port().unwrap(), Output::default());
    let lines = output.clone();
    let _edge = workerd(port, "127.0.0.1:9", "127.0.0.1:9", &[]).start(move |line| lines.push(line)).unwrap();
    let client = Client::new(&format!("http://127.0.0.1:{port}"), None);
    let answer = eventually("an answer", async || match client.request(Method::GET, "/v1/health").send().await {
        Ok(answer) => Ok(answer.status()),
        Err(error) => Err(error.to_string()),
    });
    assert_eq!(answer.await, 500);
    eventually("the reason", async || {
        let said = output.lines();
        if said.iter().any(|line| line.contains("CLIENT_ADDRESS is required")) { Ok(()) } else { Err(format!("{said:?}")) }
    })
    .await;
}

/// The `sh` blocks of the page, in order.
fn blocks() -> Vec<String> {
    let page = fs::read_to_string(paths::root().join("docs/self-hosted-edge.md")).unwrap();
    page.split("\n```sh\n").skip(1).map(|block| block.split_once("\n```\n").unwrap().0.to_owned()).collect()
}

/// The program next to the test binary.
fn control() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.ancestors().nth(2).unwrap().join("updraft-control");
    assert!(program.is_file(), "{} is missing: run `cargo build --package control`", program.display());
    program
}

/// The initial folder of the page, already built, with both programs in `bin` and a certificate where needed.
fn place() -> TempDir {
    let (folder, root) = (TempDir::new().unwrap(), paths::root());
    let (edge, bin) = (folder.path().join("edge"), folder.path().join("bin"));
    fs::create_dir_all(edge.join("tls")).unwrap();
    fs::create_dir(&bin).unwrap();
    fs::copy(root.join("edge/workerd.capnp"), edge.join("workerd.capnp")).unwrap();
    symlink(root.join("edge/build"), edge.join("build")).unwrap();
    symlink(control(), bin.join("updraft-control")).unwrap();
    symlink(workerd::program(&root).unwrap(), bin.join("workerd")).unwrap();
    let mut openssl = std::process::Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]);
    let made = openssl.args(["-keyout", "privkey.pem", "-out", "fullchain.pem"]).current_dir(edge.join("tls")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

/// Starts a block of the page in this folder, like a user in a separate terminal.
fn start(block: &str, folder: &Path, output: &Output) -> Leashed {
    let mut command = leash::command("bash", StopBy::Terminate);
    command.args(["-euo", "pipefail", "-c", block]).current_dir(folder).env_clear();
    let path = std::env::var_os("PATH").unwrap();
    let first = std::iter::once(folder.join("bin"));
    command.env("PATH", std::env::join_paths(first.chain(std::env::split_paths(&path))).unwrap());
    let lines = output.clone();
    Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap()
}

/// Runs a block until it exits; returns its output.
async fn run(block: &str, folder: &Path) -> String {
    let output = Output::default();
    let mut program = start(block, folder, &output);
    let status = eventually(block, async || program.status().ok_or_else(|| "it runs".to_owned())).await;
    assert!(status.success(), "{block}\nexited with {status}: {:?}", output.lines());
    eventually("its last line", async || {
        let lines = output.lines().join("\n");
        if block.starts_with("curl") && lines.is_empty() { Err("nothing was printed".to_owned()) } else { Ok(lines) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_commands_work_verbatim() {
    let port = || probe::free_port().unwrap();
    let (edge, main, bindings, tls) = (port(), port(), port(), port());
    // The page's addresses, which tests cannot use.
    let addresses = [
        ("localhost:8787", format!("localhost:{edge}")),
        ("127.0.0.1:8787", format!("127.0.0.1:{edge}")),
        ("127.0.0.1:8080", format!("127.0.0.1:{main}")),
        ("127.0.0.1:8081", format!("127.0.0.1:{bindings}")),
        ("https=*:443", format!("https=127.0.0.1:{tls}")),
    ];
    let blocks: Vec<String> =
        blocks().into_iter().map(|block| addresses.iter().fold(block, |block, (from, to)| block.replace(from, to))).collect();
    let [build, secrets, serve, serve_edge, health, write_tls, serve_tls] = blocks.try_into().unwrap();
    // The build is already done by `cargo xtask test`.
    assert_eq!(build, "npm ci\ncargo xtask edge-build\ncargo build --release --bin updraft-control");

    let folder = place();
    let folder = folder.path();
    run(&secrets, folder).await;
    run(&write_tls, folder).await;
    let output = Output::default();
    let _control = start(&serve, folder, &output);
    let (mut plain, mut encrypted) = (start(&serve_edge, folder, &output), start(&serve_tls, folder, &output));

    let device = Client::new(&format!("http://localhost:{edge}"), None);
    healthy(&device, &mut plain).await;
    let seen = run(&health, folder).await;
    assert!(seen.contains(r#""status":"ok""#), "{seen}");
    // With a wrong secret this would be 503, since the control plane did not say that the deployment is unknown.
    device.get(&check("never-made-0123456789")).await.refused(404);

    let curl = |path: &str| format!("curl -sk https://localhost:{tls}{path}");
    eventually("health over TLS", async || {
        assert!(encrypted.status().is_none(), "workerd ended: {:?}", output.lines());
        if probe::is_free(tls) { Err("it does not listen".to_owned()) } else { Ok(()) }
    })
    .await;
    let seen = run(&curl("/v1/health"), folder).await;
    assert!(seen.contains(r#""status":"ok""#), "{seen}");
}
