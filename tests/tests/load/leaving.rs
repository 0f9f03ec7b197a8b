//! Clients that disconnect while their request is waiting: their memory must be freed, or a stranger could exhaust the isolate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use socket2::SockRef;
use tests::output::Output;
use tests::process::Process;
use tests::self_hosted::workerd;
use tests::wait::eventually;
use tests::{Client, raw};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use xtask::probe;

const DEVICES: usize = 64;
const WARM: usize = 5_000;
const LEAVING: usize = 20_000;
/// In KiB. A leaked client would cost about 17 KiB, in total more than twice this.
const MOST_GROWTH: u64 = 128 * 1024;

/// A KV stand-in that signals when a key is requested, and responds once its client is gone.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<HashMap<String, DayRange>>>);

struct DayRange {
    is_asked: oneshot::Sender<()>,
    has_gone: oneshot::Receiver<()>,
}

async fn answer(State(store): State<Store>, Path(name): Path<String>) -> StatusCode {
    let asked = store.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
    if let Some(asked) = asked {
        let _nobody_waits = asked.is_asked.send(());
        let _gone = asked.has_gone.await;
    }
    StatusCode::NOT_FOUND
}

/// Requests an unknown deployment, and aborts the connection while the Worker looks it up.
async fn leave(base: &str, store: &Store, number: usize) {
    let key = format!("nobody-knows-this-{number}");
    let ((is_asked, seen), (go, has_gone)) = (oneshot::channel(), oneshot::channel());
    store.0.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("deployment/{key}"), DayRange { is_asked, has_gone });
    let mut stream = raw::connect(base).await;
    let request = format!("GET /v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    seen.await.unwrap();
    // A reset, which the runtime notices immediately.
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    let _not_waiting = go.send(());
}

async fn leave_many(base: &str, store: &Store, numbers: std::ops::Range<usize>) {
    let mut devices = JoinSet::new();
    for device in 0..DEVICES {
        let (base, store, numbers) = (base.to_owned(), store.clone(), numbers.clone());
        devices.spawn(async move {
            for number in numbers.skip(device).step_by(DEVICES) {
                leave(&base, &store, number).await;
            }
        });
    }
    devices.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workerd_frees_the_memory_of_clients_that_disconnect() {
    let store = Store::default();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = Router::new().route("/{name}", get(answer)).with_state(store.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let port = probe::free_port().unwrap();
    let base = format!("http://127.0.0.1:{port}");
    let workerd = workerd(port, &address, &address, &[("CLIENT_ADDRESS", "peer")]);
    let output = Output::default();
    let lines = output.clone();
    let edge = workerd.start(move |line| lines.push(line)).unwrap();
    let client = Client::new(&base, None);
    eventually("the Worker to start", async || {
        client.request(reqwest::Method::GET, "/internal").send().await.map(drop).map_err(|error| error.to_string())
    })
    .await;

    let process = Process(edge.id());
    leave_many(&base, &store, 0..WARM).await;
    let before = process.memory();
    leave_many(&base, &store, WARM..WARM + LEAVING).await;
    let after = process.memory();
    println!("workerd: {before} KiB after {WARM} clients that left, {after} KiB after {LEAVING} more");
    assert!(after < before + MOST_GROWTH, "workerd went from {before} to {after} KiB");
    client.get("/internal").await.refused(404);
}
