//! The verifier of challenges: which tokens pass, and that none passes while it is unreachable.

use std::net::IpAddr;

use tests::turnstile::{Behavior, Turnstile};
use tests::{AppState, ClientAddress, Error, Options, Refusal, TestApp};

const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

async fn verify(app: &AppState, token: Option<&str>) -> Result<(), Error> {
    app.verify_challenge(token, ClientAddress(ADDRESS)).await
}

fn is_refused(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::Refused(Refusal::NoChallenge)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_accepted_once() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_with(turnstile.options(Options::default())).await;
    let state = app.state();
    assert!(state.challenge.is_on());
    verify(&state, Some("good-1")).await.unwrap();
    assert!(is_refused(&verify(&state, Some("good-1")).await), "a used token");
    assert!(is_refused(&verify(&state, Some("bad")).await));
    let asked = turnstile.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!((asked[0]["secret"].as_str(), asked[0]["response"].as_str()), (Some(tests::turnstile::SECRET), Some("good-1")));
    assert_eq!(asked[0]["remoteip"], "192.0.2.7");
    assert_ne!(asked[0]["idempotency_key"], asked[1]["idempotency_key"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_tokens_are_refused_without_a_request() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_with(turnstile.options(Options::default())).await;
    let long = "x".repeat(2_049);
    for token in [None, Some(""), Some(long.as_str())] {
        assert!(is_refused(&verify(&app.state(), token).await));
    }
    assert!(turnstile.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_fails_while_the_verifier_is_unreachable() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_with(turnstile.options(Options::default())).await;
    // The last one never responds: the timeout of five seconds passes.
    let behaviors = [
        Behavior::ErrorStatus(500),
        Behavior::ErrorStatus(403),
        Behavior::InvalidBody,
        Behavior::EndlessBody,
        Behavior::Redirect,
        Behavior::InternalError,
        Behavior::Silent,
    ];
    for behavior in behaviors {
        turnstile.set(behavior);
        assert!(matches!(verify(&app.state(), Some("good-1")).await, Err(Error::Unavailable(_))), "{behavior:?}");
    }
    assert_eq!(turnstile.asked().len(), behaviors.len(), "no redirect is followed, and nothing is retried");
    turnstile.set(Behavior::Normal);
    verify(&app.state(), Some("good-1")).await.unwrap();

    let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port();
    let nobody = turnstile.options(Options::default()).with("TURNSTILE_URL", format!("http://127.0.0.1:{port}/siteverify"));
    let app = TestApp::spawn_with(nobody).await;
    assert!(matches!(verify(&app.state(), Some("good-2")).await, Err(Error::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_secret_is_a_configuration_error_and_accepts_no_token() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_with(turnstile.options(Options::default()).with("TURNSTILE_SECRET", "another")).await;
    assert!(matches!(verify(&app.state(), Some("good-1")).await, Err(Error::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_configuration_there_is_no_challenge() {
    let app = TestApp::spawn().await;
    assert!(!app.state().challenge.is_on());
    verify(&app.state(), None).await.unwrap();
}
