//! 200 parallel downloads of a bundle of 50 MB: from the data folder and from a bucket, through the control plane with verification, and of the same file from
//! nginx. All in turn, on the same machine: only the ratios mean something elsewhere.
//!
//! The program is the one in `UPDRAFT_CONTROL`, nginx the one in `UPDRAFT_NGINX`. Fails if the control plane needs more than 100 MB of memory. The bucket's server runs
//! in this process, so its work takes time from the control plane's.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tests::bucket::TestBucket;
use tests::process::Process;
use tests::program::Serving;
use tests::random::Random;
use tests::soak::server::Place;
use tests::wait::until;
use tests::{Client, Clock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::JoinSet;

const SIZE: usize = 50_000_000;
const AT_ONCE: usize = 200;
const ROUNDS: usize = 3;
/// The most memory of the control plane, in KiB.
const MOST_MEMORY: u64 = 100_000;

/// A server and the path of the file.
struct Subject {
    name: &'static str,
    address: String,
    path: String,
    processes: Vec<Process>,
    /// The figures of each round: MB/s, CPU seconds per GB, peak memory in KiB.
    rounds: Vec<(f64, f64, u64)>,
}

/// Downloads a file, and returns how many bytes the whole answer had.
async fn download(address: String, path: String) -> usize {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let (mut buffer, mut size) = (vec![0; 256 << 10], 0);
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return size,
            count => size += count,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark takes minutes")]
fn seconds(milliseconds: i64) -> f64 {
    milliseconds as f64 / 1_000.0
}

impl Subject {
    async fn round(&mut self) {
        let cpu = |processes: &[Process]| processes.iter().map(|process| process.cpu()).sum::<f64>();
        self.processes.iter().for_each(|process| process.forget_peak());
        let (before, begun) = (cpu(&self.processes), Clock::System.now());
        let mut downloads = JoinSet::new();
        for _ in 0..AT_ONCE {
            downloads.spawn(download(self.address.clone(), self.path.clone()));
        }
        for size in downloads.join_all().await {
            assert!((SIZE..SIZE + 4_096).contains(&size), "{}: an answer of {size} bytes", self.name);
        }
        let (took, used) = (seconds(Clock::System.now().0 - begun.0), cpu(&self.processes) - before);
        let megabytes = 50.0 * 200.0;
        let peak = self.processes.iter().map(|process| process.peak()).sum();
        let figures = (megabytes / took, used / (megabytes / 1_000.0), peak);
        println!("{:<24} {:>7.0} MB/s {:>7.2} CPU s/GB {:>6} MB peak", self.name, figures.0, figures.1, figures.2 / 1_000);
        self.rounds.push(figures);
    }

    fn median(&self, of: impl Fn(&(f64, f64, u64)) -> f64) -> f64 {
        let mut values: Vec<f64> = self.rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }
}

/// nginx, serving a folder. When it is dropped, it is asked to end, because killing it would leave its workers running.
struct Nginx(Process);

impl Drop for Nginx {
    fn drop(&mut self) {
        let id = i32::try_from(self.0.0).ok().and_then(Pid::from_raw);
        let _gone = id.map(|id| kill_process(id, Signal::TERM));
    }
}

async fn nginx(folder: &Path, port: u16) -> Nginx {
    let file = folder.join("nginx.conf");
    let place = folder.display();
    let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
    let temporary =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {place}/temporary;")).join(" ");
    let text = format!(
        "daemon off; {user} worker_processes auto; pid {place}/nginx.pid; error_log {place}/errors; events {{ worker_connections 1024; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; {temporary} server {{ listen 127.0.0.1:{port}; root {place}/files; }} }}\n"
    );
    fs::write(&file, text).unwrap();
    let mut command = Command::new(std::env::var_os("UPDRAFT_NGINX").unwrap());
    command.arg("-c").arg(&file).arg("-e").arg(folder.join("errors")).stdin(Stdio::null());
    let server = Nginx(Process(command.spawn().unwrap().id().unwrap()));
    until("nginx listens", async || TcpStream::connect(("127.0.0.1", port)).await.ok()).await;
    server
}

/// Uploads the file, and returns the path of its download.
async fn release(serving: &Serving, token: String, bytes: &[u8]) -> String {
    let client = Client::new(&serving.base, Some(token));
    client.create_app("demo").await;
    let released = client.upload("demo", "Production", bytes, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let url = released["package"]["blobUrl"].as_str().unwrap().to_owned();
    url[url.find("/v1/").unwrap()..].to_owned()
}

fn host(base: &str) -> String {
    base.strip_prefix("http://").unwrap().to_owned()
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut random = Random::new(1);
    let bytes: Vec<u8> = (0..SIZE / 8).flat_map(|_| random.bits().to_le_bytes()).collect();

    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("files")).unwrap();
    fs::write(folder.path().join("files/bundle"), &bytes).unwrap();
    // Free now; nothing else on this machine takes one meanwhile.
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let server = nginx(folder.path(), port).await;
    let workers = server.0.descendants("nginx");

    let (place, token) = Place::make(10).await;
    let of_folder = place.start().await;
    let path = release(&of_folder, token, &bytes).await;
    let bucket = TestBucket::start();
    let (mut second, token) = Place::make(10).await;
    second.set(bucket.settings());
    let of_bucket = second.start().await;
    let path_of_bucket = release(&of_bucket, token, &bytes).await;

    let subject = |name, address, path, processes| Subject { name, address, path, processes, rounds: Vec::new() };
    let mut subjects = [
        subject("nginx", format!("127.0.0.1:{port}"), "/bundle".to_owned(), workers),
        subject("control, data folder", host(&of_folder.base), path, vec![of_folder.process()]),
        subject("control, bucket", host(&of_bucket.base), path_of_bucket, vec![of_bucket.process()]),
    ];
    println!("{AT_ONCE} parallel downloads of {SIZE} bytes, {ROUNDS} rounds");
    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            subject.round().await;
        }
    }
    let [of_nginx, rest @ ..] = &subjects;
    let mut is_too_large = false;
    for subject in rest {
        let (speed, cpu) = (subject.median(|round| round.0) / of_nginx.median(|round| round.0), subject.median(|round| round.1));
        let peak = subject.rounds.iter().map(|round| round.2).max().unwrap();
        is_too_large |= peak > MOST_MEMORY;
        println!(
            "{}: {:.0} % of the throughput of nginx (aim: 50 %), {cpu:.2} CPU s/GB (nginx {:.2}), {} MB of memory (bound: 100 MB)",
            subject.name,
            speed * 100.0,
            of_nginx.median(|round| round.1),
            peak / 1_000
        );
    }
    of_folder.stop().await;
    of_bucket.stop().await;
    if is_too_large { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
