//! A bucket: a real S3 server that checks signatures, and keeps its objects as files.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::interval;

/// The bucket's name.
const NAME: &str = "bundles";
/// The credentials that it accepts.
const ID: &str = "AKIATESTS";
const SECRET: &str = "secret-of-the-tests";
/// More parts than any test sends.
const NEVER: i64 = i64::MAX;

/// How an object is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// A byte now and then.
    Slow,
    /// The connection breaks after the head of the response.
    Broken,
    /// As usual, once reads are mended.
    Held,
}

/// The objects that are not read as usual, by name.
#[derive(Debug, Default)]
struct Readings {
    of: Mutex<HashMap<String, Reading>>,
    /// How many responses were slow, or held.
    slow: AtomicUsize,
    /// Tells of the end of a hold.
    held: Arc<Notify>,
}

impl Readings {
    fn set(&self, name: &str, reading: Reading) {
        self.of.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), reading);
    }

    fn of(&self, request: &Request) -> Option<Reading> {
        let name = request.uri().path().strip_prefix(&format!("/{NAME}/"))?;
        let readings = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        readings.get(name).copied().filter(|_| *request.method() == Method::GET)
    }
}

/// A server with one bucket. It runs on threads of its own, so that it can die at once, with all its connections.
#[derive(Debug)]
pub struct TestBucket {
    address: SocketAddr,
    root: TempDir,
    /// How many parts it takes before it stops answering.
    parts: Arc<AtomicI64>,
    /// Whether it then gives no answer at all, instead of an error.
    stalls: Arc<AtomicBool>,
    readings: Arc<Readings>,
    runtime: Option<Runtime>,
}

impl TestBucket {
    /// Starts a server with an empty bucket.
    pub fn start() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::create_dir(root.path().join(NAME)).unwrap();
        let parts = Arc::new(AtomicI64::new(NEVER));
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut bucket = Self { address, root, parts, stalls: Arc::default(), readings: Arc::default(), runtime: None };
        bucket.start_again();
        bucket
    }

    /// Starts the server again, on the same address and with the same objects.
    pub fn start_again(&mut self) {
        let mut builder = S3ServiceBuilder::new(FileSystem::new(self.root.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(ID, SECRET));
        let service = builder.build();
        self.parts.store(NEVER, Ordering::SeqCst);
        self.stalls.store(false, Ordering::SeqCst);
        let (parts, stalls, readings) = (Arc::clone(&self.parts), Arc::clone(&self.stalls), Arc::clone(&self.readings));
        let answer = move |request: Request| {
            let (service, reading) = (service.clone(), readings.of(&request));
            let (parts, stalls, readings) = (Arc::clone(&parts), Arc::clone(&stalls), Arc::clone(&readings));
            async move {
                let response = answer(service, parts, stalls, request).await;
                match reading {
                    Some(reading) => read(response, reading, &readings),
                    None => response,
                }
            }
        };
        let listener = std::net::TcpListener::bind(self.address).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.address = listener.local_addr().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, Router::new().fallback(answer)).await.unwrap();
        });
        self.runtime = Some(runtime);
    }

    /// Stops the server at once.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// From the part after `count` others on, requests fail, as those to a server that dies.
    pub fn fail_after_parts(&self, count: i64) {
        self.parts.store(count, Ordering::SeqCst);
    }

    /// From the part after `count` others on, requests get no answer, and their connections stay open.
    pub fn stall_after_parts(&self, count: i64) {
        self.stalls.store(true, Ordering::SeqCst);
        self.parts.store(count, Ordering::SeqCst);
    }

    /// Whether a request got no answer.
    pub fn is_stalled(&self) -> bool {
        self.stalls.load(Ordering::SeqCst) && self.parts.load(Ordering::SeqCst) < 0
    }

    /// From now on, the object is read a byte at a time, and never to its end.
    pub fn slow_down(&self, name: &str) {
        self.readings.set(name, Reading::Slow);
    }

    /// How many times an object was read that slowly.
    pub fn slow_reads(&self) -> usize {
        self.readings.slow.load(Ordering::SeqCst)
    }

    /// From now on, the connection breaks when the object is read.
    pub fn break_reads(&self, name: &str) {
        self.readings.set(name, Reading::Broken);
    }

    /// From now on, reads of the object wait until reads are mended.
    pub fn hold_reads(&self, name: &str) {
        self.readings.set(name, Reading::Held);
    }

    /// From now on, all objects are read as usual.
    pub fn mend_reads(&self) {
        self.readings.of.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.readings.held.notify_waiters();
    }

    /// The address, as `UPDRAFT_STORAGE` has it.
    pub fn storage(&self) -> String {
        format!("s3://{NAME}?endpoint=http://{}&region=us-east-1", self.address)
    }

    /// The settings of a service that stores its bundles here, by their full names.
    pub fn settings(&self) -> [(String, String); 3] {
        [("UPDRAFT_STORAGE", self.storage().as_str()), ("AWS_ACCESS_KEY_ID", ID), ("AWS_SECRET_ACCESS_KEY", SECRET)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }

    /// The names of the objects, sorted.
    pub fn objects(&self) -> Vec<String> {
        let root = self.root.path().join(NAME);
        let mut names = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() { folders.push(path) } else { names.push(name(&path, &root)) }
            }
        }
        names.sort_unstable();
        names
    }

    /// The bytes of an object; `None` if it is not there.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.root.path().join(NAME).join(name)).ok()
    }

    /// Changes the bytes of an object behind everybody's back.
    pub fn damage(&self, name: &str) {
        let path = self.root.path().join(NAME).join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }

    /// Replaces the bytes of an object behind everybody's back.
    pub fn replace(&self, name: &str, bytes: &[u8]) {
        let path = self.root.path().join(NAME).join(name);
        assert!(path.is_file(), "{name} is not there");
        std::fs::write(path, bytes).unwrap();
    }

    /// Deletes an object behind everybody's back.
    pub fn lose(&self, name: &str) {
        std::fs::remove_file(self.root.path().join(NAME).join(name)).unwrap();
    }

    /// Deletes every object.
    pub fn lose_objects(&self) {
        let root = self.root.path().join(NAME);
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::create_dir(root).unwrap();
    }

    /// How many uploads in parts have begun and not ended.
    pub fn open_uploads(&self) -> usize {
        let names = std::fs::read_dir(self.root.path()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".upload-")).count()
    }

    /// How many parts of such uploads it keeps.
    pub fn parts(&self) -> usize {
        let names = std::fs::read_dir(self.root.path()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".upload_id-")).count()
    }
}

impl Drop for TestBucket {
    fn drop(&mut self) {
        self.stop();
    }
}

fn name(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

/// The same response with another body.
fn read(response: Response, reading: Reading, readings: &Readings) -> Response {
    let (head, body) = response.into_parts();
    let body = match reading {
        Reading::Broken => Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::other("broken by the test"))])),
        Reading::Held => {
            // Waits from now on, not from the first poll on.
            let mut released = Box::pin(Arc::clone(&readings.held).notified_owned());
            released.as_mut().enable();
            readings.slow.fetch_add(1, Ordering::SeqCst);
            Body::from_stream(released.map(|()| body.into_data_stream()).flatten_stream())
        }
        Reading::Slow => {
            readings.slow.fetch_add(1, Ordering::SeqCst);
            let ticks = stream::unfold(interval(Duration::from_millis(200)), async |mut ticks| {
                ticks.tick().await;
                Some(((), ticks))
            });
            // The real length is in the head, so the client waits for more.
            drop(body);
            Body::from_stream(ticks.map(|()| Ok::<_, io::Error>(Bytes::from_static(b"x"))).take(60).chain(stream::pending()))
        }
    };
    Response::from_parts(head, body)
}

async fn answer(mut service: S3Service, parts: Arc<AtomicI64>, stalls: Arc<AtomicBool>, request: Request) -> Response {
    let is_part = request.uri().query().is_some_and(|query| query.contains("partNumber="));
    let left = if is_part { parts.fetch_sub(1, Ordering::SeqCst) } else { parts.load(Ordering::SeqCst) };
    if left <= 0 {
        if stalls.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    match tower::Service::call(&mut service, request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:?}")).into_response(),
    }
}
