//! Resource exhaustion by connections: slow heads, idle connections, stalled bodies, too many connections, unrequested HTTP/2.

use serde_json::json;
use shared::signature::{Secrets, sign_address};
use tests::app::EDGE_SECRET;
use tests::program::Serving;
use tests::raw::{connect, connect_from, parts, read_answer, until_closed};
use tests::reports::batch;
use tests::wait::until;
use tests::{Options, TestApp};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A complete request that keeps the connection open.
const LIVE: &[u8] = b"GET /v1/health?live HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The head of a request whose body is requested once the server reads it.
const WAITING: &[u8] =
    b"POST /v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 20\r\nexpect: 100-continue\r\n\r\n";

async fn served(stream: &mut TcpStream) {
    stream.write_all(LIVE).await.unwrap();
    let answer = read_answer(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Makes a connection busy: the server waits for the body of its request.
async fn occupy(stream: &mut TcpStream) {
    stream.write_all(WAITING).await.unwrap();
    let mut said = [0; 25];
    tokio::io::AsyncReadExt::read_exact(stream, &mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
}

/// Whether a connection is served rather than closed at once.
async fn is_taken(stream: &mut TcpStream) -> bool {
    if stream.write_all(LIVE).await.is_err() {
        return false;
    }
    let mut first = [0; 1];
    tokio::io::AsyncReadExt::read(stream, &mut first).await.is_ok_and(|read| read == 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_request_head_times_out() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_REQUEST_HEAD", "50ms")).await;
    let mut fresh = connect(&app.base).await;
    let mut used = connect(&app.base).await;
    served(&mut used).await;
    for stream in [&mut fresh, &mut used] {
        stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: loc").await.unwrap();
        assert_eq!(until_closed(stream).await, "");
    }
    app.anonymous().get("/v1/health").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_sent_in_one_write() {
    let app = TestApp::spawn().await;
    let mut stream = connect(&app.base).await;
    for (method, path, status) in [("GET", "/v1/health?live", 200), ("PUT", "/v1/health", 405), ("GET", "/v1/nowhere", 404)] {
        stream.write_all(format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        let mut first = vec![0; 8192];
        let length = tokio::io::AsyncReadExt::read(&mut stream, &mut first).await.unwrap();
        let first = String::from_utf8_lossy(&first[..length]);
        assert!(first.starts_with(&format!("HTTP/1.1 {status}")), "{first}");
        // A body in a second packet would wait for the client's delayed ACK: 40 ms for each refusal.
        assert!(first.ends_with('}'), "the body is missing: {first}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_is_closed() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_CONNECTION_IDLE", "50ms")).await;
    let mut silent = connect(&app.base).await;
    assert_eq!(until_closed(&mut silent).await, "");
    let mut used = connect(&app.base).await;
    used.write_all(LIVE).await.unwrap();
    let answer = until_closed(&mut used).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_nobody_reads_times_out() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_CONNECTION_IDLE", "500ms")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    // More than the buffers of both sides hold.
    let bundle = vec![b'x'; 24 << 20];
    let made = ada.upload("demo", "Staging", &bundle, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let url = made["package"]["blobUrl"].as_str().unwrap().to_owned();
    let path = url.strip_prefix(&app.base).unwrap();
    let mut stream = connect(&app.base).await;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    // Nothing is read before the server has closed the connection and the file.
    until("the download to time out", async || (app.state().front.connections.count() == 0).then_some(())).await;
    let received = until_closed(&mut stream).await;
    assert!(received.len() < bundle.len(), "{} bytes came", received.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_body_times_out() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_BODY_PAUSE", "50ms")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let request = ada.request(reqwest::Method::POST, "/v1/apps/demo/deployments/Staging/releases");
    let (head, body) =
        parts(request.header("content-type", "multipart/form-data; boundary=x").body("x".repeat(1_000)).build().unwrap()).await;
    let mut stream = connect(&app.base).await;
    stream.write_all(&head).await.unwrap();
    stream.write_all(&body[..500]).await.unwrap();
    let answer = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

/// The head of a request that claims, with this signature, to come from the edge.
fn forwarded(path: &str, signature: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\nx-updraft-client-address: 198.51.100.9\r\n\
         x-updraft-address-signature: {signature}\r\n\r\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_edge_signature_does_not_extend_timeouts() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_BODY_PAUSE", "1h")).await;
    // A body is read for a minute before an edge is refused. In sequence these would exceed the test's timeout.
    let mut unauthenticated = Vec::new();
    for _ in 0..4 {
        let mut stream = connect(&app.base).await;
        stream.write_all(format!("{}x", forwarded("/v1/nowhere", "t=1,v1=00")).as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "no response before the body: {answer}");
        unauthenticated.push(stream);
    }
    // A body signed by the edge is read to its end, so that the edge's client gets the response.
    let signature = sign_address(&Secrets::parse(EDGE_SECRET).unwrap(), "POST", "/v1/nowhere", app.clock.now(), "198.51.100.9");
    let mut edge = connect(&app.base).await;
    edge.write_all(format!("{}{}", forwarded("/v1/nowhere", &signature), "x".repeat(1_000)).as_bytes()).await.unwrap();
    let answer = read_answer(&mut edge).await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.to_lowercase().contains("connection: close"), "{answer}");
    served(&mut edge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_not_used_unless_enabled() {
    // The preface, and an empty SETTINGS frame.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let app = TestApp::spawn().await;
    let mut stream = connect(&app.base).await;
    stream.write_all(preface).await.unwrap();
    let answer = until_closed(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer:?}");

    let app = TestApp::spawn_with(Options::default().with("HTTP2", "on")).await;
    let mut stream = connect(&app.base).await;
    stream.write_all(preface).await.unwrap();
    let mut frame = [0; 9];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "the server sends SETTINGS: {frame:?}");
    served(&mut connect(&app.base).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_evicts_the_longest_idle_one() {
    let app = TestApp::spawn_with(Options::default().with("MAX_CONNECTIONS", "3")).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(&app.base).await;
        served(&mut stream).await;
        streams.push(stream);
    }
    // The first connection is no longer the longest idle one.
    served(&mut streams[0]).await;
    let mut fourth = connect(&app.base).await;
    served(&mut fourth).await;
    assert_eq!(until_closed(&mut streams[1]).await, "");
    for place in [0, 2] {
        served(&mut streams[place]).await;
    }
    served(&mut fourth).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_idle_connections_a_new_one_is_refused_and_busy_ones_stay() {
    let app = TestApp::spawn_with(Options::default().with("MAX_CONNECTIONS", "3")).await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(&app.base).await;
        occupy(&mut stream).await;
        busy.push(stream);
    }
    assert!(!is_taken(&mut connect(&app.base).await).await);
    let mut first = busy.remove(0);
    first.write_all(b"{\"email\":1}         ").await.unwrap();
    assert!(read_answer(&mut first).await.starts_with("HTTP/1.1 400"));
    // It is idle now and can be evicted.
    assert!(is_taken(&mut connect(&app.base).await).await);
    for stream in &mut busy {
        stream.write_all(b"{\"email\":1}         ").await.unwrap();
        assert!(read_answer(stream).await.starts_with("HTTP/1.1 400"));
    }
}

/// A server that allows two connections per address; 127.0.0.9 has used both.
async fn crowded() -> (TestApp, Vec<TcpStream>) {
    let options = Options { is_remote: true, ..Options::default() };
    let app = TestApp::spawn_with(options.with("LIMIT_CONNECTIONS_ADDRESS", "2").with("TRUSTED_PROXIES", "203.0.113.8")).await;
    let mut busy = Vec::new();
    for _ in 0..2 {
        let mut stream = connect_from(&app.base, 9).await;
        occupy(&mut stream).await;
        busy.push(stream);
    }
    (app, busy)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_is_limited_to_its_share_of_connections() {
    let (app, busy) = crowded().await;
    assert!(!is_taken(&mut connect_from(&app.base, 9).await).await);
    // Others are served, and trusted proxies are not limited.
    assert!(is_taken(&mut connect_from(&app.base, 10).await).await);
    let mut proxied = Vec::new();
    for _ in 0..3 {
        let mut stream = connect_from(&app.base, 8).await;
        occupy(&mut stream).await;
        proxied.push(stream);
    }
    drop(busy);
    until("the connections are released", async || is_taken(&mut connect_from(&app.base, 9).await).await.then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_call_exempts_an_edge_from_connection_limits_for_ten_minutes() {
    let (app, _busy) = crowded().await;
    assert!(!is_taken(&mut connect_from(&app.base, 9).await).await);
    let client = app.anonymous();
    let (head, body) = parts(batch(&client, app.clock.now(), &[]).build().unwrap()).await;
    let mut other = connect_from(&app.base, 7).await;
    other.write_all(&[head, body].concat()).await.unwrap();
    assert!(until_closed(&mut other).await.starts_with("HTTP/1.1 200"));
    assert!(!is_taken(&mut connect_from(&app.base, 9).await).await, "an edge is exempt only for its own address");
    let mut many = Vec::new();
    for _ in 0..4 {
        let mut stream = connect_from(&app.base, 7).await;
        occupy(&mut stream).await;
        many.push(stream);
    }
    app.clock.advance(10 * 60_000);
    // Those were not counted; new ones are.
    for _ in 0..2 {
        let mut stream = connect_from(&app.base, 7).await;
        occupy(&mut stream).await;
        many.push(stream);
    }
    assert!(!is_taken(&mut connect_from(&app.base, 7).await).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_exhaust_file_descriptors() {
    let mut app = TestApp::spawn().await;
    app.stop().await;
    let serving = Serving::start_within(128, &app.settings()).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(connect(&serving.base).await);
    }
    let client = tests::Client::new(&serving.base, None);
    client.get("/v1/health").await.assert(200);
    let log = serving.stop().await;
    assert!(log.contains("UPDRAFT_MAX_CONNECTIONS") && log.contains("connections=64"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_request_is_refused_with_the_standard_headers() {
    let app = TestApp::spawn().await;
    let long_path = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    let long_head = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(300_000));
    let many = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(200));
    let mut ids = std::collections::BTreeSet::new();
    for (request, statuses) in
        [("\x01\x02garbage\r\n\r\n", [400, 400]), (&long_path, [414, 431]), (&long_head, [431, 431]), (&many, [431, 431])]
    {
        let mut stream = connect(&app.base).await;
        // Sent after a valid request, so that its response cannot be confused with this one.
        served(&mut stream).await;
        // The server may refuse and close before everything is sent.
        drop(stream.write_all(request.as_bytes()).await);
        let answer = until_closed(&mut stream).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{statuses:?}: {answer:?}"));
        assert!(statuses.iter().any(|status| head.starts_with(&format!("HTTP/1.1 {status} "))), "{statuses:?}: {head}");
        assert_eq!(body, "");
        let values = |name: &str| head.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            (values("x-content-type-options: "), values("cache-control: ")),
            (vec!["nosniff".to_owned()], vec!["no-store".to_owned()])
        );
        let id = values("x-request-id: ");
        assert_eq!(id.len(), 1, "{head}");
        assert!(ids.insert(id));
    }
}
