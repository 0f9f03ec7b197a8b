//! A verifier of challenges in place of Cloudflare's, as its documentation describes it: a token passes once. Its script makes a frame, and a token.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::Options;

/// The secret that it knows the service by.
pub const SECRET: &str = "turnstile-secret-of-the-tests";

/// What its script does to a page: a frame of its own in each place for one, and a field with a token that passes.
const SCRIPT: &str = r#"
    const { origin } = new URL(document.currentScript.src);
    const show = () => {
        for (const place of document.querySelectorAll(".cf-turnstile")) {
            const frame = document.createElement("iframe");
            Object.assign(frame, { src: `${origin}/frame`, title: "Human verification", width: 300, height: 65 });
            frame.style.border = "0";
            const field = document.createElement("input");
            Object.assign(field, { type: "hidden", name: place.dataset.responseFieldName, value: `good-${crypto.randomUUID()}` });
            place.append(frame, field);
        }
    };
    if (document.readyState === "loading") {
        addEventListener("DOMContentLoaded", show);
    } else {
        show();
    }
"#;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// As it should: a token that begins with `good` passes once, any other never.
    Well,
    /// With this status and no sense.
    Broken(u16),
    /// With 200 and no sense.
    Nonsense,
    /// With 200 and more than anybody should read.
    Endless,
    /// To another address.
    Moved,
    /// That the fault is the verifier's.
    OwnFault,
    /// Never.
    Silent,
}

/// The verifier; it ends with the test's runtime.
#[derive(Clone, Debug)]
pub struct Turnstile {
    /// The address to post to.
    pub url: String,
    /// The address of the script for pages.
    pub script: String,
    state: Shared,
}

type Shared = Arc<Mutex<Inner>>;

#[derive(Debug)]
struct Inner {
    mood: Mood,
    spent: HashSet<String>,
    asked: Vec<Value>,
}

impl Turnstile {
    /// Starts a verifier that answers well.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(Inner { mood: Mood::Well, spent: HashSet::new(), asked: Vec::new() }));
        let script = async || ([("content-type", "text/javascript")], SCRIPT);
        let frame = async || Html("<!doctype html><html lang=en><title>Human verification</title><p>Human");
        let pages = Router::new().route("/api.js", get(script)).route("/frame", get(frame));
        let router = Router::new().route("/siteverify", post(verify)).with_state(Arc::clone(&state)).merge(pages);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url: format!("{base}/siteverify"), script: format!("{base}/api.js"), state }
    }

    /// Options of a server that asks this verifier.
    pub fn options(&self, options: Options) -> Options {
        options.with("TURNSTILE_SECRET", SECRET).with("TURNSTILE_SITE_KEY", "site-key").with("TURNSTILE_URL", &self.url)
    }

    /// How it answers from now on.
    pub fn set(&self, mood: Mood) {
        lock(&self.state).mood = mood;
    }

    /// The questions so far, as objects.
    pub fn asked(&self) -> Vec<Value> {
        lock(&self.state).asked.clone()
    }
}

fn lock(state: &Shared) -> std::sync::MutexGuard<'_, Inner> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn verify(State(state): State<Shared>, body: Bytes) -> Response {
    let fields = form_urlencoded::parse(&body).into_owned();
    let question: Value = fields.map(|(name, value)| (name, Value::from(value))).collect::<serde_json::Map<_, _>>().into();
    let mood = {
        let mut state = lock(&state);
        state.asked.push(question.clone());
        state.mood
    };
    let refuse = |code: &str| Json(json!({ "success": false, "error-codes": [code] })).into_response();
    match mood {
        Mood::Well if question["secret"] != SECRET => refuse("invalid-input-secret"),
        Mood::Well => match question["response"].as_str().filter(|token| token.starts_with("good")) {
            None => refuse("invalid-input-response"),
            Some(token) if !lock(&state).spent.insert(token.to_owned()) => refuse("timeout-or-duplicate"),
            Some(_) => Json(json!({ "success": true, "error-codes": [], "hostname": "localhost" })).into_response(),
        },
        Mood::Broken(status) => (StatusCode::from_u16(status).unwrap(), Json(json!({ "success": true }))).into_response(),
        Mood::Nonsense => "success".into_response(),
        Mood::Endless => format!("{{\"success\": true, \"padding\": \"{}\"}}", "x".repeat(1 << 20)).into_response(),
        Mood::Moved => (StatusCode::TEMPORARY_REDIRECT, [("location", "/siteverify?again")]).into_response(),
        Mood::OwnFault => refuse("internal-error"),
        Mood::Silent => std::future::pending().await,
    }
}
