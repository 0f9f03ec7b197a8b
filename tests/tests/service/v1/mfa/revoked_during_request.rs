//! A session or pending login that is deleted while it requests a passkey challenge.

use serde_json::json;
use tests::TestApp;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_revoked_during_its_request_is_refused() {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_both("ada").await;
    app.whenever("BEFORE INSERT ON passkey_challenges FOR EACH ROW", "DELETE FROM access_keys;").await;
    for path in ["/v1/mfa/passkeys/register/options", "/v1/mfa/step-up/options"] {
        let answer = ada.session.post(path, json!({})).await;
        answer.refused_with(401, None);
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_login_deleted_during_its_request_is_refused() {
    let app = TestApp::spawn_with_passkeys().await;
    let ada = app.with_both("ada").await;
    let (used, pending) = (app.pend("ada").await, app.pend("ada").await);
    used.totp(&ada.code()).await.assert(200);
    let text = used.options().await.refused(401);
    app.whenever("BEFORE INSERT ON passkey_challenges FOR EACH ROW", "DELETE FROM pending_logins;").await;
    let answer = pending.options().await;
    assert_eq!(answer.refused(401), text);
    answer.refused_with(401, None);
}
