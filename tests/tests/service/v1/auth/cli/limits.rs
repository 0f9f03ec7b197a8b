//! Rate limits for starting and exchanging requests.

use serde_json::{Value, json};
use tests::{Answer, Options, TestApp};

use super::MINUTE;
use super::participants::{Ceremony, CliFlow, ProofKey, ada_with, exchange, members, refused, start};

#[track_caller]
fn limited(answer: &Answer) -> u64 {
    answer.refused(429);
    assert_eq!(members(&answer.json()), ["error", "requestId"]);
    answer.header("retry-after").parse().unwrap()
}

async fn begin(app: &TestApp, flow: CliFlow, address: &str) -> Answer {
    start(flow, &app.anonymous().from(address), &ProofKey::new(), &json!({})).await
}

fn unknown() -> Value {
    json!({ "grantType": "device_code", "deviceCode": "A".repeat(43) })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_start_twenty_requests_in_ten_minutes_across_both_flows() {
    let (app, _) = ada_with(Options::default()).await;
    for number in 0..20 {
        begin(&app, if number % 2 == 0 { CliFlow::Browser } else { CliFlow::Device }, "203.0.113.7").await.assert(201);
        app.clock.advance(1_000);
    }
    for flow in [CliFlow::Browser, CliFlow::Device] {
        assert_eq!(limited(&begin(&app, flow, "203.0.113.7").await), 10 * 60 - 20);
        begin(&app, flow, "203.0.113.8").await.assert(201);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM cli_authorizations").await, 22, "a refused request stores nothing");
    app.clock.advance(10 * MINUTE - 20_000 - 1);
    assert_eq!(limited(&begin(&app, CliFlow::Browser, "203.0.113.7").await), 1);
    app.clock.advance(1);
    begin(&app, CliFlow::Browser, "203.0.113.7").await.assert(201);
    assert_eq!(limited(&begin(&app, CliFlow::Device, "203.0.113.7").await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ipv6_addresses_are_limited_per_64() {
    let (app, _) = ada_with(Options::default()).await;
    for number in 1..=20 {
        begin(&app, CliFlow::Device, &format!("2001:db8:1:2::{number:x}")).await.assert(201);
    }
    limited(&begin(&app, CliFlow::Device, "2001:db8:1:2:ffff::1").await);
    begin(&app, CliFlow::Device, "2001:db8:1:3::1").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_bodies_do_not_count() {
    let (app, _) = ada_with(Options::default()).await;
    let cli = app.anonymous().from("203.0.113.7");
    for _ in 0..25 {
        start(CliFlow::Browser, &cli, &ProofKey::new(), &json!({ "redirectUri": "https://example.com" })).await.refused(400);
        start(CliFlow::Device, &cli, &ProofKey::new(), &json!({ "deviceName": 5 })).await.refused(400);
    }
    begin(&app, CliFlow::Browser, "203.0.113.7").await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_of_fifty_concurrent_requests_start_and_counts_survive_a_restart() {
    let (mut app, _) = ada_with(Options::default()).await;
    let beginning: Vec<_> = (0..50)
        .map(|_| {
            let cli = app.anonymous().from("203.0.113.7");
            tokio::spawn(async move { start(CliFlow::Device, &cli, &ProofKey::new(), &json!({})).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for begun in beginning {
        statuses.push(begun.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [[201; 20].as_slice(), &[429; 30]].concat());
    app.stop().await;
    app.start().await;
    limited(&begin(&app, CliFlow::Device, "203.0.113.7").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_exchange_a_thousand_times_in_ten_minutes() {
    let (app, dashboard) = ada_with(Options::default()).await;
    let cli = app.anonymous().from("203.0.113.7");
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &cli).await;
    ceremony.approve(&dashboard).await;
    let attempts: Vec<_> = (0..10)
        .map(|_| {
            let cli = cli.clone();
            tokio::spawn(async move {
                for _ in 0..100 {
                    refused(&exchange(&cli, &unknown()).await, "invalid_grant");
                }
            })
        })
        .collect();
    for attempt in attempts {
        attempt.await.unwrap();
    }
    assert_eq!(limited(&exchange(&cli, &unknown()).await), 10 * 60);
    assert_eq!(limited(&ceremony.exchange().await), 10 * 60);
    // It can be exchanged from another address: the refusal did not consume it.
    ceremony.cli = cli.from("203.0.113.8");
    ceremony.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_at_the_required_interval_are_not_counted() {
    let (app, dashboard) = ada_with(Options::default().with("LIMIT_CLI_TOKEN", "3/10m")).await;
    let cli = app.anonymous().from("203.0.113.7");
    let mut ceremony = Ceremony::begin(CliFlow::Device, &cli).await;
    for _ in 0..20 {
        app.clock.advance(5_000);
        refused(&ceremony.exchange().await, "authorization_pending");
    }
    for _ in 0..3 {
        refused(&ceremony.exchange().await, "slow_down");
    }
    assert_eq!(limited(&ceremony.exchange().await), 10 * 60);
    limited(&exchange(&cli, &unknown()).await);
    // A CLI that respects the interval is authorized, whatever others behind the same address do.
    ceremony.approve(&dashboard).await;
    app.clock.advance(MINUTE);
    ceremony.exchange().await.assert(200);
    limited(&exchange(&cli, &unknown()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_after_a_canceled_approval_are_counted() {
    let (app, dashboard) = ada_with(Options::default().with("LIMIT_CLI_TOKEN", "3/10m")).await;
    let mut ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous().from("203.0.113.7")).await;
    ceremony.approve(&dashboard).await;
    dashboard.delete("/v1/account/sessions/current").await.assert(204);
    for _ in 0..4 {
        app.clock.advance(30_000);
        refused(&ceremony.exchange().await, "access_denied");
    }
    assert_eq!(limited(&ceremony.exchange().await), 10 * 60 - 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_are_settings() {
    let options = Options::default().with("LIMIT_CLI_STARTS", "1/1m").with("LIMIT_CLI_TOKEN", "2/2m");
    let (app, _) = ada_with(options).await;
    begin(&app, CliFlow::Device, "203.0.113.7").await.assert(201);
    assert_eq!(limited(&begin(&app, CliFlow::Browser, "203.0.113.7").await), 60);
    let cli = app.anonymous().from("203.0.113.7");
    for _ in 0..2 {
        refused(&exchange(&cli, &unknown()).await, "invalid_grant");
    }
    assert_eq!(limited(&exchange(&cli, &unknown()).await), 120);
}
