//! Reauthentication: a form whose session is not fresh asks for a proof, and continues with its input; it leads nowhere else.

use reqwest::Method;
use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::reader::{Form, Page};
use tests::{Holder, Options, Reader, SessionOrigin, TestApp, Totp};

const MINUTE: i64 = 60_000;
const HEADING: &str = "<h1>Confirm it's you</h1>";
const NEW: &str = "/dashboard/keys/new";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const OURS: (&str, &str) = ("sec-fetch-site", "same-origin");

/// `ada@example.com`, who signed in more than 15 minutes ago.
async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn_among_strangers(Options::default().with_passkeys()).await;
    app.register("ada").await;
    app.named_key("ada", "tower").await;
    let body = json!({ "name": "ci", "scopes": ["read"], "expires_at": day(&app, 30) + "T23:59:59.999Z" });
    app.open_session("ada", SessionOrigin::Dashboard).await.post("/v1/api-keys", body).await.assert(201);
    let reader = old(&app, "ada").await;
    (app, reader)
}

/// A browser whose session is not fresh.
async fn old(app: &TestApp, name: &str) -> Reader {
    let mut reader = app.reader();
    let session = app.open_session(name, SessionOrigin::Dashboard).await;
    // The cookie's name behind TLS.
    reader.cookies.insert("__Host-updraft".to_owned(), session.token().to_owned());
    app.clock.advance(15 * MINUTE + 1);
    reader
}

fn day(app: &TestApp, days: i64) -> String {
    app.clock.now().plus_millis(days * 86_400_000).utc_date()
}

async fn keys(app: &TestApp) -> Vec<String> {
    let sql = "SELECT friendly_name || ' ' || expires FROM access_keys WHERE NOT is_session AND credential_origin IS NULL \
        UNION ALL SELECT name || ' ' || scopes || ' ' || COALESCE(expires_time, 0) FROM api_keys \
        UNION ALL SELECT account_id FROM authenticator_setups UNION ALL SELECT id FROM cli_authorizations WHERE status <> 'pending' ORDER BY 1";
    app.texts(sql, &[]).await
}

/// The page asks for a proof, keeps the form's input and nothing else, and nothing has changed.
#[track_caller]
fn asks(page: Page, sent: &Form) -> Page {
    let page = page.has_status(403).shows(HEADING);
    let form = page.form();
    assert_eq!(form.action, sent.action);
    let own = ["csrf", "reauthenticate", "username", "password", "response", "stepUp", "stepUpCode"];
    let typed = |form: &Form| {
        let mut fields = form.fields.clone();
        fields.retain(|name, _| !own.contains(&name.as_str()));
        fields
    };
    assert_eq!(typed(&form), typed(sent));
    page
}

async fn confirm(reader: &mut Reader, page: &Page, password: &str) -> Page {
    reader.send(&page.form().with(&[("password", password)])).await
}

fn form_of(page: &Page, fields: &[(&str, &str)]) -> Form {
    page.form().with(fields)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_created_from_the_kept_input_after_the_password() {
    let (app, mut reader) = ada().await;
    let before = keys(&app).await;
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "<b>laptop & \"co\"</b>"), ("ttl", &day(&app, 7))]);
    let page = asks(reader.send(&sent).await, &sent).shows("Enter your password to create the access key.");
    let page = confirm(&mut reader, &page, "wrong").await.has_status(401).shows("The password is incorrect.");
    let page = confirm(&mut reader, &page, "").await.has_status(400).shows("Your password must be 1 to 1000 characters.");
    assert_eq!(page.form().fields["friendlyName"], "<b>laptop & \"co\"</b>");
    assert!(!page.html().contains("<b>laptop") && !page.html().contains("wrong\""), "{}", page.html());
    assert_eq!(keys(&app).await, before);
    confirm(&mut reader, &page, PASSWORD).await.has_status(200).shows("Your new key");
    assert_eq!(keys(&app).await.len(), before.len() + 1);
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE friendly_name = '<b>laptop & \"co\"</b>'").await, 1);
    // The session stays fresh for a while, and no URL contains a secret.
    reader.fill(NEW, &[("friendlyName", "second")]).await.shows("Your new key");
    assert!(reader.asked.iter().all(|asked| !asked.contains("passphrase") && !asked.contains("wrong")), "{:?}", reader.asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_form_are_shown_once_the_session_is_fresh() {
    let (app, mut reader) = ada().await;
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "tower"), ("ttl", &day(&app, 7))]);
    let page = asks(reader.send(&sent).await, &sent);
    let page = confirm(&mut reader, &page, PASSWORD).await.has_status(409).shows("An access key named tower already exists.");
    assert_eq!(page.form().fields["ttl"], day(&app, 7));
    reader.send(&page.form().with(&[("friendlyName", "laptop")])).await.shows("Your new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_that_grants_lasting_access_asks_and_continues() {
    let (app, mut reader) = ada().await;
    let id = app.texts("SELECT id FROM api_keys", &[]).await.remove(0);
    let (access, api) = ("/dashboard/keys/access/tower", format!("/dashboard/keys/api/{id}"));
    let mut new_api_key = reader.open("/dashboard/keys/api/new").await.form().with(&[("name", "builds")]);
    new_api_key.fields.insert("scopeDeploy".to_owned(), "on".to_owned());
    let mut wider = reader.open(&api).await.form();
    wider.fields.insert("scopeApps".to_owned(), "on".to_owned());
    let tries: Vec<(Form, &str, &str)> = vec![
        (new_api_key, "create the API key", "Your new key"),
        (wider, "extend the API key or add scopes", "The API key ci was updated."),
        (reader.open(&api).await.form().with(&[("expires_at", "")]), "extend the API key or add scopes", "The API key ci was updated."),
        (reader.open(access).await.form().with(&[("ttl", &day(&app, 300))]), "extend the access key", "The key tower was updated."),
        (reader.open("/dashboard/cli/key?hostname=old").await.form(), "create the access key", "Your access key"),
        (
            reader.open("/dashboard/security/authenticator").await.form(),
            "set up two-factor authentication",
            "Scan this QR code with the app.",
        ),
    ];
    for (sent, purpose, done) in tries {
        let mut reader = old(&app, "ada").await;
        let mut sent = sent;
        let csrf = reader.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
        sent.fields.insert("csrf".to_owned(), csrf);
        let before = keys(&app).await;
        let page = asks(reader.send(&sent).await, &sent).shows(purpose);
        assert_eq!(keys(&app).await, before, "{purpose}");
        confirm(&mut reader, &page, PASSWORD).await.has_status(200).shows(done);
        assert_ne!(keys(&app).await, before, "{purpose}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_that_reduce_access_do_not_ask() {
    let (app, mut reader) = ada().await;
    let access = "/dashboard/keys/access/tower";
    reader.fill(access, &[("friendlyName", "shed"), ("ttl", &day(&app, 2))]).await.shows("The key shed was updated.");
    reader.fill("/dashboard/keys/access/shed/delete", &[]).await.shows("The key shed was deleted.");
    let id = app.texts("SELECT id FROM api_keys", &[]).await.remove(0);
    reader.fill(&format!("/dashboard/keys/api/{id}"), &[("expires_at", &day(&app, 2))]).await.shows("The API key ci was updated.");
    reader.fill(&format!("/dashboard/keys/api/{id}/revoke"), &[]).await.shows("was revoked.");
}

/// The form with this decision.
fn decision(page: &Page, decision: &str) -> Form {
    let found = page.forms().into_iter().find(|form| form.fields.get("decision").is_some_and(|found| found == decision));
    found.unwrap_or_else(|| panic!("no form to {decision} in\n{}", page.html()))
}

async fn begin(app: &TestApp) -> Value {
    app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201)
}

async fn poll(app: &TestApp, request: &Value) -> tests::Answer {
    app.clock.advance(5_000);
    let grant = json!({ "grantType": "device_code", "deviceCode": request["deviceCode"] });
    app.anonymous().post("/v1/auth/cli/token", grant).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_is_approved_after_the_password_or_with_a_second_factor_after_a_new_login() {
    let (app, mut reader) = ada().await;
    let request = begin(&app).await;
    let code = request["userCode"].as_str().unwrap();
    let page = reader.fill("/dashboard/activate", &[("userCode", code)]).await.has_status(200).shows("Authorize Updraft CLI?");
    let sent = decision(&page, "approve");
    let page = asks(reader.send(&sent).await, &sent).shows("authorize the CLI");
    assert_eq!(poll(&app, &request).await.refused(400), "authorization_pending");
    confirm(&mut reader, &page, PASSWORD).await.has_status(200).shows("CLI authorized");
    poll(&app, &request).await.assert(200);

    let holder = app.with_totp("bob").await;
    let mut reader = old(&app, "bob").await;
    let request = begin(&app).await;
    let page = reader.fill("/dashboard/activate", &[("userCode", request["userCode"].as_str().unwrap())]).await;
    let page = page.has_status(200).shows("You signed in a while ago. Sign in again to authorize the CLI");
    // A form from before, with a proof that would help on other pages.
    let mut form = decision(&page, "deny");
    form.fields.extend([("decision", "approve"), ("userCode", request["userCode"].as_str().unwrap())].map(owned));
    form.fields.extend([("reauthenticate", "yes"), ("stepUpCode", holder.code().as_str())].map(owned));
    let page = reader.send(&form).await.is_at("/dashboard/activate").has_status(200);
    reader.send(&page.form()).await.shows("Sign in again to authorize the CLI");
    assert_eq!(poll(&app, &request).await.refused(400), "authorization_pending");
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// `bob@example.com`, who has a passkey and an authenticator app.
async fn bob() -> (TestApp, Reader, Holder) {
    let app = TestApp::spawn_among_strangers(Options::default().with_passkeys()).await;
    let holder = app.with_both("bob").await;
    let reader = old(&app, "bob").await;
    (app, reader, holder)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_second_factor_the_page_asks_for_it() {
    let (app, mut reader, holder) = bob().await;
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "laptop")]);
    let page = asks(reader.send(&sent).await, &sent).shows("Confirm with two-factor authentication to create the access key.");
    let page = page.shows("data-options=\"/dashboard/security/step-up/options\"").shows("There you can use a recovery code");
    assert!(!page.form().fields.contains_key("password"), "{}", page.html());
    let wrong = page.form().with(&[("stepUpCode", &holder.wrong_code())]);
    let page = reader.send(&wrong).await.has_status(403).shows("The code is incorrect or was already used.");
    let page = reader.send(&page.form()).await.has_status(403).shows("Confirm this change with two-factor authentication.");
    let right = page.form().with(&[("stepUpCode", &holder.code())]);
    reader.send(&right).await.has_status(200).shows("Your new key");
    // The code was used, but the session is fresh.
    reader.fill(NEW, &[("friendlyName", "second")]).await.shows("Your new key");

    let mut holder = holder;
    let mut reader = old(&app, "bob").await;
    let token = app.anonymous().with_token(Some(reader.cookies["__Host-updraft"].clone()));
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "third")]);
    let page = asks(reader.send(&sent).await, &sent);
    let options = token.post("/v1/mfa/step-up/options", json!({})).await.assert(200)["options"].clone();
    let answer = holder.authenticator.assert(&options).to_string();
    reader.send(&page.form().with(&[("stepUp", &answer)])).await.has_status(200).shows("Your new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn password_guesses_on_the_page_are_rate_limited() {
    let (app, mut reader) = ada().await;
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "laptop")]);
    let mut page = asks(reader.send(&sent).await, &sent);
    for _ in 0..5 {
        page = confirm(&mut reader, &page, "guess").await.has_status(401);
    }
    let page = confirm(&mut reader, &page, PASSWORD).await.has_status(429).shows("Too many failed sign-in attempts").shows("Try again in");
    assert_eq!(page.form().fields["friendlyName"], "laptop");
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE friendly_name = 'laptop'").await, 0);
    app.clock.advance(15 * MINUTE);
    confirm(&mut reader, &page, PASSWORD).await.shows("Your new key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_passkey_needs_a_fresh_session_and_keeps_its_name() {
    let (app, mut reader) = ada().await;
    let page = "/dashboard/security/passkeys/new";
    let form = reader.open(page).await.form_to(page);
    let token = form.fields["csrf"].clone();
    let ask = async |reader: &mut Reader| {
        reader.ask(Method::POST, "/dashboard/security/passkeys/options", &[OURS, ("x-csrf-token", &token)], None).await
    };
    assert_eq!(ask(&mut reader).await.assert(200), json!({ "reauthenticate": true }));
    assert_eq!(app.number("SELECT COUNT(*) FROM passkey_challenges").await, 0);
    // Then the script submits the form.
    let sent = form.with(&[("name", "My phone")]);
    let asked = asks(reader.send(&sent).await, &sent).shows("set up two-factor authentication");
    let back = confirm(&mut reader, &asked, PASSWORD).await.has_status(200).shows("<h1>Add a passkey</h1>");
    assert_eq!(back.form_to(page).fields["name"], "My phone");
    assert!(!back.html().contains("class=\"notice bad\""), "{}", back.html());
    assert!(ask(&mut reader).await.assert(200)["options"].is_object());
    assert_eq!(app.number("SELECT COUNT(*) FROM passkeys").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_started_in_time_can_be_confirmed_later() {
    let (app, mut reader) = ada().await;
    let sent = reader.open("/dashboard/security/authenticator").await.form();
    let page = asks(reader.send(&sent).await, &sent);
    let page = confirm(&mut reader, &page, PASSWORD).await.shows("Scan this QR code with the app.");
    app.clock.advance(9 * MINUTE);
    let code = Totp::new(&page.form().fields["secret"]).code(app.clock.now());
    reader.send(&page.form().with(&[("code", &code)])).await.has_status(200).shows("Your recovery codes");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_use_the_page() {
    let (app, mut reader) = ada().await;
    let (before, rows) = (keys(&app).await, app.audit_rows().await);
    let csrf = reader.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
    let of_another = old(&app, "ada").await.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
    let body = |csrf: &str, more: &[(&str, &str)]| {
        let all = [("csrf", csrf), ("reauthenticate", "yes"), ("password", PASSWORD), ("friendlyName", "theirs"), ("ttl", "2099-01-01")];
        form_urlencoded::Serializer::new(String::new()).extend_pairs(all).extend_pairs(more).finish()
    };
    // A cross-site form learns nothing, not even whether the password was right.
    for (headers, csrf) in [
        (vec![FORM, ("sec-fetch-site", "cross-site")], csrf.as_str()),
        (vec![FORM, ("origin", "https://evil.example")], csrf.as_str()),
        (vec![FORM], csrf.as_str()),
        (vec![FORM, OURS], "x"),
        (vec![FORM, OURS], of_another.as_str()),
    ] {
        let answer = reader.ask(Method::POST, NEW, &headers, Some(body(csrf, &[]))).await;
        answer.assert_status(403);
        assert!(answer.text().contains("form did not come from its own page"), "{}", answer.text());
    }
    // A URL does nothing, whatever its query.
    let page = reader.open(&format!("{NEW}?reauthenticate=yes&password={PASSWORD}&friendlyName=theirs")).await.has_status(200);
    assert!(!page.html().contains("theirs"), "{}", page.html());
    assert_eq!((keys(&app).await, app.audit_rows().await), (before, rows));

    // The page links only to its own form's page, whatever it was sent.
    let fields = [("next", "//evil.example"), ("page", "https://evil.example"), ("action", "/dashboard/account/delete")];
    let more = form_urlencoded::Serializer::new(String::new()).append_pair("csrf", &csrf).extend_pairs(fields).finish();
    let answer = reader.ask(Method::POST, &format!("{NEW}?next=//evil.example#x"), &[FORM, OURS], Some(more)).await;
    let page = Page { path: NEW.to_owned(), answer }.has_status(403).shows(HEADING);
    assert_eq!(page.form().action, NEW);
    let html = page.html();
    let mut links = html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert!(links.all(|link| link.starts_with(['/', '#']) && !link.contains("evil") && !link.starts_with("//")), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_session_is_not_asked_for_the_password() {
    let (app, mut reader) = ada().await;
    let sent = form_of(&reader.open(NEW).await, &[("friendlyName", "laptop")]);
    let page = asks(reader.send(&sent).await, &sent);
    app.log_in("ada").await.delete("/v1/account/sessions?keepCurrent=true").await.assert(200);
    let page = confirm(&mut reader, &page, PASSWORD).await.is_at("/dashboard/sign-in").shows("You were signed out.");
    assert!(page.path.ends_with("next=%2Fdashboard%2Fkeys%2Fnew"), "{}", page.path);
    assert_eq!(app.number("SELECT COUNT(*) FROM access_keys WHERE friendly_name = 'laptop'").await, 0);
}
