//! What other users on the machine, on the network, or on sibling domains can read or make the service read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::json;
use tests::multipart::Multipart;
use tests::people::PASSWORD;
use tests::program::{Serving, run};
use tests::wait::until;
use tests::{Client, Options, TestApp};
use tests::{Config, raw};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_an_existing_folder_are_private_to_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // From an earlier version, which made it world-readable.
    let database = folder.path().join("updraft.db");
    fs::write(&database, "").unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let settings = BTreeMap::from([("UPDRAFT_DATA_DIR".to_owned(), folder.path().display().to_string())]);
    let serving = Serving::start(&settings).await;
    let client = Client::new(&serving.base, None);
    client.post("/v1/auth/register", json!({ "email": "ada@example.com", "password": PASSWORD })).await.assert(202);
    let written = || files(folder.path());
    let is_mail = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "eml");
    until("the email is written", async || written().iter().any(is_mail).then_some(())).await;
    let names: Vec<String> = written().iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    for name in ["updraft.db", "updraft.db-wal", "updraft.db-shm", "secrets.env", "serve.lock"] {
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
    for path in written() {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bundles_are_private_to_their_owner_from_the_first_byte() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_BODY_PAUSE", "1h")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    let blobs =
        || files(app.folder()).into_iter().filter(|path| path.components().any(|part| part.as_os_str() == "blobs")).collect::<Vec<_>>();
    let body =
        Multipart::default().file("package", &vec![7; 100_000]).text("packageInfo", json!({ "appVersion": "1.0.0" }).to_string()).end();
    let request = ada.request(Method::POST, "/v1/apps/app/deployments/Staging/releases").header("content-type", Multipart::content_type());
    let (head, body) = raw::parts(request.body(body).build().unwrap()).await;
    let mut stream = raw::connect(&app.base).await;
    let (first, rest) = body.split_at(90_000);
    stream.write_all(&[&head, first].concat()).await.unwrap();
    let written = until("the upload is being written", async || Some(blobs()).filter(|files| !files.is_empty())).await;
    assert_eq!(mode(&written[0]), 0o600, "{}", written[0].display());
    stream.write_all(rest).await.unwrap();
    let answer = raw::until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let stored = blobs();
    assert!(!stored.is_empty());
    for path in stored {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_is_private_to_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("other.db");
    let db = tests::Db::open(&format!("sqlite://{}", file.display())).await.unwrap();
    for path in files(folder.path()) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    db.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_cookie_from_a_sibling_host_does_not_sign_users_out() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in").await;
    reader.post(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await.assert_status(303);
    let token = reader.cookies["updraft"].clone();
    let client = app.anonymous();
    for (before, after) in [(&b"other=\xff; "[..], &b""[..]), (b"", b"; other=\xe9"), (b"\x80; x; =; ", b"; \xff\xfe")] {
        let cookies = [before, b"updraft=", token.as_bytes(), after].concat();
        let request = client.request(Method::GET, "/dashboard").header("cookie", HeaderValue::from_bytes(&cookies).unwrap());
        client.send(request).await.assert_status(200);
    }
    // A malformed cookie of ours is ignored.
    let cookies = [b"updraft=\xff".as_slice(), token.as_bytes()].concat();
    let request = client.request(Method::GET, "/dashboard").header("cookie", HeaderValue::from_bytes(&cookies).unwrap());
    client.send(request).await.assert_status(303);
}

#[tokio::test(flavor = "multi_thread")]
async fn dns_rebinding_cannot_read_bindings() {
    let app = TestApp::spawn_with(Options::default().with("BINDINGS_LISTEN", "127.0.0.1:0")).await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    let bindings = app.bindings.clone().unwrap();
    let port = bindings.rsplit_once(':').unwrap().1;
    let client = Client::new(&format!("http://{bindings}"), None);
    let ask = async |name: &str, value: &str| {
        let path = format!("/deployment%2F{staging}");
        client.send(client.request(Method::GET, &path).header(name, value)).await
    };
    for host in ["evil.example", &format!("evil.example:{port}"), "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", ""] {
        ask("host", host).await.refused(403);
    }
    for site in ["same-origin", "same-site", "cross-site", "None", ""] {
        ask("sec-fetch-site", site).await.refused(403);
    }
    // Hosts that a Worker's binding and local users send.
    for host in ["fake-host", &bindings, &format!("localhost:{port}"), "[::1]:8081", "localhost"] {
        ask("host", host).await.assert_status(200);
    }
    ask("sec-fetch-site", "none").await.assert_status(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_url_with_a_path_is_refused() {
    let app = TestApp::spawn().await;
    let read = |url: &str| {
        let mut settings = app.settings();
        settings.insert("UPDRAFT_BASE_URL".to_owned(), url.to_owned());
        Config::read(&settings).map_err(|error| error.to_string())
    };
    for url in ["https://updates.example", "https://updates.example/", "http://localhost:8080"] {
        assert!(read(url).is_ok(), "{url}");
    }
    for url in ["https://example.com/updraft", "https://example.com/a/b/"] {
        let refusal = read(url).unwrap_err();
        assert!(refusal.starts_with("UPDRAFT_BASE_URL: "), "{url}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelled_setting_is_reported() {
    let mut app = TestApp::spawn().await;
    app.stop().await;
    let mut settings = app.settings();
    settings.insert("UPDRAFT_LIMIT_LOGIN_ADRESS".to_owned(), "1/1h".to_owned());
    let log = Serving::start(&settings).await.stop().await;
    let line = log.lines().find(|line| line.contains("UPDRAFT_LIMIT_LOGIN_ADRESS")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("UPDRAFT_LIMIT_LOGIN_ADDRESS"), "{line}");
    assert_eq!(log.matches("did you mean").count(), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_not_cached_longer_than_its_url_is_valid() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let made = ada.upload("demo", "Staging", b"1", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let url = made["package"]["blobUrl"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&app.base).unwrap();
    let expires: i64 = path.split_once("expires=").unwrap().1.split_once('&').unwrap().0.parse().unwrap();
    let kept = async || {
        let answer = app.anonymous().get(path).await;
        answer.assert_status(200);
        assert_eq!(answer.header("access-control-max-age"), "86400");
        let (_, age) =
            answer.header("cache-control").split_once("max-age=").map(|(before, age)| (before.to_owned(), age.to_owned())).unwrap();
        age.split_once(',').unwrap().0.parse::<i64>().unwrap()
    };
    assert_eq!(kept().await, 86_400);
    for left in [86_399_999, 60_000, 999, 0] {
        app.clock.advance(expires - left - app.clock.now().0);
        assert_eq!(kept().await, left / 1_000, "{left} ms before the end");
    }
}

/// A PostgreSQL server without TLS that records what a client sends after being told so.
async fn server_without_tls() -> (u16, tokio::task::JoinHandle<Vec<u8>>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        stream.read_exact(&mut request).await.unwrap();
        // SSLRequest (PostgreSQL's manual, Message Formats).
        assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47]);
        stream.write_all(b"N").await.unwrap();
        let mut rest = [0; 200];
        let length = stream.read(&mut rest).await.unwrap_or(0);
        rest[..length].to_vec()
    });
    (port, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_remote_databases_require_tls() {
    let app = TestApp::spawn().await;
    // Only an address that routes to loopback but is not loopback can simulate a remote host here.
    for (host, is_told) in [("0.0.0.0", false), ("127.0.0.1", true)] {
        let (port, heard) = server_without_tls().await;
        let mut settings = app.settings();
        settings.insert("UPDRAFT_DATABASE_URL".to_owned(), format!("postgres://ada:secret@{host}:{port}/updraft"));
        // Otherwise it ends before it connects if another program has its usual port.
        settings.insert("UPDRAFT_LISTEN".to_owned(), "127.0.0.1:0".to_owned());
        let (ended, heard) = tokio::join!(run(&settings, &["serve"]), heard);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert_eq!(!heard.unwrap().is_empty(), is_told, "{host}: {ended:?}");
    }
}
