//! Cancellation of pending CLI logins by a new password or the end of the approving session, between every two steps of both flows.

use serde_json::json;
use tests::SessionOrigin::Dashboard;
use tests::people::PASSWORD;
use tests::{Client, Options, TestApp};

use super::MINUTE;
use super::participants::{
    CLI_FLOWS, Ceremony, CliFlow, ada_with, approve, authorized_devices, deny, is_in, many, person, read, refused, resolve, signed_in,
    status,
};

const OTHER: &str = "quite another phrase for the gate";

/// The event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A password reset by email.
    Reset,
    /// The approving session changes the password and is kept.
    ChangeHere,
    /// Another session changes the password.
    ChangeElsewhere,
    /// The approving session signs out.
    SignOut,
    /// Another session revokes all others.
    SignOutAll,
    /// A CLI revokes the sessions of its address.
    SignOutSource,
    /// It is revoked through the list of access keys.
    SignOutKey,
    /// It expires.
    SessionExpires,
}

const EVENTS: [Event; 8] = [
    Event::Reset,
    Event::ChangeHere,
    Event::ChangeElsewhere,
    Event::SignOut,
    Event::SignOutAll,
    Event::SignOutSource,
    Event::SignOutKey,
    Event::SessionExpires,
];

impl Event {
    /// Whether the event also revokes every CLI credential and pending request.
    fn is_new_password(self) -> bool {
        matches!(self, Self::Reset | Self::ChangeHere | Self::ChangeElsewhere)
    }
}

/// The steps of a flow; the event happens after one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Begun,
    Seen,
    Approved,
    Exchanged,
}

const STEPS: [Step; 4] = [Step::Begun, Step::Seen, Step::Approved, Step::Exchanged];

fn generous() -> Options {
    let names = ["MAIL_REQUESTS", "MAILS", "POSTS", "REGISTER"];
    names.iter().fold(many(), |options, name| options.with(&format!("LIMIT_{name}"), "10000/1h"))
}

/// A user with a session for the flow and a second one.
struct Stage<'a> {
    app: &'a TestApp,
    name: String,
    dashboard: Client,
}

impl<'a> Stage<'a> {
    async fn set(app: &'a TestApp, name: String) -> Self {
        let _other = person(app, &name).await;
        let dashboard = app.open_session_of(&name, Dashboard, "192.0.2.77", &tests::Device::default()).await;
        Self { app, name, dashboard }
    }

    async fn session(&self) -> Client {
        self.app.open_session(&self.name, Dashboard).await
    }

    async fn happen(&self, event: Event) {
        let email = format!("{}@example.com", self.name);
        let change = json!({ "currentPassword": PASSWORD, "password": OTHER });
        match event {
            Event::Reset => {
                let stranger = self.app.anonymous();
                stranger.post("/v1/auth/forgot-password", json!({ "email": email })).await.assert(202);
                let token = self.app.last_mail_to(&email).await.token();
                stranger.post("/v1/auth/reset-password", json!({ "token": token, "password": OTHER })).await.assert(200);
            }
            Event::ChangeHere => drop(self.dashboard.patch("/v1/account", change).await.assert(200)),
            Event::ChangeElsewhere => drop(self.session().await.patch("/v1/account", change).await.assert(200)),
            Event::SignOut => drop(self.dashboard.delete("/v1/account/sessions/current").await.assert(204)),
            Event::SignOutAll => drop(self.session().await.delete("/v1/account/sessions?keepCurrent=true").await.assert(200)),
            Event::SignOutSource => drop(self.session().await.delete("/v1/sessions/192.0.2.77").await.assert(204)),
            Event::SignOutKey => {
                let listed = self.dashboard.get("/v1/account/sessions").await.assert(200);
                let current = listed["sessions"].as_array().unwrap().iter().find(|session| session["isCurrent"] == true).unwrap().clone();
                let path = format!("/v1/access-keys/Login-{}", current["id"].as_str().unwrap());
                self.session().await.delete(&path).await.assert(204);
            }
            // An expired session cannot be distinguished otherwise.
            Event::SessionExpires => {
                let hash = shared::hash::Sha256Hex::of(self.dashboard.token().as_bytes()).to_string();
                let now = self.app.clock.now().0.to_string();
                let sql = "UPDATE access_keys SET expires = CAST($1 AS BIGINT) WHERE token_hash = $2";
                assert_eq!(self.app.change(sql, &[&now, &hash]).await, 1);
            }
        }
        assert_eq!(is_in(&self.dashboard).await, event == Event::ChangeHere, "{event:?}");
    }
}

async fn see(flow: CliFlow, dashboard: &Client, ceremony: &Ceremony) {
    if flow == CliFlow::Device {
        resolve(dashboard, ceremony.user_code()).await.assert(200);
    }
    read(dashboard, ceremony.id()).await.assert(200);
}

/// Runs a flow up to a step, triggers the event, and continues.
async fn interrupted(stage: &Stage<'_>, bystander: &Client, flow: CliFlow, after: Step, event: Event) {
    let case = format!("{flow:?}, {event:?} after {after:?}");
    let mut ceremony = Ceremony::begin(flow, &stage.app.anonymous()).await;
    let mut others = Ceremony::begin(flow, &stage.app.anonymous()).await;
    if after >= Step::Seen {
        see(flow, &stage.dashboard, &ceremony).await;
    }
    if after >= Step::Approved {
        ceremony.approve(&stage.dashboard).await;
        others.approve(bystander).await;
    }
    let device = if after >= Step::Exchanged { Some(signed_in(&ceremony.cli, &ceremony.exchange().await)) } else { None };

    stage.happen(event).await;

    if after >= Step::Approved {
        others.exchange().await.assert(200);
    }
    match (after, device) {
        (Step::Exchanged, Some(device)) => {
            assert_eq!(is_in(&device).await, !event.is_new_password(), "{case}");
            if flow == CliFlow::Browser {
                refused(&ceremony.exchange().await, "invalid_grant");
            }
        }
        (Step::Approved, _) => {
            let again = stage.session().await;
            assert_eq!(status(&again, ceremony.id()).await, "expired", "{case}");
            stage.app.clock.advance(30_000);
            refused(&ceremony.exchange().await, "access_denied");
            refused(&ceremony.exchange().await, "access_denied");
            assert!(authorized_devices(&again).await.is_empty(), "{case}");
            approve(&again, ceremony.id()).await.refused(409);
        }
        _ => not_approved_yet(stage, bystander, flow, ceremony, event, &case).await,
    }
}

async fn not_approved_yet(stage: &Stage<'_>, bystander: &Client, flow: CliFlow, mut ceremony: Ceremony, event: Event, case: &str) {
    if event != Event::ChangeHere {
        read(&stage.dashboard, ceremony.id()).await.refused(401);
        approve(&stage.dashboard, ceremony.id()).await.refused(401);
    }
    if flow == CliFlow::Device {
        refused(&ceremony.exchange().await, "authorization_pending");
    }
    let again = if event == Event::ChangeHere { stage.dashboard.clone() } else { stage.session().await };
    if event.is_new_password() {
        // An attacker with the old password may have started it; another user can still approve it for their own account.
        approve(&again, ceremony.id()).await.refused_with(409, None);
        deny(&again, ceremony.id()).await.refused_with(409, None);
        assert_eq!(status(&again, ceremony.id()).await, "expired", "{case}");
        if flow == CliFlow::Device {
            resolve(&again, ceremony.user_code()).await.refused(404);
        }
        ceremony.approve(bystander).await;
        stage.app.clock.advance(30_000);
        assert_eq!(ceremony.exchange().await.assert(200)["account"]["email"], "bob@example.com", "{case}");
        // A request started afterwards is unaffected.
        ceremony = Ceremony::begin(flow, &stage.app.anonymous()).await;
    }
    see(flow, &again, &ceremony).await;
    ceremony.approve(&again).await;
    stage.app.clock.advance(30_000);
    assert_eq!(ceremony.exchange().await.assert(200)["account"]["email"], format!("{}@example.com", stage.name), "{case}");
}

async fn walk(event: Event) {
    let (app, _) = ada_with(generous()).await;
    let bob = person(&app, "bob").await;
    for flow in CLI_FLOWS {
        for after in STEPS {
            let stage = Stage::set(&app, format!("{flow:?}-{after:?}").to_lowercase()).await;
            interrupted(&stage, &bob, flow, after, event).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_reset_cancels_pending_requests() {
    walk(Event::Reset).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_cancels_pending_requests_but_keeps_the_session() {
    walk(Event::ChangeHere).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_change_by_another_session_cancels_pending_requests() {
    walk(Event::ChangeElsewhere).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_the_approving_session_cancels_its_approvals() {
    for event in EVENTS.into_iter().filter(|event| !event.is_new_password()) {
        walk(event).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_the_account_cancels_its_approvals() {
    let (app, _) = ada_with(generous()).await;
    for flow in CLI_FLOWS {
        for exchanges_before in [false, true] {
            let name = format!("{flow:?}-{exchanges_before}").to_lowercase();
            let stage = Stage::set(&app, name).await;
            let mut ceremony = Ceremony::begin(flow, &app.anonymous()).await;
            ceremony.approve(&stage.dashboard).await;
            let device = if exchanges_before { Some(signed_in(&ceremony.cli, &ceremony.exchange().await)) } else { None };
            stage.dashboard.delete_with("/v1/account", json!({ "password": PASSWORD })).await.assert(204);
            app.clock.advance(30_000);
            refused(&ceremony.exchange().await, if exchanges_before { "invalid_grant" } else { "access_denied" });
            if let Some(device) = device {
                assert!(!is_in(&device).await);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expiration_of_the_approving_session_cancels_its_approvals() {
    let (app, _) = ada_with(generous().with("LIMIT_SESSION", "2m").with("LIMIT_SESSION_IDLE", "1m")).await;
    for flow in CLI_FLOWS {
        let dashboard = app.open_session("ada", Dashboard).await;
        let (mut timely, mut late) = (Ceremony::begin(flow, &app.anonymous()).await, Ceremony::begin(flow, &app.anonymous()).await);
        app.clock.advance(MINUTE - 1);
        assert!(is_in(&dashboard).await);
        app.clock.advance(MINUTE - 20_000);
        timely.approve(&dashboard).await;
        late.approve(&dashboard).await;
        app.clock.advance(20_000);
        timely.exchange().await.assert(200);
        app.clock.advance(1);
        refused(&late.exchange().await, "access_denied");
    }
}
