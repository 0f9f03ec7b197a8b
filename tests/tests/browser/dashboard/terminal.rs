//! A CLI that waits on this machine for the browser to bring its answer.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Html;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

type Answer = BTreeMap<String, String>;

/// The CLI; it stops with the test's runtime.
pub(crate) struct Terminal {
    /// Where the browser brings the answer.
    pub(crate) address: String,
    answers: Mutex<UnboundedReceiver<Answer>>,
}

impl Terminal {
    /// Starts listening.
    pub(crate) async fn listen() -> Self {
        let (told, answers) = unbounded_channel();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}/callback", listener.local_addr().unwrap());
        let router = Router::new().route("/callback", get(take)).with_state(told);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, answers: Mutex::new(answers) }
    }

    /// The answer that the browser brought.
    pub(crate) async fn answer(&self) -> Answer {
        timeout(tests::wait::patience(), async { self.answers.lock().await.recv().await.unwrap() }).await.unwrap()
    }
}

async fn take(State(told): State<UnboundedSender<Answer>>, Query(answer): Query<Answer>) -> Html<&'static str> {
    told.send(answer).unwrap();
    Html("<!doctype html><title>Terminal</title><link rel=icon href=\"data:,\"><p>The terminal has its answer")
}
