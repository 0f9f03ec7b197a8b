//! Approving and denying: who may, when, and the order of the refusals.

use tests::SessionOrigin::{CliBrowser, CliDevice, Dashboard};
use tests::{Client, TestApp};

use crate::v1::auth::cli::participants::{
    CLI_FLOWS, Ceremony, CliFlow, ada, ada_with, approve, authorized_devices, deny, many, person, read, refused, status,
};
use crate::v1::auth::cli::{DAY, MINUTE};

/// The ID of an unknown request.
const UNKNOWN: &str = "3f8b0c9a-4a55-4d5e-9d0f-0d3c3a0f6a11";

/// Every credential of Ada except dashboard sessions, with the code of its refusals.
async fn others(app: &TestApp) -> Vec<(Client, Option<&'static str>)> {
    let told = Some("dashboard_session_required");
    let old = app.open_session("ada", Dashboard).await;
    app.forget_origin(&old).await;
    vec![
        (app.named_key("ada", "build server").await, None),
        (app.api_key("ada", &["read", "deploy", "apps"]).await, None),
        (app.open_session("ada", CliBrowser).await, told),
        (app.open_session("ada", CliDevice).await, told),
        (old, told),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_dashboard_session_can_read_approve_and_deny() {
    let (app, dashboard) = ada().await;
    let others = others(&app).await;
    for flow in CLI_FLOWS {
        let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        for id in [ceremony.id(), UNKNOWN] {
            for (client, code) in &others {
                read(client, id).await.refused_with(403, *code);
                approve(client, id).await.refused_with(403, *code);
                deny(client, id).await.refused_with(403, *code);
            }
            for stranger in [app.anonymous(), ceremony.cli.with_token(Some("svc_ss_wrong".to_owned()))] {
                read(&stranger, id).await.refused(401);
                approve(&stranger, id).await.refused(401);
                deny(&stranger, id).await.refused(401);
            }
        }
        assert_eq!(status(&dashboard, ceremony.id()).await, "pending");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_past_its_mfa_deadline_cannot_approve() {
    let (app, old) = ada_with(many().with("LIMIT_SESSION", "90d").with("LIMIT_SESSION_IDLE", "90d")).await;
    let others = others(&app).await;
    app.miss_mfa_deadline("ada").await;
    for flow in CLI_FLOWS {
        let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        // The kind of credential is checked first, the request last.
        for (client, code) in &others {
            approve(client, UNKNOWN).await.refused_with(403, *code);
        }
        approve(&old, ceremony.id()).await.refused_with(403, Some("mfa_setup_required"));
        approve(&old, UNKNOWN).await.refused_with(403, Some("mfa_setup_required"));
        assert_eq!(status(&old, ceremony.id()).await, "pending");
        deny(&old, ceremony.id()).await.assert(200);
        approve(&old, ceremony.id()).await.refused_with(403, Some("mfa_setup_required"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_second_factor_an_old_session_can_approve_after_reauthentication() {
    let (app, dashboard) = ada().await;
    for _ in 0..6 {
        app.clock.advance(2 * DAY);
        dashboard.get("/v1/authenticated").await.assert(200);
    }
    for flow in CLI_FLOWS {
        let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        approve(&dashboard, ceremony.id()).await.refused_with(403, Some("reauth_required"));
        dashboard.reauthenticate().await;
        approve(&dashboard, ceremony.id()).await.assert(200);
        app.clock.advance(15 * MINUTE + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_before_the_mfa_deadline_can_be_exchanged_after_it() {
    let (app, _) = ada_with(many().with("LIMIT_SESSION", "90d").with("LIMIT_SESSION_IDLE", "90d")).await;
    let dashboard = app.log_in("ada").await;
    let deadline = app.try_log_in("ada", tests::people::PASSWORD).await.assert(200)["mfaSetupDeadline"].as_i64().unwrap();
    app.clock.advance(deadline - app.clock.now().0);
    dashboard.reauthenticate().await;
    let mut ceremonies = Vec::new();
    for flow in CLI_FLOWS {
        let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        ceremony.approve(&dashboard).await;
        ceremonies.push(ceremony);
    }
    app.clock.advance(1);
    for ceremony in ceremonies {
        ceremony.exchange().await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_request_is_not_found() {
    let (app, dashboard) = ada().await;
    let ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous()).await;
    let upper = ceremony.id().to_uppercase();
    for id in [UNKNOWN, "x", "..", "%00", "%ff", "1", upper.trim_end_matches(char::is_alphanumeric), &"a".repeat(3_000)] {
        for answer in [read(&dashboard, id).await, approve(&dashboard, id).await, deny(&dashboard, id).await] {
            answer.refused(404);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_final() {
    let (app, dashboard) = ada_with(many()).await;
    for flow in CLI_FLOWS {
        for (number, first) in ["approve", "deny"].into_iter().enumerate() {
            let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
            if number == 0 {
                ceremony.approve(&dashboard).await;
            } else {
                deny(&dashboard, ceremony.id()).await.assert(200);
            }
            for _ in 0..2 {
                approve(&dashboard, ceremony.id()).await.refused_with(409, None);
                deny(&dashboard, ceremony.id()).await.refused_with(409, None);
            }
            let expected = if number == 0 { "approved" } else { "denied" };
            assert_eq!(status(&dashboard, ceremony.id()).await, expected, "{flow:?} {first}");
            if number == 0 {
                ceremony.exchange().await.assert(200);
                approve(&dashboard, ceremony.id()).await.refused_with(409, None);
                deny(&dashboard, ceremony.id()).await.refused_with(409, None);
                assert_eq!(status(&dashboard, ceremony.id()).await, "consumed");
            }
        }
    }
    assert_eq!(authorized_devices(&dashboard).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decided_request_is_visible_only_to_its_account() {
    let (app, ada) = ada_with(many()).await;
    let bob = person(&app, "bob").await;
    for flow in CLI_FLOWS {
        for approves in [true, false] {
            let ceremony = Ceremony::begin(flow, &app.anonymous()).await;
            // Any user with the link may approve.
            assert_eq!(read(&bob, ceremony.id()).await.assert(200), read(&ada, ceremony.id()).await.assert(200));
            if approves { approve(&ada, ceremony.id()).await } else { deny(&ada, ceremony.id()).await }.assert(200);
            read(&bob, ceremony.id()).await.refused(404);
            approve(&bob, ceremony.id()).await.refused(404);
            deny(&bob, ceremony.id()).await.refused(404);
            // Another session of the deciding account can see it.
            let again = app.open_session("ada", Dashboard).await;
            assert_eq!(status(&again, ceremony.id()).await, if approves { "approved" } else { "denied" });
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_pending_for_ten_minutes() {
    let (app, dashboard) = ada().await;
    for flow in CLI_FLOWS {
        dashboard.reauthenticate().await;
        let cli = app.anonymous();
        let (timely, denied, late) =
            (Ceremony::begin(flow, &cli).await, Ceremony::begin(flow, &cli).await, Ceremony::begin(flow, &cli).await);
        app.clock.advance(10 * MINUTE - 1);
        approve(&dashboard, timely.id()).await.assert(200);
        deny(&dashboard, denied.id()).await.assert(200);
        assert_eq!(status(&dashboard, late.id()).await, "pending");
        app.clock.advance(1);
        approve(&dashboard, late.id()).await.refused_with(409, None);
        deny(&dashboard, late.id()).await.refused_with(409, None);
        assert_eq!(status(&dashboard, late.id()).await, "expired");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_request_returns_no_credential_in_either_flow() {
    let (app, dashboard) = ada().await;
    for flow in CLI_FLOWS {
        let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
        deny(&dashboard, ceremony.id()).await.assert(200);
        // No code was issued; an invented one is unknown.
        ceremony.grant["code"] = serde_json::json!("A".repeat(43));
        refused(&ceremony.exchange().await, if flow == CliFlow::Browser { "invalid_grant" } else { "access_denied" });
    }
    assert!(authorized_devices(&dashboard).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_is_optional_and_ignored() {
    let (app, dashboard) = ada_with(many()).await;
    for decision in ["approve", "deny"] {
        for body in ["", "{}", "null", "[1", "{\"status\":\"denied\"}"] {
            let ceremony = Ceremony::begin(CliFlow::Device, &app.anonymous()).await;
            let path = format!("/v1/cli/authorizations/{}/{decision}", ceremony.id());
            let request = dashboard.request(reqwest::Method::POST, &path).header("content-type", "application/json").body(body);
            dashboard.send(request).await.assert(200);
        }
    }
}
