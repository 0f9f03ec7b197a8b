//! Which client address a request counts for: the one from the edge, from a trusted proxy, or the peer's own.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, Extension, Request};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Router, body};
use control::testing::{AppState, ClientAddress, Clock, Config, Entropy, TestClock, server};
use shared::signature::{Secrets, sign_address};
use shared::time::UnixMillis;
use tempfile::TempDir;
use tower::ServiceExt;

const SECRET: &str = "edge-secret-of-the-tests-0123456789abcdef";
const WINDOW: i64 = 5 * 60_000;

/// A service that answers with the client address it determined.
struct Echo {
    state: AppState,
    clock: TestClock,
    _folder: TempDir,
}

impl Echo {
    async fn new(trusted: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let settings = BTreeMap::from([
            ("UPDRAFT_DATA_DIR".to_owned(), folder.path().display().to_string()),
            ("UPDRAFT_TRUSTED_PROXIES".to_owned(), trusted.to_owned()),
            ("UPDRAFT_EDGE_SECRET".to_owned(), SECRET.to_owned()),
        ]);
        let clock = TestClock::at(UnixMillis(1_800_000_000_000));
        let state = server::build(Config::read(&settings).unwrap(), Clock::Test(clock.clone()), Entropy::System).await.unwrap().state;
        Self { state, clock, _folder: folder }
    }

    /// Sends `GET /echo/?x=1` from this peer with these headers.
    async fn ask(&self, peer: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let echo = async |Extension(ClientAddress(address)): Extension<ClientAddress>| address.to_string();
        let service = server::layer(Router::new().route("/echo", get(echo)), &self.state);
        let mut request = Request::builder().uri("/echo/?x=1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 40_000)));
        let answer = service.oneshot(request).await.unwrap();
        let status = answer.status();
        let bytes = body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// The client address in a successful answer.
    #[track_caller]
    fn address(answer: (StatusCode, String)) -> String {
        assert_eq!(answer.0, StatusCode::OK, "{}", answer.1);
        answer.1
    }

    /// What the edge would sign now.
    fn signature(&self, secret: &str, later: i64, address: &str) -> String {
        sign_address(&Secrets::parse(secret).unwrap(), "GET", "/echo/?x=1", self.clock.now().plus_millis(later), address)
    }
}

#[tokio::test]
async fn without_trust_the_peer_is_the_client() {
    let echo = Echo::new("").await;
    assert_eq!(Echo::address(echo.ask("203.0.113.1", &[]).await), "203.0.113.1");
    assert_eq!(Echo::address(echo.ask("2001:db8::1", &[]).await), "2001:db8::1");
    assert_eq!(Echo::address(echo.ask("::ffff:203.0.113.1", &[]).await), "203.0.113.1");
    for header in ["x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip", "true-client-ip"] {
        assert_eq!(Echo::address(echo.ask("203.0.113.1", &[(header, "198.51.100.9")]).await), "203.0.113.1", "{header}");
    }
    // Even a loopback peer is not trusted.
    assert_eq!(Echo::address(echo.ask("127.0.0.1", &[("x-forwarded-for", "198.51.100.9")]).await), "127.0.0.1");
}

#[tokio::test]
async fn a_trusted_proxy_names_the_last_address_that_is_not_trusted_itself() {
    let echo = Echo::new("10.0.0.0/8, 192.0.2.7,2001:db8:ffff::/48").await;
    let client = "198.51.100.9";
    for (peer, forwarded, expected) in [
        ("10.1.2.3", "198.51.100.9", client),
        ("192.0.2.7", "198.51.100.9", client),
        ("2001:db8:ffff::5", "198.51.100.9", client),
        ("::ffff:10.1.2.3", "198.51.100.9", client),
        // Entries from the client itself are on the left and not trusted.
        ("10.1.2.3", "203.0.113.66, 198.51.100.9", client),
        ("10.1.2.3", "203.0.113.66,198.51.100.9 , 10.9.9.9, 192.0.2.7", client),
        ("10.1.2.3", "2001:db8::9", "2001:db8::9"),
        ("10.1.2.3", "::ffff:198.51.100.9", client),
        // If all entries are trusted, or there is none, the proxy is the client.
        ("10.1.2.3", "10.4.4.4, 10.5.5.5", "10.1.2.3"),
        ("10.1.2.3", "", "10.1.2.3"),
        ("10.1.2.3", "unknown", "10.1.2.3"),
        // Nothing to the left of an invalid entry is trusted.
        ("10.1.2.3", "203.0.113.66, nonsense, 198.51.100.9", client),
        ("10.1.2.3", "203.0.113.66, nonsense, 10.5.5.5", "10.1.2.3"),
        ("10.1.2.3", "203.0.113.66, nonsense", "10.1.2.3"),
        // Other peers are not trusted.
        ("203.0.113.1", "198.51.100.9", "203.0.113.1"),
        ("192.0.2.8", "198.51.100.9", "192.0.2.8"),
    ] {
        let answer = echo.ask(peer, &[("x-forwarded-for", forwarded)]).await;
        assert_eq!(Echo::address(answer), expected, "{forwarded:?} by {peer}");
    }
    assert_eq!(Echo::address(echo.ask("10.1.2.3", &[]).await), "10.1.2.3");
    // Several headers are one list.
    let twice = [("x-forwarded-for", "203.0.113.66"), ("x-forwarded-for", "198.51.100.9"), ("x-forwarded-for", "10.9.9.9")];
    assert_eq!(Echo::address(echo.ask("10.1.2.3", &twice).await), client);
}

#[tokio::test]
async fn an_address_signed_by_the_edge_takes_precedence() {
    let echo = Echo::new("10.0.0.0/8").await;
    for address in ["198.51.100.9", "2001:db8::9"] {
        for later in [0, WINDOW, -WINDOW] {
            let signature = echo.signature(SECRET, later, address);
            let headers =
                [("x-updraft-client-address", address), ("x-updraft-address-signature", &signature), ("x-forwarded-for", "203.0.113.66")];
            for peer in ["203.0.113.1", "10.1.2.3"] {
                assert_eq!(Echo::address(echo.ask(peer, &headers).await), address);
            }
        }
    }
    // As sent by an edge with a dual-stack socket.
    let mapped = "::ffff:198.51.100.9";
    let headers = [("x-updraft-client-address", mapped), ("x-updraft-address-signature", &echo.signature(SECRET, 0, mapped))];
    assert_eq!(Echo::address(echo.ask("203.0.113.1", &headers).await), "198.51.100.9");
}

#[tokio::test]
async fn an_address_without_a_valid_signature_is_refused() {
    let echo = Echo::new("").await;
    let address = "198.51.100.9";
    let good = echo.signature(SECRET, 0, address);
    let other_path = sign_address(&Secrets::parse(SECRET).unwrap(), "GET", "/echo?x=1", echo.clock.now(), address);
    let other_method = sign_address(&Secrets::parse(SECRET).unwrap(), "POST", "/echo/?x=1", echo.clock.now(), address);
    let no_address = echo.signature(SECRET, 0, "nonsense");
    for (address, signature) in [
        (Some(address), None),
        (None, Some(good.as_str())),
        (Some(address), Some("")),
        (Some(""), Some(good.as_str())),
        (Some("198.51.100.10"), Some(good.as_str())),
        (Some(address), Some(other_path.as_str())),
        (Some(address), Some(other_method.as_str())),
        (Some("nonsense"), Some(no_address.as_str())),
        (Some(address), Some(echo.signature("another-secret-of-32-characters-or-more", 0, address).as_str())),
        (Some(address), Some(echo.signature(SECRET, WINDOW + 1, address).as_str())),
        (Some(address), Some(echo.signature(SECRET, -WINDOW - 1, address).as_str())),
    ] {
        let mut headers = Vec::new();
        headers.extend(address.map(|address| ("x-updraft-client-address", address)));
        headers.extend(signature.map(|signature| ("x-updraft-address-signature", signature)));
        let (status, body) = echo.ask("203.0.113.1", &headers).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{headers:?}: {body}");
        assert!(body.contains("edge secret or clock") && body.contains("requestId"), "{body}");
    }
    // The signature of a call is not valid for an address.
    let call = shared::signature::sign_call(&Secrets::parse(SECRET).unwrap(), "GET", "/echo/?x=1", echo.clock.now(), b"");
    let headers = [("x-updraft-client-address", address), ("x-updraft-address-signature", call.as_str())];
    assert_eq!(echo.ask("203.0.113.1", &headers).await.0, StatusCode::BAD_REQUEST);
}
