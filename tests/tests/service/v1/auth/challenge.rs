//! Human-verification challenges: when a token is required.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::turnstile::{Behavior, Turnstile};
use tests::unauthenticated::Stranger;
use tests::{Answer, Options, SessionOrigin, TestApp};

use crate::v1::members;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

struct World {
    app: TestApp,
    turnstile: Turnstile,
    ada: Stranger,
}

/// A server with a verifier, and Ada's account.
async fn world() -> World {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_among_strangers(turnstile.options(Options::default())).await;
    app.sign_up("ada").await;
    let hash =
        tokio::task::spawn_blocking(|| control::testing::credentials::hash(PASSWORD, &tests::Entropy::System)).await.unwrap().unwrap();
    assert_eq!(app.change("UPDATE accounts SET password_hash = $1", &[&hash]).await, 1);
    let ada = app.stranger("198.51.100.1");
    World { app, turnstile, ada }
}

impl World {
    /// Failed logins, each from another address.
    async fn fail(&self, name: &str, times: usize) {
        for number in 0..times {
            self.app.stranger(&format!("203.0.113.{number}")).log_in(name, "wrong").await.refused(401);
        }
    }
}

#[track_caller]
fn challenged(answer: &Answer) {
    answer.refused(403);
    let body = answer.json();
    assert_eq!(members(&body), ["code", "error", "requestId"]);
    assert_eq!(body["code"], "challenge_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_three_failures_a_login_needs_a_challenge_token() {
    let world = world().await;
    for name in ["ada", "nobody"] {
        world.fail(name, 3).await;
        challenged(&world.ada.log_in(name, PASSWORD).await);
        challenged(&world.ada.log_in_with(name, PASSWORD, "").await);
    }
    assert_eq!(world.turnstile.asked(), [Value::Null; 0]);
    // A refused token is like none; being asked for one is not a failure.
    challenged(&world.ada.log_in_with("ada", PASSWORD, "bad").await);
    world.ada.log_in_with("ada", PASSWORD, "good 1").await.assert(200);
    assert_eq!(world.turnstile.asked().last().unwrap()["remoteip"], "198.51.100.1");
    // The success cleared the failures of the account; those of the other address remain.
    world.ada.log_in("ada", PASSWORD).await.assert(200);
    challenged(&world.ada.log_in("nobody", PASSWORD).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_token_works_once_and_a_wrong_password_needs_a_new_one() {
    let world = world().await;
    world.fail("ada", 3).await;
    world.ada.log_in_with("ada", "wrong", "good 1").await.refused(401);
    challenged(&world.ada.log_in_with("ada", PASSWORD, "good 1").await);
    world.ada.log_in_with("ada", PASSWORD, "good 2").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_token_sent_before_it_is_needed_is_ignored() {
    let world = world().await;
    world.ada.log_in_with("ada", PASSWORD, "bad").await.assert(200);
    world.ada.log_in_with("ada", "wrong", "good 1").await.refused(401);
    assert_eq!(world.turnstile.asked(), [Value::Null; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_last_fifteen_minutes_count() {
    let world = world().await;
    world.fail("ada", 2).await;
    world.app.clock.advance(MINUTE);
    world.fail("ada", 1).await;
    world.app.clock.advance(14 * MINUTE - 1);
    challenged(&world.ada.log_in("ada", PASSWORD).await);
    world.app.clock.advance(1);
    world.ada.log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_fail_while_the_verifier_is_unreachable() {
    let world = world().await;
    world.fail("ada", 3).await;
    for behavior in [Behavior::ErrorStatus(500), Behavior::InvalidBody, Behavior::Redirect, Behavior::InternalError] {
        world.turnstile.set(behavior);
        let answer = world.ada.log_in_with("ada", PASSWORD, "good 1").await;
        answer.refused(503);
        answer.header("retry-after");
    }
    world.turnstile.set(Behavior::Normal);
    world.ada.log_in_with("ada", PASSWORD, "good 1").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_challenge_replaces_the_lockout_but_not_the_limit_per_address() {
    let world = world().await;
    world.fail("ada", 3).await;
    for number in 0..12 {
        let stranger = world.app.stranger(&format!("192.0.2.{number}"));
        stranger.log_in_with("ada", "wrong", &format!("good {number}")).await.refused(401);
    }
    for number in 20..25 {
        world.ada.log_in_with("ada", "wrong", &format!("good {number}")).await.refused(401);
    }
    let asked = world.turnstile.asked().len();
    assert_eq!(world.ada.log_in_with("ada", PASSWORD, "good 30").await.json()["retryAfterSeconds"], 15 * 60);
    world.ada.log_in("ada", PASSWORD).await.refused(429);
    assert_eq!(world.turnstile.asked().len(), asked, "a request refused anyway is not verified");
    world.app.stranger("198.51.100.2").log_in_with("ada", PASSWORD, "good 30").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_three_concurrent_guesses_need_no_challenge() {
    let world = world().await;
    let guesses: Vec<_> = (0..12)
        .map(|number| {
            let stranger = world.app.stranger(&format!("203.0.113.{number}"));
            tokio::spawn(async move { stranger.log_in_with("ada", "wrong", "bad").await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for guess in guesses {
        statuses.push(guess.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses[..4], [401, 401, 401, 403]);
    assert_eq!(statuses[11], 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_and_password_reset_need_a_challenge_token_but_resending_does_not() {
    let world = world().await;
    let bob = json!({ "email": "bob@example.com", "password": PASSWORD });
    let forgotten = json!({ "email": "ada@example.com" });
    let with = |body: &Value, token: &str| {
        let mut body = body.clone();
        body["challengeToken"] = json!(token);
        body
    };
    for (path, body) in [("/v1/auth/register", &bob), ("/v1/auth/forgot-password", &forgotten)] {
        // A missing token does not count, however often.
        for _ in 0..11 {
            challenged(&world.ada.post(path, body.clone()).await);
        }
        challenged(&world.ada.post(path, with(body, "bad")).await);
        world.ada.post(path, with(body, &format!("good {path}"))).await.assert(202);
        challenged(&world.ada.post(path, with(body, &format!("good {path}"))).await);
        world.turnstile.set(Behavior::ErrorStatus(502));
        world.ada.post(path, with(body, "good")).await.refused(503);
        world.turnstile.set(Behavior::Normal);
    }
    assert_eq!(world.app.mails_to("bob@example.com").await.len(), 1);
    assert_eq!(world.app.mails_to("ada@example.com").await.len(), 1);
    world.ada.resend("bob").await.assert(202);
    assert_eq!(world.app.mails_to("bob@example.com").await.len(), 2);
    // Validation errors come first.
    world.ada.post("/v1/auth/register", json!({ "email": "bob" })).await.refused(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_submit_sixty_tokens_in_ten_minutes() {
    let world = world().await;
    world.fail("ada", 3).await;
    for _ in 0..60 {
        challenged(&world.ada.log_in_with("ada", PASSWORD, "bad").await);
    }
    let answer = world.ada.log_in_with("ada", PASSWORD, "bad").await;
    answer.refused(429);
    assert_eq!((answer.header("retry-after").as_str(), &answer.json()["retryAfterSeconds"]), ("600", &json!(600)));
    assert_eq!(world.turnstile.asked().len(), 60);
    // Being asked for a token does not count, and others are unaffected.
    challenged(&world.ada.log_in("ada", PASSWORD).await);
    world.app.stranger("198.51.100.2").log_in_with("ada", PASSWORD, "good 1").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_challenge_token_no_password_is_rated() {
    let world = world().await;
    let weak = json!({ "email": "bob@example.com", "password": "passwordpassword" });
    challenged(&world.ada.post("/v1/auth/register", weak).await);
    assert_eq!(world.app.number("SELECT COUNT(*) FROM limit_counts").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn account_changes_have_no_challenge_and_are_blocked_after_failures() {
    let world = world().await;
    let session = world.app.open_session("ada", SessionOrigin::Dashboard).await;
    let change = |password: &str| json!({ "currentPassword": password, "password": "quite another phrase for the gate" });
    for number in 0..10 {
        let session = session.from(&format!("203.0.113.{number}"));
        if number % 2 == 0 {
            session.patch("/v1/account", change("wrong")).await.refused(401);
        } else {
            session.delete_with("/v1/account", json!({ "password": "wrong" })).await.refused(401);
        }
    }
    let session = session.from("198.51.100.1");
    for answer in
        [session.patch("/v1/account", change(PASSWORD)).await, session.delete_with("/v1/account", json!({ "password": PASSWORD })).await]
    {
        answer.refused(429);
        assert_eq!(answer.json()["retryAfterSeconds"], 3_600);
    }
    world.app.clock.advance(HOUR);
    session.patch("/v1/account", change(PASSWORD)).await.assert(200);
    assert_eq!(world.turnstile.asked(), [Value::Null; 0]);
}
