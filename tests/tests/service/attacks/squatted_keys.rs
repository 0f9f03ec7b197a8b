//! Key squatting: an account registered a deployment key that another user's devices have, and what the operator can do about it.

use serde_json::json;
use tests::program::{self, Ended};
use tests::{Bundle, Client, TestApp};

use crate::v1::apps::{accept, transfer};

const KEY: &str = "the-key-that-the-victims-devices-have";

async fn operate(app: &TestApp, arguments: &[&str]) -> Ended {
    program::run(&app.settings(), &[&["deployment-key"], arguments].concat()).await
}

async fn done(app: &TestApp, arguments: &[&str], action: &str) {
    let rows = app.audit_rows().await;
    let done = operate(app, arguments).await;
    assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
    let events: Vec<_> = app.audit_since(rows).await.into_iter().map(|event| (event.action, event.object_id)).collect();
    assert_eq!(events, [(action.to_owned(), KEY.to_owned())]);
    // The program uses the machine's time, which is ahead of the server's clock: the email is due then.
    app.clock.advance(60_000);
    app.state().mailer.wake();
}

async fn bring(client: &Client, app: &str, name: &str) -> tests::Answer {
    client.post(&format!("/v1/apps/{app}/deployments"), json!({ "name": name, "key": KEY })).await
}

async fn publish(client: &Client, app: &str, name: &str, content: &str) {
    client.upload(app, name, &Bundle::script(content).0, json!({ "appVersion": "1.0.0" })).await.assert(201);
}

/// What a device with this key is offered: label and description, or that the key is unknown.
async fn offered(app: &TestApp, key: &str) -> String {
    let answer = app.anonymous().get(&format!("/v1/public/svc/update_check?deployment_key={key}&app_version=1.0.0")).await;
    if answer.status == 404 { "404".to_owned() } else { answer.assert(200)["update_info"]["package_hash"].to_string() }
}

/// A squatter's deployment with the victim's key and a release, and the victim with an app.
async fn squatted() -> (TestApp, Client, Client) {
    let app = TestApp::spawn().await;
    let (eve, ada) = (app.sign_up("eve").await, app.sign_up("ada").await);
    eve.create_app("evil").await;
    bring(&eve, "evil", "Squat").await.assert(201);
    publish(&eve, "evil", "Squat", "evil").await;
    ada.create_app("app").await;
    bring(&ada, "app", "Mine").await.refused(409);
    (app, eve, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freed_squatted_key_can_be_claimed_by_its_owner() {
    let (app, eve, ada) = squatted().await;
    let evil = offered(&app, KEY).await;
    done(&app, &["release", "--key", KEY], "deployment_key.release").await;
    assert_eq!(offered(&app, KEY).await, "404");
    // The squatter's deployment continues with a new key, and its owner is notified.
    let new = eve.deployment_key("evil", "Squat").await;
    assert_ne!(new, KEY);
    assert_eq!(offered(&app, &new).await, evil);
    let mail = app.last_mail_to("eve@example.com").await;
    assert!(mail.subject == "A deployment key was changed" && mail.text.contains("- evil Squat\n"), "{}", mail.text);
    bring(&ada, "app", "Mine").await.assert(201);
    publish(&ada, "app", "Mine", "good").await;
    assert_ne!(offered(&app, KEY).await, evil);
    // The key belongs to the victim now, like any other.
    bring(&eve, "evil", "Again").await.refused(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freed_key_does_not_follow_a_transferred_app() {
    let (app, eve, ada) = squatted().await;
    done(&app, &["release", "--key", KEY], "deployment_key.release").await;
    let new = eve.deployment_key("evil", "Squat").await;
    let second = app.sign_up("second").await;
    transfer(&eve, "evil", "second").await.assert(201);
    accept(&second, "eve@example.com:evil", json!({})).await.assert(200);
    bring(&ada, "app", "Mine").await.assert(201);
    bring(&second, "evil", "Again").await.refused(409);
    // The app's own keys were transferred with it.
    second.delete("/v1/apps/evil/deployments/Squat").await.assert_status(204);
    let brought = json!({ "name": "New", "key": new });
    eve.create_app("more").await;
    eve.post("/v1/apps/more/deployments", brought.clone()).await.refused(409);
    second.post("/v1/apps/evil/deployments", brought).await.assert(201);
}

/// The account and use of a key in the newest audit row.
async fn noted(app: &TestApp) -> (String, bool) {
    let row = app.audit_trail().await.pop().unwrap();
    let details: serde_json::Value = serde_json::from_str(&row.details).unwrap();
    (details["account"].as_str().unwrap_or_default().to_owned(), details["wasInUse"].as_bool().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_holder_is_notified_that_the_operator_freed_the_key() {
    let (app, eve, ada) = squatted().await;
    let [of_eve, of_ada] = [app.account_of("eve").await.to_string(), app.account_of("ada").await.to_string()];
    eve.delete("/v1/apps/evil/deployments/Squat").await.assert_status(204);
    bring(&ada, "app", "Mine").await.refused(409);
    done(&app, &["release", "--key", KEY], "deployment_key.release").await;
    assert_eq!(noted(&app).await, (of_eve, false));
    let taken = "A deployment key was removed from your account";
    let mail = app.last_mail_to("eve@example.com").await;
    assert!(mail.subject == taken && mail.text.contains(&format!("- {KEY}\n")) && mail.text.contains("administrator"), "{}", mail.text);
    // Nobody has it now.
    let mails = app.mails_to("eve@example.com").await.len();
    done(&app, &["release", "--key", KEY], "deployment_key.release").await;
    assert_eq!((noted(&app).await, app.mails_to("eve@example.com").await.len()), ((String::new(), false), mails));
    bring(&ada, "app", "Mine").await.assert(201);
    // The same when it is assigned to another account's deployment, but not when it stays with its owner.
    ada.delete("/v1/apps/app/deployments/Mine").await.assert_status(204);
    let assign = async |to: &str| {
        done(&app, &["assign", "--key", KEY, "--app", to, "--deployment", "Staging"], "deployment_key.assign").await;
        noted(&app).await
    };
    assert_eq!(assign("ada@example.com:app").await, (of_ada.clone(), false));
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "A deployment key was changed");
    ada.delete("/v1/apps/app/deployments/Staging").await.assert_status(204);
    assert_eq!(assign("eve@example.com:evil").await, (of_ada, false));
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, taken);
    assert_eq!(app.last_mail_to("eve@example.com").await.subject, "A deployment key was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squatted_key_can_be_assigned_to_the_deployment_whose_devices_use_it() {
    let (app, eve, ada) = squatted().await;
    let evil = offered(&app, KEY).await;
    let before = ada.deployment_key("app", "Production").await;
    publish(&ada, "app", "Production", "good").await;
    let good = offered(&app, &before).await;
    let assign = ["assign", "--key", KEY, "--app", "ada@example.com:app", "--deployment", "Production"];
    done(&app, &assign, "deployment_key.assign").await;
    assert_eq!(ada.deployment_key("app", "Production").await, KEY);
    assert_eq!((offered(&app, KEY).await, offered(&app, &before).await), (good, "404".to_owned()));
    assert_eq!(offered(&app, &eve.deployment_key("evil", "Squat").await).await, evil);
    for (address, listed) in [("ada@example.com", "- app Production\n"), ("eve@example.com", "- evil Squat\n")] {
        let mail = app.last_mail_to(address).await;
        assert!(mail.text.contains(listed), "{}", mail.text);
    }
    // Reports count for the key's current deployment; the previous key stays with the owner.
    let report =
        json!({ "deployment_key": KEY, "app_version": "1.0.0", "label": "v1", "status": "DeploymentSucceeded", "client_unique_id": "one" });
    app.clock.advance(1);
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    assert_eq!(ada.metrics("app", "Production").await["v1"]["installed"], 1);
    ada.post("/v1/apps/app/deployments", json!({ "name": "Old", "key": before })).await.assert(201);
    let again = operate(&app, &assign).await;
    assert!(again.code == Some(1) && again.err.contains("already has this key"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unused_key_can_only_be_assigned() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("app").await;
    for (arguments, said) in [
        (&["release", "--key", KEY][..], "deployment key was not found"),
        (&["release", "--key", "short"], "--key"),
        (&["assign", "--key", KEY, "--app", "app", "--deployment", "Staging"], "--app"),
        (&["assign", "--key", KEY, "--app", "bob@example.com:app", "--deployment", "Staging"], "account was not found"),
        (&["assign", "--key", KEY, "--app", "ada@example.com:other", "--deployment", "Staging"], "app was not found"),
        (&["assign", "--key", KEY, "--app", "ada@example.com:app", "--deployment", "Other"], "deployment was not found"),
    ] {
        let refused = operate(&app, arguments).await;
        assert!(refused.code == Some(1) && refused.err.contains(said), "{refused:?}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM deployment_keys").await, 2);
    done(&app, &["assign", "--key", KEY, "--app", "ada@example.com:app", "--deployment", "Staging"], "deployment_key.assign").await;
    assert_eq!(ada.deployment_key("app", "Staging").await, KEY);
}
