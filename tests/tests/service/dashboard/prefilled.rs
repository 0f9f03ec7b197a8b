//! A link can fill in the form for a new key, as those of the CLI do. It creates nothing.

use serde_json::Value;
use tests::{Reader, SessionOrigin, TestApp};

use crate::dashboard::escaping::ATTEMPTS;

async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let reader = app.signed_in_reader("ada").await;
    (app, reader)
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The account's access keys and API keys.
async fn keys(app: &TestApp) -> (usize, usize) {
    let ada = app.open_session("ada", SessionOrigin::Dashboard).await;
    let count = |list: &Value, is_key: fn(&&Value) -> bool| list.as_array().unwrap().iter().filter(is_key).count();
    let access_keys = ada.get("/v1/access-keys").await.assert(200)["accessKeys"].clone();
    let api_keys = ada.get("/v1/api-keys").await.assert(200)["apiKeys"].clone();
    (count(&access_keys, |key| key["isSession"] == false), count(&api_keys, |_| true))
}

/// The date this many days from now.
fn day(app: &TestApp, days: i64) -> String {
    app.clock.now().plus_millis(days * 86_400_000).utc_date()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_fills_in_the_form_and_only_its_button_creates_the_key() {
    let (app, mut reader) = ada().await;
    let link = format!("/dashboard/keys/new?name=build%20server&expires={}", day(&app, 7));
    let form = reader.open(&link).await.has_status(200).form();
    assert_eq!((form.fields["friendlyName"].as_str(), form.fields["ttl"].as_str()), ("build server", day(&app, 7).as_str()));
    let link = format!("/dashboard/keys/api/new?name=ci&scopes=deploy,read&expires={}", day(&app, 30));
    let api_form = reader.open(&link).await.has_status(200).form();
    assert_eq!((api_form.fields["name"].as_str(), api_form.fields["expires_at"].as_str()), ("ci", day(&app, 30).as_str()));
    let has = |name: &str| api_form.fields.contains_key(name);
    assert_eq!((has("scopeDeploy"), has("scopeRead"), has("scopeApps")), (true, true, false));
    assert_eq!(keys(&app).await, (0, 0));
    reader.send(&form).await.has_status(200).shows("Your new key");
    reader.send(&api_form).await.has_status(200).shows("Your new key");
    assert_eq!(keys(&app).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_the_form_would_refuse_is_left_out() {
    let (app, mut reader) = ada().await;
    let long = "x".repeat(256);
    let link = format!("/dashboard/keys/new?name={long}&expires={}", day(&app, -1));
    let form = reader.open(&link).await.has_status(200).form();
    assert_eq!((form.fields["friendlyName"].as_str(), form.fields["ttl"].as_str()), ("", day(&app, 60).as_str()));
    for wrong in [
        "name=%00&expires=soon&scopes=admin",
        "name=a%E2%80%AEb&expires=2026-02-30&scopes=",
        "scopes=deploy%20read&name=",
        "%FF=%FF&&=&name",
    ] {
        let form = reader.open(&format!("/dashboard/keys/api/new?{wrong}")).await.has_status(200).form();
        assert_eq!((form.fields["name"].as_str(), form.fields["expires_at"].as_str()), ("", ""), "{wrong}");
        assert!(!form.fields.keys().any(|name| name.starts_with("scope")), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_a_link_are_escaped() {
    let (_app, mut reader) = ada().await;
    for text in ATTEMPTS {
        for (page, field) in [("/dashboard/keys/new", "friendlyName"), ("/dashboard/keys/api/new", "name")] {
            let link = format!("{page}?name={0}&expires={0}&scopes={0}&friendlyName={0}", encoded(text));
            let page = reader.open(&link).await.has_status(200);
            crate::dashboard::escaping::stays_text(&page.html(), text);
            assert_eq!(page.form().fields[field], text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_who_signs_in_first_returns_to_the_form_as_the_link_filled_it_in() {
    let (app, _) = ada().await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/keys/api/new?name=ci&scopes=read").await.is_at("/dashboard/sign-in");
    let form = page.form_to("/dashboard/sign-in").with(&[("email", "ada@example.com"), ("password", tests::people::PASSWORD)]);
    let page = reader.send(&form).await.is_at("/dashboard/keys/api/new");
    assert_eq!(page.form().fields["name"], "ci");
    assert!(page.form().fields.contains_key("scopeRead"));
}
