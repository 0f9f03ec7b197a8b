//! Cleanup of expired second-factor data.

use serde_json::json;
use tests::TestApp;
use tests::wait::until;

use crate::v1::mfa::MINUTE;

const ROWS: &str = "SELECT (SELECT COUNT(*) FROM pending_logins) + (SELECT COUNT(*) FROM passkey_challenges) + (SELECT COUNT(*) FROM authenticator_setups)";

#[tokio::test(flavor = "multi_thread")]
async fn expired_rows_are_deleted_and_valid_ones_are_kept() {
    let mut app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.with_both("ada").await;
    ada.set_up_totp().await;
    ada.registration_options().await;
    ada.step_up_options().await;
    app.pend("ada").await.options().await.assert(200);
    app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    assert_eq!(app.number(ROWS).await, 6, "a setup, a login, a challenge for each purpose");
    app.stop().await;
    app.clock.advance(10 * MINUTE);
    app.start().await;
    until("expired rows are deleted", async || (app.number(ROWS).await == 0).then_some(())).await;
    app.pend("ada").await.passkey(&mut ada.authenticator).await.assert(200);
    app.pend("ada").await.recovery(&ada.codes[0]).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_has_at_most_a_hundred_pending_logins() {
    let app = TestApp::spawn().await;
    let ada = app.with_totp("ada").await;
    let first = app.pend("ada").await;
    app.clock.advance(1);
    let second = app.pend("ada").await;
    for _ in 0..99 {
        app.clock.advance(1);
        app.pend("ada").await;
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM pending_logins").await, 100);
    first.totp(&ada.code()).await.refused(401);
    second.totp(&ada.code()).await.assert(200);
}
