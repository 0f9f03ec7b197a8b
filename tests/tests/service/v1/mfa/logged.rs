//! The program's log about second factors: a decreasing counter, and never secrets.

use serde_json::json;
use tests::people::{PASSWORD, login};
use tests::program::Serving;
use tests::second_factors::Pending;
use tests::{Answer, Authenticator, Client, Forgery, Holder, TestApp};

async fn pend(client: &Client, holder: &Holder) -> Pending {
    Pending::read(client.clone(), &client.post("/v1/auth/login", login(&holder.email(), PASSWORD)).await)
}

async fn sign_in(client: &Client, authenticator: &mut Authenticator, forgery: Option<&Forgery>) -> Answer {
    let asked = client.post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let response = match forgery {
        Some(forgery) => authenticator.assert_but(&asked["options"], forgery),
        None => authenticator.assert(&asked["options"]),
    };
    client.post("/v1/auth/passkey/verify", json!({ "challengeId": asked["challengeId"], "response": response })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decreasing_counter_is_logged_and_secrets_are_not_at_any_level() {
    let mut app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    let passkey = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let mut stolen = ada.authenticator.clone();
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    app.stop().await;

    let mut settings = app.settings();
    settings.insert("UPDRAFT_LOG".to_owned(), "trace".to_owned());
    let program = Serving::start(&settings).await;
    let client = Client::new(&program.base, None);
    let counts = pend(&client, &ada).await;
    counts.passkey(&mut stolen).await.refused(401);
    sign_in(&client, &mut stolen.clone(), Some(&Forgery::Counter(1))).await.refused(401);
    sign_in(&client, &mut ada.authenticator, Some(&Forgery::FlippedBit)).await.refused(401);
    let session = sign_in(&client, &mut ada.authenticator, None).await.assert(200)["accessKey"].as_str().unwrap().to_owned();
    let recovered = pend(&client, &ada).await;
    recovered.recovery(&ada.codes[0]).await.assert(200);
    recovered.totp(&ada.wrong_code()).await.refused(401);
    let setup = client.with_token(Some(session.clone())).post("/v1/mfa/totp/setup", json!({})).await.assert(200);
    let log = program.stop().await;

    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("passkey signature counter went backward")).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|line| line.contains("WARN") && line.contains(&passkey)), "{warnings:?}");
    let user = ada.authenticator.user();
    let secret = setup["secret"].as_str().unwrap();
    let secrets = [&counts.token, &recovered.token, &session, &ada.codes[0], &ada.authenticator.id(), &user];
    for text in secrets.into_iter().map(String::as_str).chain([secret, "ada@example.com", "clientDataJSON", PASSWORD]) {
        let found = log.lines().find(|line| line.contains(text));
        assert_eq!(found, None, "{text} is in the log");
    }
}
