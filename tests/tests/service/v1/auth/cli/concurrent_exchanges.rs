//! Concurrent exchanges: at most one gets a credential.

use std::collections::BTreeMap;

use serde_json::json;
use tests::people::PASSWORD;
use tests::{Answer, Client};

use super::participants::{
    CLI_FLOWS, Ceremony, CliFlow, ada, ada_with, approve, authorized_devices, deny, is_in, many, person, signed_in, status,
};

const AT_ONCE: usize = 50;

/// Sends the same exchange many times concurrently.
async fn exchange_at_once(ceremony: &Ceremony) -> Vec<Answer> {
    let attempts: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let ceremony = ceremony.clone();
            tokio::spawn(async move { ceremony.exchange().await })
        })
        .collect();
    let mut answers = Vec::new();
    for attempt in attempts {
        answers.push(attempt.await.unwrap());
    }
    answers
}

/// The number of each refusal, with `200` for successes.
fn count(answers: &[Answer]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for answer in answers {
        let kind = if answer.status.as_u16() == 200 { "200".to_owned() } else { answer.refused(400) };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

fn clients(cli: &Client, answers: &[Answer]) -> Vec<Client> {
    answers.iter().filter(|answer| answer.status.as_u16() == 200).map(|answer| signed_in(cli, answer)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_exchanges_of_an_authorization_code_one_succeeds_and_is_revoked() {
    let (app, dashboard) = ada().await;
    for round in 0..3 {
        let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
        ceremony.approve(&dashboard).await;
        let answers = exchange_at_once(&ceremony).await;
        let expected = BTreeMap::from([("200".to_owned(), 1), ("invalid_grant".to_owned(), AT_ONCE - 1)]);
        assert_eq!(count(&answers), expected, "round {round}");
        for client in clients(&ceremony.cli, &answers) {
            assert!(!is_in(&client).await, "the code was reused: the holder of the credential may be an attacker");
        }
        assert!(authorized_devices(&dashboard).await.is_empty());
        assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE credential_origin = 'cli_browser'").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_exchanges_of_a_device_code_one_succeeds_and_works() {
    let (app, dashboard) = ada().await;
    for round in 1..=3 {
        let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
        ceremony.approve(&dashboard).await;
        let answers = exchange_at_once(&ceremony).await;
        let expected = BTreeMap::from([("200".to_owned(), 1), ("invalid_grant".to_owned(), AT_ONCE - 1)]);
        assert_eq!(count(&answers), expected, "round {round}");
        let clients = clients(&ceremony.cli, &answers);
        assert!(clients.len() == 1 && is_in(&clients[0]).await);
        assert_eq!(authorized_devices(&dashboard).await.len(), round);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_decisions_one_takes_effect() {
    let (app, ada) = ada_with(many()).await;
    let bob = person(&app, "bob").await;
    for flow in CLI_FLOWS {
        let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        let decisions: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let (client, id) = (if number % 2 == 0 { ada.clone() } else { bob.clone() }, ceremony.id().to_owned());
                tokio::spawn(async move {
                    let answer = if number % 3 == 0 { deny(&client, &id).await } else { approve(&client, &id).await };
                    (number, answer.status.as_u16())
                })
            })
            .collect();
        let mut counted = Vec::new();
        for decision in decisions {
            match decision.await.unwrap() {
                (number, 200) => counted.push(number),
                (_, 409 | 404) => {}
                other => panic!("{other:?}"),
            }
        }
        let [winner] = counted[..] else { panic!("{counted:?}") };
        let client = if winner % 2 == 0 { &ada } else { &bob };
        assert_eq!(status(client, ceremony.id()).await, if winner % 3 == 0 { "denied" } else { "approved" });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_polls_before_the_approval_are_all_refused() {
    let (app, dashboard) = ada().await;
    let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
    app.clock.advance(5_000);
    let counts = count(&exchange_at_once(&ceremony).await);
    assert_eq!(counts, BTreeMap::from([("authorization_pending".to_owned(), 1), ("slow_down".to_owned(), AT_ONCE - 1)]));
    ceremony.approve(&dashboard).await;
    app.clock.advance(5_000 * 50);
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_concurrent_exchange_survives_a_password_change() {
    let (app, dashboard) = ada_with(many()).await;
    for flow in CLI_FLOWS {
        let mut approved = Vec::new();
        for _ in 0..30 {
            let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
            ceremony.approve(&dashboard).await;
            approved.push(ceremony);
        }
        // The same password again: replacing it is what matters.
        let body = json!({ "currentPassword": PASSWORD, "password": PASSWORD });
        let changing = {
            let dashboard = dashboard.clone();
            tokio::spawn(async move { dashboard.patch("/v1/account", body).await })
        };
        let mut given = Vec::new();
        // Exchanges before the change succeed, later ones do not; the change happens in between.
        for ceremony in &approved {
            given.push(ceremony.exchange().await);
        }
        changing.await.unwrap().assert(200);
        for answer in &given {
            assert!(answer.status.as_u16() == 200 || answer.refused(400) == "access_denied", "{}", answer.text());
        }
        for client in clients(&app.anonymous(), &given) {
            assert!(!is_in(&client).await, "{flow:?}: a credential survived");
        }
        assert!(authorized_devices(&dashboard).await.is_empty());
        app.clock.advance(1);
    }
}
