//! Access keys and API keys are created, shown once, edited, deleted and revoked by forms alone.

use serde_json::Value;
use tests::reader::Page;
use tests::{Client, Reader, SessionOrigin, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};

async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let reader = app.signed_in_reader("ada").await;
    (app, reader)
}

/// The raw key on a page.
#[track_caller]
fn raw(page: &Page) -> String {
    let html = page.html();
    let (_, rest) = html.split_once("id=\"raw-key\">").unwrap();
    rest.split('<').next().unwrap().to_owned()
}

async fn api_keys(app: &TestApp) -> Vec<Value> {
    let ada = app.open_session("ada", SessionOrigin::Dashboard).await;
    ada.get("/v1/api-keys").await.assert(200)["apiKeys"].as_array().unwrap().clone()
}

fn with_key(app: &TestApp, key: &str) -> Client {
    app.anonymous().with_token(Some(key.to_owned()))
}

/// The date this many days from now.
fn day(app: &TestApp, days: i64) -> String {
    app.clock.now().plus_millis(days * 86_400_000).utc_date()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_key_is_created_shown_once_edited_and_deleted() {
    let (app, mut reader) = ada().await;
    reader.open("/dashboard/keys").await.has_status(200).shows("Create access key").shows("Create API key");
    let page = reader.open("/dashboard/keys/new").await.has_status(200);
    assert_eq!(page.form().fields["ttl"], day(&app, 60));
    let form = page.form().with(&[("friendlyName", "build / server"), ("ttl", &day(&app, 7))]);
    let page = reader.send(&form).await.has_status(200).shows("Your new key");
    let key = raw(&page);
    assert!(key.starts_with("svc_ak_"), "{key}");
    with_key(&app, &key).get("/v1/authenticated").await.assert(200);
    let page = reader.open("/dashboard/keys").await.shows("build / server");
    assert!(!page.html().contains(&key));
    let form = reader.open("/dashboard/keys/access/build%20%2F%20server").await.has_status(200).form();
    reader.send(&form).await.is_at("/dashboard/keys").shows("The key build / server was updated.");
    // It works until the end of its day, and no longer.
    app.clock.advance(6 * 86_400_000);
    let mut reader = app.signed_in_reader("ada").await;
    with_key(&app, &key).get("/v1/authenticated").await.assert(200);
    let form = reader.open("/dashboard/keys/access/build%20%2F%20server").await.form();
    let form = form.with(&[("friendlyName", "laptop"), ("ttl", &day(&app, 30))]);
    reader.send(&form).await.is_at("/dashboard/keys").shows("The key laptop was updated.");
    app.clock.advance(2 * 86_400_000);
    with_key(&app, &key).get("/v1/authenticated").await.assert(200);
    let page = reader.open("/dashboard/keys/access/laptop/delete").await.has_status(200).shows("Delete the key laptop?");
    with_key(&app, &key).get("/v1/authenticated").await.assert(200);
    reader.send(&page.form()).await.is_at("/dashboard/keys").shows("The key laptop was deleted.");
    with_key(&app, &key).get("/v1/authenticated").await.refused(401);
    reader.open("/dashboard/keys/access/laptop").await.has_status(404);
    assert!(reader.asked.iter().all(|asked| !asked.contains(&key)));
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_relative_with_the_exact_time_in_a_tooltip() {
    let (app, mut reader) = ada().await;
    app.named_key("ada", "laptop").await;
    let expires = app.clock.now().plus_millis(60 * 86_400_000);
    let exact = format!("<time datetime=\"{}\" title=\"{}\">", expires.iso8601(), control::testing::dashboard::moment(expires));
    let page = reader.open("/dashboard/keys").await.shows(">just now</time>").shows("Never used");
    page.shows(&format!("Expires {exact}in 60 days</time>"));
    reader.open("/dashboard/keys/access/laptop").await.shows(&format!("Expires {exact}in 60 days</time>"));
    app.clock.advance(61 * 86_400_000);
    let page = app.signed_in_reader("ada").await.open("/dashboard/keys").await;
    page.shows(&format!("Expired</span> {exact}1 day ago</time>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_updates_only_fields_that_were_edited_in_it() {
    let (app, mut reader) = ada().await;
    app.named_key("ada", "laptop").await;
    let page = "/dashboard/keys/access/laptop";
    let form = reader.open(page).await.form();
    reader.fill(page, &[("ttl", &day(&app, 7))]).await.is_at("/dashboard/keys");
    // Submits the earlier form, which is refused once in between.
    let refused = reader.send(&form.with(&[("friendlyName", "")])).await.has_status(400).form();
    assert_eq!((refused.fields["ttl"].as_str(), refused.fields["shownDay"].as_str()), (day(&app, 60).as_str(), day(&app, 60).as_str()));
    reader.send(&refused.with(&[("friendlyName", "tower")])).await.shows("The key tower was updated.");
    assert_eq!(reader.open("/dashboard/keys/access/tower").await.form().fields["ttl"], day(&app, 7));

    let mut form = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", "ci"), ("expires_at", &day(&app, 60))]);
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    form.fields.insert("scopeDeploy".to_owned(), "on".to_owned());
    reader.send(&form).await.has_status(200);
    let one = format!("/dashboard/keys/api/{}", api_keys(&app).await.remove(0)["id"].as_str().unwrap());
    let form = reader.open(&one).await.form();
    let mut narrower = form.clone().with(&[("expires_at", &day(&app, 7))]);
    narrower.fields.remove("scopeDeploy");
    reader.send(&narrower).await.is_at("/dashboard/keys");
    let refused = reader.send(&form.with(&[("name", "")])).await.has_status(400).form();
    reader.send(&refused.with(&[("name", "builds")])).await.shows("The API key builds was updated.");
    let key = api_keys(&app).await.remove(0);
    assert_eq!((&key["name"], &key["scopes"]), (&"builds".into(), &serde_json::json!(["read"])));
    assert_eq!(key["expires_at"], format!("{}T23:59:59.999Z", day(&app, 7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_an_access_key_are_shown_at_their_fields() {
    let (app, mut reader) = ada().await;
    app.named_key("ada", "taken").await;
    let new = "/dashboard/keys/new";
    reader.fill(new, &[("friendlyName", "")]).await.has_status(400).shows("Name must be 1 to 255 characters");
    reader.fill(new, &[("friendlyName", "taken")]).await.has_status(409).shows("An access key named taken already exists.");
    let yesterday = day(&app, -1);
    let page = reader.fill(new, &[("friendlyName", "x"), ("ttl", &yesterday)]).await.has_status(400).shows("Choose a date in the future.");
    assert_eq!(page.form().fields["ttl"], yesterday);
    reader.fill(new, &[("friendlyName", "x"), ("ttl", "soon")]).await.has_status(400).shows("Expiration date must be a date such as");
    // A session has a name too, but is not a key.
    let ada = app.log_in("ada").await;
    let keys = ada.get("/v1/access-keys").await.assert(200)["accessKeys"].as_array().unwrap().clone();
    let session = keys.iter().find(|key| key["isSession"] == true).unwrap()["friendlyName"].as_str().unwrap().to_owned();
    reader.open(&format!("/dashboard/keys/access/{session}")).await.has_status(404);
    reader.open(&format!("/dashboard/keys/access/{session}/delete")).await.has_status(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_key_is_created_shown_once_edited_and_revoked() {
    let (app, mut reader) = ada().await;
    let mut form = reader.open("/dashboard/keys/api/new").await.has_status(200).form().with(&[("name", "ci")]);
    let page = reader.send(&form).await.has_status(400).shows("Choose at least one scope.");
    assert_eq!(page.form().fields["name"], "ci");
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    let page = reader.send(&form).await.has_status(200).shows("Your new key");
    let key = raw(&page);
    with_key(&app, &key).get("/v1/apps").await.assert(200);
    let made = api_keys(&app).await.remove(0);
    assert_eq!((&made["scopes"], &made["expires_at"]), (&serde_json::json!(["read"]), &Value::Null));
    let page = reader.open("/dashboard/keys").await.shows("ci").shows("Never expires").shows(made["key_prefix"].as_str().unwrap());
    assert!(!page.html().contains(&key));

    let one = format!("/dashboard/keys/api/{}", made["id"].as_str().unwrap());
    let form = reader.open(&one).await.has_status(200).form();
    assert!(form.fields.contains_key("scopeRead") && !form.fields.contains_key("scopeDeploy"), "{form:?}");
    let mut form = form.with(&[("name", "ci of the app"), ("expires_at", &day(&app, 10))]);
    form.fields.insert("scopeDeploy".to_owned(), "on".to_owned());
    reader.send(&form).await.is_at("/dashboard/keys").shows("The API key ci of the app was updated.").shows("deploy, read");
    let changed = api_keys(&app).await.remove(0);
    assert_eq!(changed["expires_at"], format!("{}T23:59:59.999Z", day(&app, 10)));
    // An unchanged form changes nothing. Without a date, the key never expires.
    let form = reader.open(&one).await.form();
    assert_eq!(form.fields["expires_at"], day(&app, 10));
    reader.send(&form).await.is_at("/dashboard/keys");
    assert_eq!(api_keys(&app).await.remove(0)["expires_at"], changed["expires_at"]);
    reader.send(&form.with(&[("expires_at", "")])).await.is_at("/dashboard/keys");
    assert_eq!(api_keys(&app).await.remove(0)["expires_at"], Value::Null);
    let form = reader.open(&one).await.form();
    reader.send(&form.with(&[("expires_at", &day(&app, -2))])).await.has_status(400).shows("Choose a date in the future.");

    let page = reader.open(&format!("{one}/revoke")).await.has_status(200).shows("Revoke the API key ci of the app?");
    with_key(&app, &key).get("/v1/apps").await.assert(200);
    let page = reader.send(&page.form()).await.is_at("/dashboard/keys").shows("was revoked.").shows(">Revoked<");
    assert!(!page.html().contains(&one), "a revoked key has no buttons");
    with_key(&app, &key).get("/v1/apps").await.refused(401);
    let form = reader.open(&one).await.form();
    reader.send(&form).await.has_status(409).shows("The API key is revoked and cannot be updated.");
    assert!(reader.asked.iter().all(|asked| !asked.contains(&key)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_form_creates_no_second_api_key() {
    let (app, mut reader) = ada().await;
    let mut form = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", "ci")]);
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    reader.send(&form).await.has_status(200).shows("Your new key");
    reader.send(&form).await.is_at("/dashboard/keys").shows("You submitted this form already, and its key is in the list.");
    // Nor with other input, nor concurrently, nor after the key was revoked.
    reader.send(&form.clone().with(&[("name", "other")])).await.is_at("/dashboard/keys");
    let id = api_keys(&app).await.remove(0)["id"].as_str().unwrap().to_owned();
    reader.fill(&format!("/dashboard/keys/api/{id}/revoke"), &[]).await.is_at("/dashboard/keys");
    reader.send(&form).await.is_at("/dashboard/keys").shows("You submitted this form already");
    assert_eq!(api_keys(&app).await.len(), 1);
    let mut form = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", "ci")]);
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    let (mut one, mut two) = (reader.clone(), reader.clone());
    let (one, two) = tokio::join!(one.post(&form), two.post(&form));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 303]);
    // A refused form gets a new id. Two forms may use the same name.
    let refused = reader.fill("/dashboard/keys/api/new", &[("name", "ci")]).await.has_status(400);
    let mut form = refused.form();
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    reader.send(&form).await.has_status(200).shows("Your new key");
    assert_eq!(api_keys(&app).await.len(), 3);
    // Nobody can choose an id or use another account's.
    app.register("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    let csrf = bob.open("/dashboard/keys/api/new").await.form().fields["csrf"].clone();
    let of_ada = reader.open("/dashboard/keys/api/new").await.form().fields["once"].clone();
    for once in [of_ada.as_str(), "", "x", "0189abcd-0000-7000-8000-000000000000"] {
        let refused = bob.send(&form.clone().with(&[("csrf", &csrf), ("once", once)])).await.has_status(400);
        refused.shows("This form has expired: submit it again.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_account_are_not_found() {
    let (app, mut reader) = ada().await;
    app.register("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    let mut form = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", "ci")]);
    form.fields.insert("scopeRead".to_owned(), "on".to_owned());
    reader.send(&form).await.has_status(200);
    app.named_key("ada", "laptop").await;
    let id = api_keys(&app).await.remove(0)["id"].as_str().unwrap().to_owned();
    let csrf = bob.open("/dashboard").await.form_to("/dashboard/sign-out").fields;
    for page in [format!("/dashboard/keys/api/{id}"), "/dashboard/keys/access/laptop".to_owned()] {
        let taken_away = if page.contains("/api/") { format!("{page}/revoke") } else { format!("{page}/delete") };
        for page in [page, taken_away] {
            bob.open(&page).await.has_status(404);
            bob.send(&tests::reader::Form { action: page.clone(), fields: csrf.clone() }).await.has_status(404);
            reader.open(&page).await.has_status(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_keys_are_escaped() {
    let (_app, mut reader) = ada().await;
    for text in ATTEMPTS {
        let page = reader.fill("/dashboard/keys/new", &[("friendlyName", text)]).await.has_status(200);
        stays_text(&page.html(), text);
        let mut form = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", text)]);
        let refused = reader.send(&form).await.has_status(400);
        stays_text(&refused.html(), text);
        form.fields.insert("scopeApps".to_owned(), "on".to_owned());
        stays_text(&reader.send(&form).await.has_status(200).html(), text);
        let page = reader.open("/dashboard/keys").await.has_status(200);
        stays_text(&page.html(), text);
        let html = page.html();
        let links = html.split("href=\"").map(|rest| rest.split('"').next().unwrap());
        let access = links.filter(|link| link.contains("/keys/access/")).last().unwrap();
        let question = reader.open(access).await.has_status(200);
        stays_text(&question.html(), text);
        reader.send(&question.form()).await.is_at("/dashboard/keys");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_past_its_mfa_deadline_cannot_create_keys() {
    let options = tests::Options::default().with("LIMIT_SESSION", "90d").with("LIMIT_SESSION_IDLE", "90d");
    let app = TestApp::spawn_with(options).await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let form = reader.open("/dashboard/keys/new").await.form().with(&[("friendlyName", "x")]);
    app.miss_mfa_deadline("ada").await;
    for page in ["/dashboard/keys/new", "/dashboard/keys/api/new"] {
        let page = reader.open(page).await.has_status(200).shows("Set up two-factor authentication");
        assert_eq!(page.forms().len(), 1, "{}", page.html());
    }
    reader.send(&form).await.has_status(403).shows("Set up two-factor authentication");
}
