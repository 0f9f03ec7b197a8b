//! A compromised account: what the operator can do about it with the CLI of the service.

use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::program::{self, Ended};
use tests::{Bundle, Client, Options, SessionOrigin, TestApp};

const EMAIL: &str = "ada@example.com";

/// Runs `updraft-control account …` for Ada.
async fn operate(app: &TestApp, arguments: &[&str]) -> Ended {
    let mut all = vec!["account"];
    all.extend_from_slice(arguments);
    all.extend(["--email", EMAIL]);
    program::run(&app.settings(), &all).await
}

/// The same, expecting success with one audit row of this action and one email with this subject. Returns the output and the email's text.
async fn done(app: &TestApp, arguments: &[&str], action: &str, subject: &str) -> (String, String) {
    let (rows, mails) = (app.audit_rows().await, app.mails_to(EMAIL).await.len());
    let done = operate(app, arguments).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    assert!(!done.err.contains("ada@"), "{done:?}");
    let events: Vec<_> = app.audit_since(rows).await.into_iter().map(|event| (event.action, event.credential_kind)).collect();
    assert_eq!(events, [(action.to_owned(), "operator".to_owned())]);
    // The program uses the machine's time, which is ahead of the server's clock: the email is due then.
    app.clock.advance(60_000);
    app.state().mailer.wake();
    let told = app.mails_to(EMAIL).await.split_off(mails);
    let [mail] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(mail.subject, subject);
    assert!(mail.text.contains("administrator"), "{}", mail.text);
    (done.err, mail.text.clone())
}

async fn refused(app: &TestApp, arguments: &[&str], said: &str) {
    let rows = app.audit_rows().await;
    let refused = operate(app, arguments).await;
    assert!(refused.code == Some(1) && refused.out.is_empty() && refused.err.contains(said), "{refused:?}");
    assert_eq!(app.audit_rows().await, rows);
}

/// A client for each kind of credential of Ada.
async fn credentials(app: &TestApp) -> Vec<Client> {
    let mut all = vec![app.open_session("ada", SessionOrigin::Dashboard).await, app.named_key("ada", "laptop").await];
    all.push(app.api_key("ada", &["read"]).await);
    all.extend(app.other_sessions("ada").await);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_credential_of_a_suspended_account_is_refused_until_it_is_restored() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_passkey("ada").await;
    let bob = app.sign_up("bob").await;
    let owner = app.named_key("ada", "owner").await;
    let (key, _) = owner.create_app("app").await;
    app.share("ada", "app", "bob", "Developer", 1).await;
    let all = credentials(&app).await;
    let pending = app.pend("ada").await;

    let (_, text) = done(&app, &["suspend"], "account.suspend", "Your account was suspended").await;
    assert!(text.contains("Nobody can sign in"), "{text}");
    let before = app.audit_rows().await;
    for client in &all {
        client.get("/v1/account").await.refused(401);
        client.get("/v1/apps").await.refused(401);
    }
    owner.post("/v1/apps", json!({ "name": "other" })).await.refused(401);
    // Failures are audited with the account; the first in a minute represents the others.
    let failed: Vec<_> = app.audit_since(before).await.into_iter().map(|row| (row.action, row.object_id, row.details)).collect();
    let details = json!({ "outcome": "suspended" }).to_string();
    assert_eq!(failed, [("credential.fail".to_owned(), app.account_of("ada").await.to_string(), details)]);
    pending.recovery(&ada.codes[0]).await.assert_status(401);
    // With the password, the user learns the reason; a guess reveals nothing and is counted.
    assert_eq!(app.try_log_in("ada", PASSWORD).await.refused(403), "this account is suspended: contact your administrator");
    app.try_log_in("ada", "not the password of anybody").await.refused(401);
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let response = ada.authenticator.assert(&asked["options"]);
    let body = json!({ "challengeId": asked["challengeId"], "response": response });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.refused(403);
    // Others are unaffected: collaborators and devices.
    bob.upload("app", "Production", &Bundle::script("by bob").0, json!({ "appVersion": "1.0.0" })).await.assert(201);
    let check = format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0");
    assert_eq!(app.anonymous().get(&check).await.assert(200)["update_info"]["label"], "v1");
    refused(&app, &["suspend"], "already suspended").await;

    let (_, text) = done(&app, &["reinstate"], "account.reinstate", "Your account was reinstated").await;
    assert!(text.contains("/dashboard/sign-in"), "{text}");
    for client in &all {
        client.get("/v1/account").await.assert(200);
    }
    assert_eq!(app.pend("ada").await.recovery(&ada.codes[0]).await.status, 200);
    refused(&app, &["reinstate"], "not suspended").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_account_is_refused_on_the_dashboard_and_for_pending_cli_requests() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let session = app.open_session("ada", SessionOrigin::Dashboard).await;
    let begin = async || app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201);
    let (approved, waiting) = (begin().await, begin().await);
    let path = |request: &Value, end: &str| format!("/v1/cli/authorizations/{}{end}", request["authorizationId"].as_str().unwrap());
    session.post(&path(&approved, "/approve"), json!({})).await.assert(200);
    let exchange = async |request: &Value| {
        let body = json!({ "grantType": "device_code", "deviceCode": request["deviceCode"] });
        app.anonymous().post("/v1/auth/cli/token", body).await.refused(400)
    };

    done(&app, &["suspend"], "account.suspend", "Your account was suspended").await;
    // The cookie opens no page, and the form does not sign in.
    for page in ["/dashboard", "/dashboard/keys"] {
        reader.open(page).await.is_at("/dashboard/sign-in");
    }
    reader.sign_in(EMAIL, PASSWORD).await.has_status(403).shows("This account is suspended");
    reader.open("/dashboard").await.is_at("/dashboard/sign-in");
    // Nothing can be approved any more, and existing approvals no longer work.
    session.get(&path(&waiting, "")).await.refused(401);
    session.post(&path(&waiting, "/approve"), json!({})).await.refused(401);
    assert_eq!((exchange(&waiting).await.as_str(), exchange(&approved).await.as_str()), ("authorization_pending", "access_denied"));

    done(&app, &["reinstate"], "account.reinstate", "Your account was reinstated").await;
    reader.sign_in(EMAIL, PASSWORD).await.is_at("/dashboard");
    session.post(&path(&waiting, "/approve"), json!({})).await.refused(409);
    assert_eq!(exchange(&approved).await, "access_denied");
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE credential_origin LIKE 'cli%'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_refused_by_suspension_does_not_clear_failed_logins() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_LOGIN_ADDRESS", "100/15m").with("LIMIT_LOGIN_STOP", "3/1h")).await;
    app.sign_up("ada").await;
    done(&app, &["suspend"], "account.suspend", "Your account was suspended").await;
    for _ in 0..2 {
        app.try_log_in("ada", "not the password of anybody").await.refused(401);
        app.try_log_in("ada", PASSWORD).await.refused(403);
    }
    app.try_log_in("ada", "not the password of anybody").await.refused(401);
    app.try_log_in("ada", PASSWORD).await.refused(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_revokes_sessions_and_optionally_keys() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let bob = app.sign_up("bob").await;
    let all = credentials(&app).await;
    let (said, text) = done(&app, &["end-sessions"], "account.end_sessions", "You were signed out everywhere").await;
    assert!(said.contains("keys 0") && !text.contains("laptop"), "{said} {text}");
    let statuses = statuses(&all).await;
    // The dashboard session and CLI credentials are revoked, keys are kept.
    assert_eq!(statuses, [401, 200, 200, 401, 401, 401]);

    let (said, text) = done(&app, &["end-sessions", "--keys"], "account.end_sessions", "You were signed out everywhere").await;
    assert!(said.contains("keys 3"), "{said}");
    for name in ["- laptop\n", "- test\n"] {
        assert!(text.contains(name), "{text}");
    }
    assert_eq!(self::statuses(&all).await, [401; 6]);
    bob.get("/v1/account").await.assert(200);
}

async fn statuses(clients: &[Client]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for client in clients {
        statuses.push(client.get("/v1/account").await.status.as_u16());
    }
    statuses
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_unlocks_an_account_locked_by_a_stranger() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_LOGIN_ADDRESS", "100/15m")).await;
    app.sign_up("ada").await;
    for _ in 0..10 {
        app.try_log_in("ada", "not the password of anybody").await.refused(401);
    }
    app.try_log_in("ada", PASSWORD).await.refused(429);
    done(&app, &["unlock"], "account.unlock", "Your account was unlocked").await;
    let session: Value = app.try_log_in("ada", PASSWORD).await.assert(200);
    assert!(session["accessKey"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_account_is_reported() {
    let app = TestApp::spawn().await;
    for command in [&["suspend"][..], &["reinstate"], &["end-sessions"], &["unlock"]] {
        refused(&app, command, "account was not found").await;
    }
}
