//! A stand-in for Cloudflare's Turnstile as documented: a token passes once. Its script creates a frame and a token.

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

/// The service's secret at the verifier.
pub const SECRET: &str = "turnstile-secret-of-the-tests";

/// The effect of its script on a page: a frame in each placeholder, and a field with a valid token.
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

/// How the verifier responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// Normal: a token that starts with `good` passes once, others never.
    Normal,
    /// This status with an invalid body.
    ErrorStatus(u16),
    /// 200 with an invalid body.
    InvalidBody,
    /// 200 with an endless body.
    EndlessBody,
    /// A redirect.
    Redirect,
    /// An error of the verifier itself.
    InternalError,
    /// No response.
    Silent,
}

/// The verifier; it stops with the test's runtime.
#[derive(Clone, Debug)]
pub struct Turnstile {
    /// Its URL.
    pub url: String,
    /// The URL of the script for pages.
    pub script: String,
    state: Shared,
}

type Shared = Arc<Mutex<Inner>>;

#[derive(Debug)]
struct Inner {
    behavior: Behavior,
    spent: HashSet<String>,
    asked: Vec<Value>,
}

impl Turnstile {
    /// Starts a verifier with normal behavior.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(Inner { behavior: Behavior::Normal, spent: HashSet::new(), asked: Vec::new() }));
        let script = async || ([("content-type", "text/javascript")], SCRIPT);
        let frame = async || Html("<!doctype html><html lang=en><title>Human verification</title><p>Human");
        let pages = Router::new().route("/api.js", get(script)).route("/frame", get(frame));
        let router = Router::new().route("/siteverify", post(verify)).with_state(Arc::clone(&state)).merge(pages);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url: format!("{base}/siteverify"), script: format!("{base}/api.js"), state }
    }

    /// Options of a server that uses this verifier.
    pub fn options(&self, options: Options) -> Options {
        options.with("TURNSTILE_SECRET", SECRET).with("TURNSTILE_SITE_KEY", "site-key").with("TURNSTILE_URL", &self.url)
    }

    /// Sets its behavior from now on.
    pub fn set(&self, behavior: Behavior) {
        lock(&self.state).behavior = behavior;
    }

    /// The requests so far, as objects.
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
    let behavior = {
        let mut state = lock(&state);
        state.asked.push(question.clone());
        state.behavior
    };
    let refuse = |code: &str| Json(json!({ "success": false, "error-codes": [code] })).into_response();
    match behavior {
        Behavior::Normal if question["secret"] != SECRET => refuse("invalid-input-secret"),
        Behavior::Normal => match question["response"].as_str().filter(|token| token.starts_with("good")) {
            None => refuse("invalid-input-response"),
            Some(token) if !lock(&state).spent.insert(token.to_owned()) => refuse("timeout-or-duplicate"),
            Some(_) => Json(json!({ "success": true, "error-codes": [], "hostname": "localhost" })).into_response(),
        },
        Behavior::ErrorStatus(status) => (StatusCode::from_u16(status).unwrap(), Json(json!({ "success": true }))).into_response(),
        Behavior::InvalidBody => "success".into_response(),
        Behavior::EndlessBody => format!("{{\"success\": true, \"padding\": \"{}\"}}", "x".repeat(1 << 20)).into_response(),
        Behavior::Redirect => (StatusCode::TEMPORARY_REDIRECT, [("location", "/siteverify?again")]).into_response(),
        Behavior::InternalError => refuse("internal-error"),
        Behavior::Silent => std::future::pending().await,
    }
}
