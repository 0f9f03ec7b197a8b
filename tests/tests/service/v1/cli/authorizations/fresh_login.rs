//! With a second factor, approving a CLI requires a recent login.

use tests::SessionOrigin::{CliBrowser, Dashboard};
use tests::{Options, TestApp};

use crate::v1::auth::cli::MINUTE;
use crate::v1::auth::cli::participants::{CLI_FLOWS, Ceremony, approve, deny, many, status};

/// The ID of an unknown request.
const UNKNOWN: &str = "3f8b0c9a-4a55-4d5e-9d0f-0d3c3a0f6a11";
const TOO_OLD: Option<&str> = Some("reauth_required");

async fn with_second_factor(options: Options) -> TestApp {
    let app = TestApp::spawn_with(options).await;
    app.with_totp("ada").await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_second_factor_a_login_can_approve_for_fifteen_minutes() {
    let app = with_second_factor(many()).await;
    for flow in CLI_FLOWS {
        let dashboard = app.open_session("ada", Dashboard).await;
        app.clock.advance(10 * MINUTE);
        let (timely, late) = (Ceremony::begin(flow, &app.anonymous()).await, Ceremony::begin(flow, &app.anonymous()).await);
        app.clock.advance(5 * MINUTE);
        approve(&dashboard, timely.id()).await.assert(200);
        app.clock.advance(1);
        // For any request, the kind of credential is checked first, then the age of the login.
        for id in [late.id(), timely.id(), UNKNOWN, "x"] {
            approve(&dashboard, id).await.refused_with(403, TOO_OLD);
        }
        let device = app.open_session("ada", CliBrowser).await;
        approve(&device, late.id()).await.refused_with(403, Some("dashboard_session_required"));
        assert_eq!(status(&dashboard, late.id()).await, "pending");
        let again = app.open_session("ada", Dashboard).await;
        approve(&again, late.id()).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_login_can_still_deny() {
    let app = with_second_factor(many()).await;
    let dashboard = app.open_session("ada", Dashboard).await;
    app.clock.advance(60 * MINUTE);
    for flow in CLI_FLOWS {
        let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        approve(&dashboard, ceremony.id()).await.refused_with(403, TOO_OLD);
        deny(&dashboard, ceremony.id()).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_maximum_age_of_a_login_is_a_setting() {
    let app = with_second_factor(many().with("LIMIT_CLI_FRESHNESS", "1m")).await;
    let dashboard = app.open_session("ada", Dashboard).await;
    app.clock.advance(MINUTE + 1);
    let ceremony = Ceremony::begin(CLI_FLOWS[0], &app.anonymous()).await;
    approve(&dashboard, ceremony.id()).await.refused_with(403, TOO_OLD);
}
