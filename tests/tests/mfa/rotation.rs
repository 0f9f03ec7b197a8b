//! The encryption key is replaced: seeds and recovery codes outlive it, by the real program.

use control::clock::{Clock, Dice};
use control::config::Config;
use control::serve;
use serde_json::json;
use tests::program::{Ended, run};
use tests::{Holder, Options, TestApp};

const OLD: &str = "t1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "t2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

fn with_key(keys: &str) -> Options {
    Options::default().with_passkeys().with("ENCRYPTION_KEY", keys)
}

async fn rotate(app: &TestApp) -> Ended {
    run(&app.settings(), &["keys", "rotate"]).await
}

/// Stops the server and starts it with other keys.
async fn restart(app: &mut TestApp, keys: &str) {
    app.stop().await;
    app.configure("ENCRYPTION_KEY", keys);
    app.start().await;
}

/// Whether a server with these keys would start on the database.
async fn starts(app: &TestApp, keys: &str) -> Result<(), String> {
    let mut settings = app.settings();
    settings.insert("UPDRAFT_ENCRYPTION_KEY".to_owned(), keys.to_owned());
    let config = Config::read(&settings).unwrap();
    serve::build(config, Clock::Test(app.clock.clone()), Dice::System).await.map(drop).map_err(|error| format!("{error:?}"))
}

/// Both kinds of what is sealed still work.
async fn still_works(app: &TestApp, ada: &Holder, code: usize) {
    app.pend("ada").await.totp(&ada.code()).await.assert(200);
    app.pend("ada").await.recovery(&ada.codes[code]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_outlives_the_key_it_was_sealed_with() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    let bob = app.without_factor("bob").await;
    let unconfirmed = bob.set_up_totp().await;
    // The new key first: what is new is sealed with it, what was there is still opened by the old one.
    restart(&mut app, &format!("{NEW},{OLD}")).await;
    still_works(&app, &ada, 0).await;
    let dan = app.with_totp("dan").await;

    let rows = app.audit_rows().await;
    let rotated = rotate(&app).await;
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    // Ada's and Bob's; Dan's were sealed with the new one.
    assert!(rotated.out.contains("2 authenticator seeds") && rotated.out.contains("1 key"), "{}", rotated.out);
    assert!(!rotated.out.contains("AAEC") && !rotated.err.contains("AAEC") && !rotated.out.contains("ICEi"), "{rotated:?}");
    let events = app.audit_since(rows).await;
    assert_eq!(events.iter().map(|event| event.action.as_str()).collect::<Vec<_>>(), ["encryption_key.rotate"]);

    // Now the old one may go.
    restart(&mut app, NEW).await;
    still_works(&app, &ada, 1).await;
    app.pend("dan").await.totp(&dan.code()).await.assert(200);
    let code = unconfirmed.code(app.clock.now());
    bob.session.post("/v1/mfa/totp/confirm", json!({ "code": code })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_is_done_again_without_harm_and_beside_a_running_server() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    let first = rotate(&app).await;
    assert!(first.code == Some(0) && first.out.contains("0 authenticator seeds"), "{first:?}");
    restart(&mut app, &format!("{NEW},{OLD}")).await;
    for seeds in ["1 authenticator seed", "0 authenticator seeds"] {
        let rotated = rotate(&app).await;
        assert!(rotated.code == Some(0) && rotated.out.contains(seeds), "{rotated:?}");
    }
    // The server that ran meanwhile has both, and goes on.
    still_works(&app, &ada, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_do_not_open_everything_are_refused() {
    let mut app = TestApp::spawn_with(with_key(OLD)).await;
    let ada = app.with_totp("ada").await;
    app.stop().await;
    let other = OLD.replace("t1:", "t3:");
    let changed = NEW.replace("t2:", "t1:");
    for keys in [NEW, &changed, &other] {
        let refusal = starts(&app, keys).await.unwrap_err();
        assert!(refusal.contains("ENCRYPTION_KEY") && !refusal.contains("ICEi") && !refusal.contains("AAEC"), "{keys}: {refusal}");
        let mut settings = app.settings();
        settings.insert("UPDRAFT_ENCRYPTION_KEY".to_owned(), keys.to_owned());
        let refused = run(&settings, &["keys", "rotate"]).await;
        assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
        assert!(refused.err.contains("ENCRYPTION_KEY") && !refused.err.contains("AAEC"), "{refused:?}");
    }
    app.start().await;
    still_works(&app, &ada, 0).await;
}
