//! A stand-in for another CodePush server with the shapes of the reference's management API, whose answers can be slow, cut off, wrong or refused.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Response, StatusCode, Uri, header};
use axum::{Router, serve};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What goes wrong with one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The server has a fault, and says so in plain text.
    Fails,
    /// It has no time now.
    Busy,
    /// The address has expired.
    Expired,
    /// The connection breaks in the middle.
    Cut,
    /// One byte is another one.
    Broken,
    /// It comes in many small parts.
    Slow,
}

#[derive(Debug, Default)]
struct Contents {
    answers: HashMap<String, Vec<u8>>,
    troubles: BTreeMap<String, VecDeque<Trouble>>,
    asked: Vec<(Method, String)>,
}

/// A deployment's name, its key and its history.
pub type OldDeployment<'d> = (&'d str, &'d str, Value);

/// The server; it stops with the test's runtime.
#[derive(Clone, Debug)]
pub struct OldServer {
    /// Its URL, without a trailing slash.
    pub base: String,
    contents: Arc<Mutex<Contents>>,
}

impl OldServer {
    /// Starts a server that has nothing.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let contents = Arc::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&contents));
        tokio::spawn(async move { serve(listener, router).await });
        Self { base, contents }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        change(&mut self.contents.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a path of the management API, or a package, answers from now on.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.change(|contents| contents.answers.insert(path.to_owned(), bytes));
    }

    /// The apps with their deployments: app, collaborators, deployments.
    pub fn put_apps(&self, apps: &[(&str, Value, &[OldDeployment<'_>])]) {
        let listed: Vec<_> = apps.iter().map(|(name, collaborators, _)| json!({ "name": name, "collaborators": collaborators })).collect();
        self.put("/apps", json!({ "apps": listed }).to_string());
        for (app, _, deployments) in apps {
            let listed: Vec<_> = deployments.iter().map(|(name, key, _)| json!({ "name": name, "key": key })).collect();
            self.put(&format!("/apps/{app}/deployments"), json!({ "deployments": listed }).to_string());
            for (name, _, history) in *deployments {
                self.put(&format!("/apps/{app}/deployments/{name}/history"), json!({ "history": history }).to_string());
                self.put(&format!("/apps/{app}/deployments/{name}/metrics"), json!({ "metrics": {} }).to_string());
            }
        }
    }

    /// What goes wrong with the next answers of a path.
    pub fn trouble(&self, path: &str, troubles: &[Trouble]) {
        self.change(|contents| contents.troubles.entry(path.to_owned()).or_default().extend(troubles));
    }

    /// How often a package was asked for so far.
    pub fn downloads(&self) -> usize {
        self.asked().iter().filter(|(_, path)| path.starts_with("/blobs/")).count()
    }

    /// The requests so far: method and path.
    pub fn asked(&self) -> Vec<(Method, String)> {
        self.change(|contents| contents.asked.clone())
    }

    /// The troubles that did not happen.
    pub fn left(&self) -> BTreeMap<String, VecDeque<Trouble>> {
        self.change(|contents| contents.troubles.clone().into_iter().filter(|(_, left)| !left.is_empty()).collect())
    }
}

async fn answer(State(contents): State<Arc<Mutex<Contents>>>, method: Method, uri: Uri) -> Response<Body> {
    let path = uri.path().to_owned();
    let (bytes, trouble) = {
        let mut contents = contents.lock().unwrap_or_else(PoisonError::into_inner);
        contents.asked.push((method, path.clone()));
        // With its query, if that is another answer.
        let answer = contents.answers.get(&uri.to_string()).or_else(|| contents.answers.get(&path)).cloned();
        (answer, contents.troubles.get_mut(&path).and_then(VecDeque::pop_front))
    };
    let text = |status: StatusCode, text: &'static str| {
        Response::builder().status(status).header(header::CONTENT_TYPE, "text/plain; charset=utf-8").body(Body::from(text)).unwrap()
    };
    let Some(mut bytes) = bytes else { return text(StatusCode::NOT_FOUND, "The specified resource was not found.") };
    let length = bytes.len();
    let sent = Response::builder().header(header::CONTENT_LENGTH, length);
    let parts = |parts: Vec<Result<Bytes, std::io::Error>>| Body::from_stream(stream::iter(parts));
    let body = match trouble {
        None => Body::from(bytes),
        Some(Trouble::Fails) => return text(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong"),
        Some(Trouble::Expired) => return text(StatusCode::FORBIDDEN, "Server failed to authenticate the request"),
        Some(Trouble::Busy) => {
            let mut refused = text(StatusCode::TOO_MANY_REQUESTS, "Too many requests");
            refused.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("0"));
            return refused;
        }
        Some(Trouble::Cut) => parts(vec![Ok(Bytes::copy_from_slice(&bytes[..length / 2])), Err(std::io::Error::other("cut"))]),
        Some(Trouble::Broken) => {
            bytes[length / 2] ^= 1;
            Body::from(bytes)
        }
        Some(Trouble::Slow) => parts(bytes.chunks(7).map(|part| Ok(Bytes::copy_from_slice(part))).collect()),
    };
    sent.body(body).unwrap()
}
