//! The account's name, password and deletion, by forms alone.

use serde_json::json;
use tests::people::PASSWORD;
use tests::{Holder, Reader, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};

const NEW: &str = "another long passphrase nobody knows";

async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let reader = app.signed_in_reader("ada").await;
    (app, reader)
}

/// The same with an authenticator app.
async fn with_totp() -> (TestApp, Reader, Holder) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    let mut reader = app.reader();
    let page = reader.sign_in("ada@example.com", PASSWORD).await;
    reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at("/dashboard");
    (app, reader, holder)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_shows_the_account_and_updates_the_name() {
    let (_app, mut reader) = ada().await;
    let page = reader.open("/dashboard/account").await.has_status(200);
    let page = page.shows("ada@example.com").shows("200 MiB").shows("90 days").shows(">off<");
    let page = page.shows("Others see your email address.");
    let page = reader.send(&page.form().with(&[("name", "Ada Lovelace")])).await.is_at("/dashboard/account");
    page.shows("Your name was updated.").shows("value=\"Ada Lovelace\"");
    reader.open("/dashboard").await.shows("Ada Lovelace");
    let refused = reader.fill("/dashboard/account", &[("name", "")]).await.has_status(400);
    let page = refused.shows("Your name must be 1 to 255 characters").shows("Ada Lovelace</span>");
    let mut without = page.form();
    without.fields.remove("name");
    reader.send(&without).await.has_status(400).shows("Your name is required.").shows("Ada Lovelace</span>");
    for text in ATTEMPTS {
        let page = reader.fill("/dashboard/account", &[("name", text)]).await.has_status(200);
        stays_text(&page.html(), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_revokes_the_other_sessions_and_keeps_this_one() {
    let (app, mut reader) = ada().await;
    let mut other = app.signed_in_reader("ada").await;
    let page = reader.fill("/dashboard/account/password", &[("currentPassword", "wrong"), ("password", NEW)]).await.has_status(401);
    let page = page.shows("The password is incorrect.");
    let page = reader.send(&page.form().with(&[("currentPassword", PASSWORD), ("password", "short")])).await.has_status(400);
    let page = page.shows("New password must be 12 to 1000 characters.");
    assert!(!page.html().contains(PASSWORD));
    let mut without = page.form();
    without.fields.remove("password");
    reader.send(&without).await.has_status(400).shows("New password is required.");
    other.open("/dashboard").await.shows("Sign out");
    let form = page.form().with(&[("currentPassword", PASSWORD), ("password", NEW)]);
    reader.send(&form).await.is_at("/dashboard/account").shows("Your password was changed.");
    other.open("/dashboard").await.is_at("/dashboard/sign-in");
    app.reader().sign_in("ada@example.com", PASSWORD).await.has_status(401);
    app.reader().sign_in("ada@example.com", NEW).await.is_at("/dashboard");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_second_factor_a_new_password_and_the_deletion_ask_for_it() {
    let (app, mut reader, holder) = with_totp().await;
    let fields = [("currentPassword", PASSWORD), ("password", NEW)];
    let page = reader
        .fill("/dashboard/account/password", &fields)
        .await
        .has_status(403)
        .shows("Confirm this change with two-factor authentication.");
    let wrong = holder.wrong_code();
    let form = page.form().with(&fields).with(&[("stepUpCode", &wrong)]);
    let page = reader.send(&form).await.has_status(403).shows("The code is incorrect");
    let form = page.form().with(&fields).with(&[("stepUpCode", &holder.code())]);
    reader.send(&form).await.is_at("/dashboard/account").shows("Your password was changed.");
    let page = reader
        .fill("/dashboard/account/delete", &[("password", NEW)])
        .await
        .has_status(403)
        .shows("Confirm this change with two-factor authentication");
    let form = page.form().with(&[("password", NEW), ("stepUpCode", &holder.code())]);
    reader.send(&form).await.is_at("/dashboard/sign-in").shows("Your account was deleted.");
    app.reader().sign_in("ada@example.com", NEW).await.has_status(401);
    for asked in &reader.asked {
        assert!(!asked.contains(NEW) && !asked.contains(PASSWORD), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_deleted_by_its_password_when_it_owns_nothing() {
    let (app, mut reader) = ada().await;
    let ada = app.log_in("ada").await;
    let page = reader.fill("/dashboard/account/delete", &[("password", "wrong")]).await.has_status(401).shows("The password is incorrect.");
    // An app that was created meanwhile. The owner of an app is told before typing anything.
    ada.create_app("<i>demo").await;
    let refused = reader.send(&page.form().with(&[("password", PASSWORD)])).await.has_status(409);
    refused.shows("The account owns apps: transfer or delete them first.").shows("<bdi>&#60;i&#62;demo</bdi>");
    let told = reader.open("/dashboard/account/delete").await.has_status(200).shows("Your account still owns apps.");
    assert!(!told.html().contains("action=\"/dashboard/account/delete\""), "{}", told.html());
    // Another owner's app does not block the deletion.
    app.sign_up("bob").await;
    let bob = app.log_in("bob").await;
    bob.create_app("theirs").await;
    bob.post("/v1/apps/theirs/collaborators/ada@example.com", json!({})).await.assert_status(201);
    ada.delete("/v1/apps/%3Ci%3Edemo").await.assert_status(204);
    let page = reader.open("/dashboard/account/delete").await;
    assert!(!page.html().contains("theirs"), "{}", page.html());
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard/sign-in").shows("Your account was deleted.");
    assert!(!reader.cookies.contains_key("updraft"));
    reader.open("/dashboard").await.is_at("/dashboard/sign-in");
    app.anonymous().post("/v1/auth/login", json!({ "email": "ada@example.com", "password": PASSWORD })).await.refused(401);
}
