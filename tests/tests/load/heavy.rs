//! The memory of the control plane's program and of the Worker under heavy load.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use shared::hash::Sha256Hex;
use shared::time::UtcDay;
use tests::edge::EdgeApp;
use tests::output::Output;
use tests::process::Process;
use tests::program::Serving;
use tests::wait::eventually;
use tests::{Bundle, Client, Options, TestApp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use xtask::leash::{self, Leashed, StopBy};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MIB: usize = 1 << 20;
const SIZE: usize = 150 * MIB;
/// In KiB, as reported by the kernel.
const MOST_MEMORY: u64 = 120 * 1024;
/// In KiB: the growth compared to idle.
const MOST_GROWTH: u64 = 128 * 1024;

/// The program next to the test binary.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let program = own.parent().and_then(Path::parent).unwrap().join("updraft-control");
    assert!(program.is_file(), "{} is missing: run `cargo build --package control`", program.display());
    program
}

/// Writes a valid archive of at least [`SIZE`] incompressible bytes, in files of 10 MiB; returns its hash.
fn write_archive(path: &Path) -> Sha256Hex {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path).unwrap()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).compression_level(Some(1));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0_u8; MIB];
    for file in 0..SIZE / (10 * MIB) {
        archive.start_file(format!("CodePush/assets/{file}.bin"), options).unwrap();
        for _ in 0..10 {
            for word in block.chunks_exact_mut(8) {
                // xorshift64: incompressible.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                word.copy_from_slice(&state.to_le_bytes());
            }
            archive.write_all(&block).unwrap();
        }
    }
    archive.finish().unwrap().into_inner().unwrap().sync_all().unwrap();
    assert!(fs::metadata(path).unwrap().len() >= SIZE as u64);
    let mut hash = Sha256::new();
    let mut file = File::open(path).unwrap();
    loop {
        match file.read(&mut block).unwrap() {
            0 => return Sha256Hex::from_digest(hash.finalize().into()),
            count => hash.update(block.get(..count).unwrap()),
        }
    }
}

/// Uploads the archive as the first release, and returns the release.
async fn upload(owner: &Client, path: &Path) -> Value {
    let package = Part::file(path).await.unwrap().file_name("bundle.zip");
    let form = Form::new().part("package", package).text("packageInfo", json!({ "appVersion": "1.0.0" }).to_string());
    let uploaded = owner.send(owner.request(Method::POST, "/v1/apps/app/deployments/Production/releases").multipart(form)).await;
    uploaded.assert(201)["package"].take()
}

/// Downloads the release in chunks, and compares its bytes with the archive.
async fn download(package: &Value, length: u64, sha256: &Sha256Hex) {
    let url = package["blobUrl"].as_str().unwrap();
    let mut answer = Client::new("", None).request(Method::GET, url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.content_length(), Some(length));
    let mut hash = Sha256::new();
    while let Some(chunk) = answer.chunk().await.unwrap() {
        hash.update(&chunk);
    }
    assert_eq!(Sha256Hex::from_digest(hash.finalize().into()), *sha256);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_control_plane_stays_under_120_mb_for_a_150_mb_upload_and_download() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bundle.zip");
    let archive = path.clone();
    let sha256 = tokio::task::spawn_blocking(move || write_archive(&archive)).await.unwrap();

    // The program takes over database, folder and address of a server that created the account.
    let mut app = TestApp::spawn().await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let address = app.base.strip_prefix("http://").unwrap().to_owned();
    app.stop().await;
    let mut command = leash::command(program(), StopBy::Terminate);
    command.arg("serve").envs(app.settings()).env("UPDRAFT_LISTEN", address).current_dir(folder.path());
    let output = Output::default();
    let lines = output.clone();
    let mut running = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
    eventually("the program to start", async || {
        if let Some(status) = running.status() {
            output.show("control");
            panic!("the program exited with {status}");
        }
        let answer = owner.request(Method::GET, "/v1/health").send().await.map_err(|error| error.to_string())?;
        if answer.status() == 200 { Ok(()) } else { Err(answer.status().to_string()) }
    })
    .await;
    let process = Process(running.id());
    let before = process.peak();
    let package = upload(&owner, &path).await;
    let after_upload = process.peak();
    download(&package, fs::metadata(&path).unwrap().len(), &sha256).await;
    let after_download = process.peak();

    println!("control's VmHWM: {before} KiB at the start, {after_upload} KiB after the upload, {after_download} KiB after the download");
    assert!(after_download < MOST_MEMORY, "control's VmHWM is {after_download} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_stays_under_128_mb_above_idle_for_a_150_mb_upload_and_download() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("bundle.zip");
    let archive = path.clone();
    let sha256 = tokio::task::spawn_blocking(move || write_archive(&archive)).await.unwrap();
    let app = EdgeApp::spawn().await;
    let owner = app.sign_up("ada").await;
    let (key, other) = owner.create_app("app").await;
    // Everything that is loaded lazily has been used: a small upload, a download, checks.
    let small = Bundle::script("small");
    let package = owner.upload("app", "Staging", &small.0, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].take();
    download(&package, small.0.len() as u64, &Sha256Hex::from_digest(Sha256::digest(&small.0).into())).await;
    app.until_offered(&other, "v1").await;

    let runtimes = app.edge.runtimes();
    let sum = |count: fn(Process) -> u64| runtimes.iter().copied().map(count).sum::<u64>();
    let idle = sum(Process::memory);
    runtimes.iter().copied().for_each(Process::forget_peak);
    let package = upload(&owner, &path).await;
    let after_upload = sum(Process::peak);
    download(&package, fs::metadata(&path).unwrap().len(), &sha256).await;
    let after_download = sum(Process::peak);
    // It still serves.
    app.until_offered(&key, "v1").await;

    println!(
        "{} workerd: {idle} KiB idle; peak {after_upload} KiB after the upload, {after_download} KiB after the download",
        runtimes.len()
    );
    // The sum of the individual peaks is an upper bound of the total at any time.
    assert!(after_download < idle + MOST_GROWTH, "workerd went from {idle} to {after_download} KiB");
}

/// A year of days with a thousand labels each, as the daily job would have stored them.
async fn fill_history(app: &TestApp) -> (UtcDay, UtcDay) {
    let deployment = app.texts("SELECT id FROM deployments ORDER BY name DESC", &[]).await.remove(0);
    let labels = (1..=1_000).map(|number| (format!("v{number}"), json!([1_234_567, 2_345_678, 3_456_789, 4_567]))).collect();
    let labels = Value::Object(labels).to_string();
    let last = app.clock.now().utc_day();
    let first = last.plus_days(-364);
    let mut tx = app.db().write().await.unwrap();
    for number in 0..365 {
        let sql = "INSERT INTO metric_days (deployment_id, epoch, day, first_day, labels, is_closed) \
            SELECT id, counting_epoch, $2, $3, $4, TRUE FROM deployments WHERE id = $1";
        let day = first.plus_days(number);
        let stored =
            tests::on_write!(tx, |conn| sqlx::query(sql).bind(&deployment).bind(day).bind(first).bind(&labels).execute(conn).await);
        assert_eq!(stored.unwrap(), 1);
    }
    tx.commit().await.unwrap();
    (first, last)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_year_of_history_with_a_thousand_labels_is_streamed() {
    let mut app = TestApp::spawn_with(Options::default().with("LIMIT_RETENTION_DAYS", "365")).await;
    let owner = app.sign_up("ada").await;
    owner.create_app("app").await;
    let (first, last) = fill_history(&app).await;
    app.stop().await;
    let serving = Serving::start(&app.settings()).await;
    let reader = owner.at(&serving.base);
    let path = format!("/v1/apps/app/deployments/Staging/metrics/history?from={first}&to={last}");
    let before = serving.process().peak();
    // Several concurrent readers.
    let lengths = join_all((0..4).map(|_| async {
        let mut answer = reader.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let (mut length, mut end) = (0, Vec::new());
        while let Some(chunk) = answer.chunk().await.unwrap() {
            length += chunk.len();
            end = chunk.to_vec();
        }
        assert!(end.ends_with(b"}}]}"), "{}", String::from_utf8_lossy(&end));
        length
    }))
    .await;
    let after = serving.process().peak();
    println!("control's VmHWM: {before} KiB at the start, {after} KiB after four answers of {lengths:?} bytes");
    assert!(lengths.iter().all(|length| *length > 40 * MIB && *length == lengths[0]), "{lengths:?}");
    // Each response is larger than that.
    assert!(after < before + 40 * 1024, "{before} KiB before, {after} KiB after");
}

/// The connections that are opened at once.
const CONNECTIONS: usize = 4_000;

#[tokio::test(flavor = "multi_thread")]
async fn three_quarters_of_the_memory_of_4000_connections_are_returned_after_they_close() {
    let mut app = TestApp::spawn().await;
    app.stop().await;
    let serving = Serving::start(&app.settings()).await;
    control::testing::server::fit(CONNECTIONS);
    let address = serving.base.strip_prefix("http://").unwrap();
    let path = "/v1/public/svc/update_check?deployment_key=the-key-of-no-deployment-anywhere-at-all&app_version=1.0.0";
    let request = format!("GET {path} HTTP/1.1\r\nHost: control\r\n\r\n");

    let before = serving.process().memory();
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        connections.push(connection);
    }
    let mut start = [0; 12];
    for connection in &mut connections {
        connection.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 404");
    }
    let connected = serving.process().memory();
    drop(connections);
    let enough = before + connected.saturating_sub(before) / 4;
    assert!(connected > before + 16 * 1024, "the connections took too little to measure: {before} KiB before, {connected} KiB with them");
    eventually("the memory to be returned", async || {
        let after = serving.process().memory();
        if after <= enough { Ok(()) } else { Err(format!("{before} KiB before, {connected} KiB with the connections, {after} KiB now")) }
    })
    .await;
}
