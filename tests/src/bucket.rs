//! A bucket: a real S3 server that checks signatures, and keeps its objects as files.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The bucket's name.
const NAME: &str = "bundles";
/// The credentials that it accepts.
const ID: &str = "AKIATESTS";
const SECRET: &str = "secret-of-the-tests";
/// More parts than any test sends.
const NEVER: i64 = i64::MAX;

/// A server with one bucket. It runs on threads of its own, so that it can die at once, with all its connections.
#[derive(Debug)]
pub struct TestBucket {
    address: SocketAddr,
    root: TempDir,
    /// How many parts it takes before it stops answering.
    parts: Arc<AtomicI64>,
    /// Whether it then gives no answer at all, instead of an error.
    stalls: Arc<AtomicBool>,
    runtime: Option<Runtime>,
}

impl TestBucket {
    /// Starts a server with an empty bucket.
    pub fn start() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::create_dir(root.path().join(NAME)).unwrap();
        let parts = Arc::new(AtomicI64::new(NEVER));
        let mut bucket = Self { address: SocketAddr::from(([127, 0, 0, 1], 0)), root, parts, stalls: Arc::default(), runtime: None };
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
        let (parts, stalls) = (Arc::clone(&self.parts), Arc::clone(&self.stalls));
        let answer = move |request: Request| answer(service.clone(), Arc::clone(&parts), Arc::clone(&stalls), request);
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
