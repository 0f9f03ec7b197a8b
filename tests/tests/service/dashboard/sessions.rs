//! Sessions and authorized devices are listed and revoked by forms alone.

use reqwest::Method;
use tests::reader::{Form, Page, unescape};
use tests::{Client, Device, Reader, SessionOrigin, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};

async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let reader = app.signed_in_reader("ada").await;
    (app, reader)
}

async fn authorize_device(app: &TestApp, name: &str) -> Client {
    let device = Device { name: Some(name.to_owned()), client_name: Some("updraft".to_owned()), ..Device::default() };
    app.open_session_of("ada", SessionOrigin::CliDevice, "198.51.100.9", &device).await
}

/// The forms that revoke one session or device each, in the order of the page.
fn ends(page: &Page) -> Vec<Form> {
    page.forms().into_iter().filter(|form| form.action.ends_with("/end")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_session_is_revoked_and_signed_out() {
    let (app, mut reader) = ada().await;
    let mut other = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/sessions").await.has_status(200).shows("This session").shows("No authorized devices.");
    let page = page.shows(">just now</time>").shows("Expires <time datetime=\"");
    let forms = ends(&page);
    assert_eq!(forms.len(), 1, "the current session has no button: {}", page.html());
    reader.send(&forms[0]).await.is_at("/dashboard/sessions").shows("The session was revoked.");
    other.open("/dashboard").await.is_at("/dashboard/sign-in");
    let page = reader.send(&forms[0]).await.is_at("/dashboard/sessions").shows("It was already signed out.");
    assert!(!page.html().contains("Revoke all other sessions"));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_sessions_are_revoked_and_devices_stay() {
    let (app, mut reader) = ada().await;
    let mut others = [app.signed_in_reader("ada").await, app.signed_in_reader("ada").await];
    let device = authorize_device(&app, "Ada's laptop").await;
    let page = reader.open("/dashboard/sessions").await;
    let form = page.form_to("/dashboard/sessions/end-others");
    reader.send(&form).await.is_at("/dashboard/sessions").shows("2 other sessions were revoked.");
    for other in &mut others {
        other.open("/dashboard").await.is_at("/dashboard/sign-in");
    }
    device.get("/v1/authenticated").await.assert(200);
    reader.send(&form).await.shows("There were no other sessions.");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_revoking_all_others_would_not_revoke_do_not_offer_it() {
    let (app, mut reader) = ada().await;
    app.signed_in_reader("ada").await;
    reader.open("/dashboard/sessions").await.shows("Revoke all other sessions");
    // A session from before origins were stored is revoked individually.
    let current = reader.open("/dashboard/sessions").await;
    let other = ends(&current).remove(0);
    let id = other.action.strip_prefix("/dashboard/sessions/").and_then(|rest| rest.strip_suffix("/end")).unwrap();
    assert_eq!(app.change("UPDATE access_keys SET credential_origin = NULL WHERE id = $1", &[id]).await, 1);
    let page = reader.open("/dashboard/sessions").await.has_status(200);
    assert_eq!((ends(&page).len(), page.html().contains("Revoke all other sessions")), (1, false), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_listed_by_its_name_and_revoked() {
    let (app, mut reader) = ada().await;
    let laptop = authorize_device(&app, "Ada's laptop").await;
    let page = reader.open("/dashboard/sessions").await.has_status(200).shows("198.51.100.9");
    assert!(unescape(&page.html()).contains("Ada's laptop (updraft)"), "{}", page.html());
    let page = reader.send(&ends(&page)[0]).await.is_at("/dashboard/sessions");
    assert!(unescape(&page.html()).contains("Ada's laptop (updraft) was signed out."), "{}", page.html());
    laptop.get("/v1/authenticated").await.refused(401);
    for attempt in ATTEMPTS {
        authorize_device(&app, attempt).await;
        stays_text(&reader.open("/dashboard/sessions").await.html(), attempt);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_another_account_cannot_be_revoked() {
    let (app, mut reader) = ada().await;
    app.register("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/sessions").await;
    let mut form = ends(&page).remove(0);
    form.fields = bob.open("/dashboard/sessions").await.form_to("/dashboard/sign-out").fields;
    bob.send(&form).await.is_at("/dashboard/sessions").shows("It was already signed out.");
    assert_eq!(ends(&reader.open("/dashboard/sessions").await).len(), 1);
    // Revoking the current session is a sign-out.
    let ada = app.anonymous().with_token(Some(reader.cookies["updraft"].clone()));
    let sessions = ada.get("/v1/account/sessions").await.assert(200)["sessions"].as_array().unwrap().clone();
    let current = sessions.iter().find(|session| session["isCurrent"] == true).unwrap();
    let id = current["id"].as_str().unwrap();
    form = ends(&reader.open("/dashboard/sessions").await).remove(0);
    form.action = format!("/dashboard/sessions/{id}/end");
    reader.send(&form).await.is_at("/dashboard/sign-in").shows("You are signed out.");
    let answer = reader.ask(Method::GET, "/dashboard/sessions", &[], None).await;
    answer.assert_status(303);
}
