//! User codes: found in any formatting, and protected against guessing.

use serde_json::{Value, json};
use tests::Answer;
use tests::SessionOrigin::{CliDevice, Dashboard};

use crate::v1::auth::cli::MINUTE;
use crate::v1::auth::cli::participants::{Ceremony, CliFlow, ada, ada_with, approve, deny, many, members, person, read, resolve};

#[track_caller]
fn limited(answer: &Answer) -> u64 {
    answer.refused(429);
    assert_eq!(members(&answer.json()), ["error", "requestId"]);
    answer.header("retry-after").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_and_dashes_do_not_matter() {
    let (app, dashboard) = ada().await;
    let ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    let code = ceremony.user_code();
    let bare = code.replace('-', "");
    for written in [code.to_owned(), bare.clone(), code.to_lowercase(), bare.to_lowercase(), format!("{}-{}", &bare[..2], &bare[2..])] {
        assert_eq!(resolve(&dashboard, &written).await.assert(200), json!({ "authorizationId": ceremony.id() }), "{written}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_resolves_to_its_request_while_it_is_pending() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let approved = Ceremony::begin(CliFlow::Device, &cli).await;
    let denied = Ceremony::begin(CliFlow::Device, &cli).await;
    let expired = Ceremony::begin(CliFlow::Device, &cli).await;
    approve(&dashboard, approved.id()).await.assert(200);
    deny(&dashboard, denied.id()).await.assert(200);
    resolve(&dashboard, approved.user_code()).await.refused(404);
    resolve(&dashboard, denied.user_code()).await.refused(404);
    app.clock.advance(10 * MINUTE - 1);
    resolve(&dashboard, expired.user_code()).await.assert(200);
    app.clock.advance(1);
    resolve(&dashboard, expired.user_code()).await.refused(404);
    // Finding a request does not decide it.
    read(&dashboard, expired.id()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_code_is_named() {
    let (_app, dashboard) = ada().await;
    for code in [json!(null), json!(5), json!(""), json!(["BCDF-GHJK"]), json!({}), json!("B".repeat(5_000))] {
        let refusal = dashboard.post("/v1/cli/authorizations/resolve", json!({ "userCode": code })).await.refused(400);
        assert!(refusal.starts_with("userCode: "), "{refusal}");
    }
    dashboard.post("/v1/cli/authorizations/resolve", json!({})).await.refused(400);
    for odd in ["\0", "BCDF\0GHJK", "%", "ÜÜÜÜ-ÜÜÜÜ", "😀"] {
        let status = resolve(&dashboard, odd).await.status.as_u16();
        assert!([400, 404].contains(&status), "{odd:?}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_limited_to_ten_wrong_codes_in_fifteen_minutes() {
    let (app, ada) = ada_with(many()).await;
    let bob = person(&app, "bob").await;
    let sound = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    for number in 0..10 {
        // Correct codes in between do not reset the count.
        resolve(&ada, sound.user_code()).await.assert(200);
        resolve(&ada, "BCDF-GHJK").await.refused(404);
        app.clock.advance(if number == 9 { 0 } else { 1_000 });
    }
    assert_eq!(limited(&resolve(&ada, "BCDF-GHJK").await), 15 * 60 - 9);
    assert_eq!(limited(&resolve(&ada, sound.user_code()).await), 15 * 60 - 9, "the correct code reveals nothing any more");
    // The limit applies to the account across its sessions, and to no other account.
    let again = app.open_session("ada", Dashboard).await;
    limited(&resolve(&again, sound.user_code()).await);
    resolve(&bob, sound.user_code()).await.assert(200);
    app.clock.advance(15 * MINUTE - 9_000 - 1);
    assert_eq!(limited(&resolve(&ada, "BCDF-GHJK").await), 1);
    app.clock.advance(1);
    resolve(&ada, "BCDF-GHJK").await.refused(404);
    limited(&resolve(&ada, "BCDF-GHJK").await);
    app.clock.advance(1_000);
    let fresh = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    resolve(&ada, fresh.user_code()).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_of_fifty_concurrent_wrong_codes_are_checked() {
    let (app, ada) = ada().await;
    let guesses: Vec<_> = (0..50)
        .map(|_| {
            let client = ada.clone();
            tokio::spawn(async move { resolve(&client, "BCDF-GHJK").await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for guess in guesses {
        statuses.push(guess.await.unwrap());
    }
    let count = |status: u16| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(404), count(429)), (10, 40), "{statuses:?}");
    let sound = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    limited(&resolve(&ada, sound.user_code()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_wrong_codes_is_a_setting() {
    let (_app, dashboard) = ada_with(many().with("LIMIT_CLI_RESOLVES", "1/1m")).await;
    resolve(&dashboard, "BCDF-GHJK").await.refused(404);
    assert_eq!(limited(&resolve(&dashboard, "BCDF-GHJK").await), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_dashboard_session_can_resolve_codes() {
    let (app, dashboard) = ada().await;
    let ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    let key = app.named_key("ada", "build server").await;
    resolve(&key, ceremony.user_code()).await.refused_with(403, None);
    let device = app.open_session("ada", CliDevice).await;
    resolve(&device, ceremony.user_code()).await.refused_with(403, Some("dashboard_session_required"));
    resolve(&app.anonymous(), ceremony.user_code()).await.refused(401);
    // Refused before validation: nothing was counted.
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name = 'cli_resolves'").await, 0);
    let found: Value = resolve(&dashboard, ceremony.user_code()).await.assert(200);
    assert_eq!(found["authorizationId"], ceremony.id());
}
