//! Expired requests: shown for a while, then deleted.

use tests::TestApp;
use tests::wait::until;

use super::MINUTE;
use super::participants::{CLI_FLOWS, Ceremony, ada, approve, deny, is_in, read, refused, status};

const HOUR: i64 = 60 * MINUTE;

/// Runs the cleanup job by restarting the server.
async fn restart(app: &mut TestApp) {
    app.stop().await;
    app.start().await;
}

async fn kept(app: &TestApp) -> i64 {
    app.number("SELECT COUNT(*) FROM cli_authorizations").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_deleted_an_hour_after_it_ends() {
    let (mut app, dashboard) = ada().await;
    let mut devices = Vec::new();
    for flow in CLI_FLOWS {
        let cli = app.anonymous();
        let _pending = Ceremony::begin(flow, &cli).await;
        approve(&dashboard, Ceremony::begin(flow, &cli).await.id()).await.assert(200);
        deny(&dashboard, Ceremony::begin(flow, &cli).await.id()).await.assert(200);
        devices.push(Ceremony::begin(flow, &cli).await.log_in(&dashboard).await);
    }
    assert_eq!(kept(&app).await, 8);
    app.clock.advance(10 * MINUTE + HOUR - 1);
    let last = Ceremony::begin(CLI_FLOWS[1], &app.anonymous().from("203.0.113.9")).await;
    restart(&mut app).await;
    // The rate limit counters are deleted after them, in the same round.
    let counts = async || app.number("SELECT COUNT(*) FROM limit_counts WHERE name = 'cli_starts'").await;
    until("the job has run", async || (counts().await == 1).then_some(())).await;
    assert_eq!(kept(&app).await, 9);
    app.clock.advance(1);
    restart(&mut app).await;
    until("all but the last are deleted", async || (kept(&app).await == 1).then_some(())).await;
    assert_eq!(status(&app.open_session("ada", tests::SessionOrigin::Dashboard).await, last.id()).await, "pending");
    for device in devices {
        assert!(is_in(&device.at(&app.base)).await, "a credential outlives its request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_request_is_shown_as_expired_until_deleted() {
    let (mut app, dashboard) = ada().await;
    for flow in CLI_FLOWS {
        dashboard.reauthenticate().await;
        let (pending, approved) = (Ceremony::begin(flow, &app.anonymous()).await, Ceremony::begin(flow, &app.anonymous()).await);
        approve(&dashboard, approved.id()).await.assert(200);
        app.clock.advance(10 * MINUTE);
        assert_eq!(status(&dashboard, pending.id()).await, "expired");
        assert_eq!(status(&dashboard, approved.id()).await, "expired");
        app.clock.advance(HOUR - 1);
        assert_eq!(status(&dashboard, pending.id()).await, "expired");
        app.clock.advance(1);
        restart(&mut app).await;
        until("both are deleted", async || (kept(&app).await == 0).then_some(())).await;
        dashboard.reauthenticate().await;
        for ceremony in [&pending, &approved] {
            read(&dashboard, ceremony.id()).await.refused(404);
            approve(&dashboard, ceremony.id()).await.refused(404);
        }
        if flow == CLI_FLOWS[1] {
            refused(&pending.exchange().await, "invalid_grant");
        }
    }
}
