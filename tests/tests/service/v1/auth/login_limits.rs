//! Protection of accounts against password guessing.

use std::num::NonZero;

use control::testing::credentials::{Count, Limit, Subject};
use serde_json::json;
use shared::limit::Rate;
use tests::people::{PASSWORD, login};
use tests::unauthenticated::Stranger;
use tests::wait::until;
use tests::{Answer, Options, TestApp};
use tokio::task::JoinSet;

use crate::v1::members;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Expects a refusal by a limit, and returns its seconds.
#[track_caller]
fn limited(answer: &Answer) -> u64 {
    answer.refused(429);
    let body = answer.json();
    assert_eq!(members(&body), ["error", "requestId", "retryAfterSeconds"]);
    let seconds = body["retryAfterSeconds"].as_u64().unwrap();
    assert!(seconds >= 1);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
    seconds
}

async fn with_ada(options: Options) -> (TestApp, Stranger) {
    let app = TestApp::spawn_among_strangers(options).await;
    app.register("ada").await;
    let ada = app.stranger("198.51.100.1");
    (app, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_limited_to_five_failures_in_fifteen_minutes() {
    let (app, ada) = with_ada(Options::default()).await;
    for minute in 0..5 {
        ada.log_in(&format!("nobody{minute}"), "wrong").await.refused(401);
        app.clock.advance(MINUTE);
    }
    // For any account, with a correct or wrong password.
    assert_eq!(limited(&ada.log_in("nobody", "wrong").await), 10 * 60);
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), 10 * 60);
    app.stranger("198.51.100.2").log_in("ada", PASSWORD).await.assert(200);
    // The window slides: each minute one failure leaves it.
    app.clock.advance(10 * MINUTE - 1);
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), 1);
    app.clock.advance(1);
    ada.log_in("nobody", "wrong").await.refused(401);
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), 60);
    app.clock.advance(MINUTE);
    ada.log_in("ada", PASSWORD).await.assert(200);
    // A success does not clear an address, since an attacker could use their own account.
    ada.log_in("nobody", "wrong").await.refused(401);
    limited(&ada.log_in("ada", PASSWORD).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn ipv6_addresses_are_limited_per_64() {
    let (app, _) = with_ada(Options::default()).await;
    for number in 1..=5 {
        app.stranger(&format!("2001:db8:1:2::{number}")).log_in("nobody", "wrong").await.refused(401);
    }
    limited(&app.stranger("2001:db8:1:2:ffff:ffff:ffff:ffff").log_in("ada", PASSWORD).await);
    app.stranger("2001:db8:1:3::1").log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_survive_a_restart_and_expired_ones_are_deleted() {
    let (mut app, ada) = with_ada(Options::default()).await;
    for _ in 0..5 {
        ada.log_in("nobody", "wrong").await.refused(401);
    }
    app.stop().await;
    app.start().await;
    let ada = app.stranger("198.51.100.1");
    limited(&ada.log_in("ada", PASSWORD).await);
    app.stop().await;
    app.clock.advance(HOUR);
    app.start().await;
    until("the counts are deleted", async || (app.number("SELECT COUNT(*) FROM limit_counts").await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_of_fifty_concurrent_guesses_are_checked() {
    let (app, _) = with_ada(Options::default()).await;
    let guesses: Vec<_> = (0..50)
        .map(|number| {
            let client = app.anonymous();
            let password = if number == 49 { PASSWORD.to_owned() } else { format!("guess {number}") };
            tokio::spawn(async move { client.post("/v1/auth/login", login("ada@example.com", &password)).await })
        })
        .collect();
    let (mut wrong, mut right, mut refused) = (0, 0, 0);
    for guess in guesses {
        let answer = guess.await.unwrap();
        match answer.status.as_u16() {
            401 => wrong += 1,
            200 => right += 1,
            // On a busy machine, a hash may time out in the queue, which reveals nothing.
            503 => refused += 1,
            _ => {
                limited(&answer);
                refused += 1;
            }
        }
    }
    assert_eq!((wrong, right + refused), (5, 45));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_locked_for_an_hour_after_ten_failures_from_any_address() {
    let (app, ada) = with_ada(Options::default()).await;
    for name in ["ada", "nobody"] {
        for number in 0..10 {
            app.stranger(&format!("203.0.113.{number}")).log_in(name, "wrong").await.refused(401);
            app.clock.advance(MINUTE);
        }
        app.clock.advance(15 * MINUTE);
    }
    // The account's failure was 25 minutes ago, that of the other address is newer; the responses do not reveal which.
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), (60 - 1 - 40) * 60);
    assert_eq!(limited(&ada.log_in("nobody", PASSWORD).await), (60 - 1 - 15) * 60);
    app.clock.advance(19 * MINUTE - 1);
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), 1);
    app.clock.advance(1);
    ada.log_in("ada", PASSWORD).await.assert(200);
    limited(&ada.log_in("nobody", PASSWORD).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_clears_the_failures_of_its_account() {
    let (app, ada) = with_ada(Options::default()).await;
    for round in 0..3 {
        for number in 0..9 {
            app.stranger(&format!("203.0.{round}.{number}")).log_in("ada", "wrong").await.refused(401);
        }
        ada.log_in("ada", PASSWORD).await.assert(200);
    }
    // Ten failures spread over more than an hour cause no lockout.
    for number in 0..12 {
        app.stranger(&format!("203.0.9.{number}")).log_in("ada", "wrong").await.refused(401);
        app.clock.advance(7 * MINUTE);
    }
    ada.log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_login_bodies_do_not_count() {
    let (_app, ada) = with_ada(Options::default()).await;
    for _ in 0..8 {
        ada.post("/v1/auth/login", json!({ "email": "ada@example.com" })).await.refused(400);
    }
    ada.log_in("ada", PASSWORD).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_are_settings() {
    let options = Options::default().with("LIMIT_LOGIN_ADDRESS", "1/1m").with("LIMIT_LOGIN_STOP", "2/2m");
    let (app, ada) = with_ada(options).await;
    ada.log_in("ada", "wrong").await.refused(401);
    assert_eq!(limited(&ada.log_in("ada", PASSWORD).await), 60);
    app.stranger("198.51.100.2").log_in("ada", "wrong").await.refused(401);
    assert_eq!(limited(&app.stranger("198.51.100.3").log_in("ada", PASSWORD).await), 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_correct_password_of_an_unverified_address_counts_as_a_failure() {
    let (app, ada) = with_ada(Options::default()).await;
    app.stranger("198.51.100.9").register("bob").await.assert(202);
    for _ in 0..5 {
        ada.log_in("bob", PASSWORD).await.refused(403);
    }
    assert_eq!(limited(&ada.log_in("bob", PASSWORD).await), 15 * 60);
    limited(&ada.log_in("ada", PASSWORD).await);
    // It also counts for the client address.
    app.stranger("198.51.100.2").log_in("bob", PASSWORD).await.refused(403);
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name = 'login_account'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_queued_when_the_limit_is_reached_are_not_hashed() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up("ada").await;
    // A comparison with it causes a 500.
    assert_eq!(app.change("UPDATE accounts SET password_hash = 'damaged'", &[]).await, 1);
    let (state, address) = (app.state(), "2001:db8:1:2::1");
    let turns = std::thread::available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1);
    let mut held = Vec::new();
    for _ in 0..turns {
        held.push(state.passwords.acquire([127, 0, 0, 1].into()).await.unwrap());
    }
    let mut guesses = JoinSet::new();
    for number in 0..257 {
        let stranger = app.stranger(&format!("2001:db8:1:2::{number:x}"));
        guesses.spawn(async move { stranger.log_in("ada", "wrong").await });
    }
    let first = guesses.join_next().await.unwrap().unwrap();
    first.refused(503);
    first.header("retry-after");
    let mut tx = state.db.write().await.unwrap();
    for _ in 0..5 {
        let subject = Subject::address(address.parse().unwrap());
        let count = Count::lock(&mut tx, Limit::LoginAddress, &subject, app.clock.now()).await.unwrap();
        count.add(&mut tx, Rate { count: 5, window: 15 * MINUTE }, app.clock.now()).await.unwrap();
    }
    tx.commit().await.unwrap();
    drop(held);
    while let Some(guess) = guesses.join_next().await {
        let answer = guess.unwrap();
        // On a busy machine, some may time out in the queue.
        if answer.status.as_u16() != 503 {
            limited(&answer);
        }
    }
    app.stranger("2001:db8:1:3::1").log_in("ada", "wrong").await.refused(500);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_hash_causes_a_500_that_reveals_nothing() {
    let (app, ada) = with_ada(Options::default()).await;
    for damaged in ["", "damaged", "$argon2id$v=19$m=4000000,t=2,p=1$YxcwPQx4Ho3F4ylo9e1B4w$XXubGoQ0VEPr54ut6ZBHJ2p2WDid+DfkO6oNb2jXJVA"] {
        app.change("UPDATE accounts SET password_hash = $1", &[damaged]).await;
        let answer = ada.log_in("ada", PASSWORD).await;
        assert_eq!(answer.refused(500), "internal error");
        assert_eq!(members(&answer.json()), ["error", "requestId"]);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name LIKE 'login%'").await, 0);
}
