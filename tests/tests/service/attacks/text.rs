//! Text that looks like other text, that programs interpret differently, or that attackers try first: names, addresses, passwords, JSON.

use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tests::people::{PASSWORD, login};
use tests::program::run;
use tests::{Answer, Client, Options, SessionOrigin, TestApp};

/// Names that look like another one, or that change the text direction around them.
const DECEITFUL: [&str; 8] =
    ["demo\u{200b}", "\u{feff}demo", "de\u{2060}mo", "\u{202e}omed", "\u{2066}demo", "demo\u{200e}", "demo\u{e0041}", "demo\u{200d}"];

/// The same name in two normalization forms: as keyboards type it, and as some file systems return it.
const COMPOSED: &str = "caf\u{e9}";
const DECOMPOSED: &str = "cafe\u{301}";

async fn spawn() -> TestApp {
    let limits = ["REGISTER", "POSTS", "MAIL_REQUESTS", "LOGIN_ADDRESS", "LOGIN_STOP", "CLI_STARTS", "CLI_TOKENS"];
    TestApp::spawn_with(limits.iter().fold(Options::default(), |options, name| options.with(&format!("LIMIT_{name}"), "1000/1h"))).await
}

async fn register(app: &TestApp, email: &str, password: &str, name: Option<&str>) -> Answer {
    app.anonymous().post("/v1/auth/register", json!({ "email": email, "password": password, "name": name })).await
}

/// Sends this JSON verbatim.
async fn send(client: &Client, method: Method, path: &str, body: &str) -> Answer {
    client.send(client.request(method, path).header("content-type", "application/json").body(body.to_owned())).await
}

fn segment(name: &str) -> String {
    tests::encode_segment(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn lookalike_names_are_refused_everywhere() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let dashboard = app.open_session("ada", SessionOrigin::Dashboard).await;
    dashboard.post("/v1/access-keys", json!({ "friendlyName": "laptop" })).await.assert(201);
    let api_key = dashboard.post("/v1/api-keys", json!({ "name": "ci", "scopes": ["read"] })).await.assert(201);
    let api_key = format!("/v1/api-keys/{}", api_key["id"].as_str().unwrap());
    let rows = app.audit_rows().await;
    for name in DECEITFUL {
        for (client, method, path, member) in [
            (&ada, Method::POST, "/v1/apps", "name"),
            (&ada, Method::PATCH, "/v1/apps/demo", "name"),
            (&ada, Method::POST, "/v1/apps/demo/deployments", "name"),
            (&ada, Method::PATCH, "/v1/apps/demo/deployments/Staging", "name"),
            (&dashboard, Method::PATCH, "/v1/account", "name"),
            (&dashboard, Method::POST, "/v1/access-keys", "friendlyName"),
            (&dashboard, Method::PATCH, "/v1/access-keys/laptop", "friendlyName"),
            (&dashboard, Method::POST, "/v1/api-keys", "name"),
            (&dashboard, Method::PATCH, api_key.as_str(), "name"),
            (&ada, Method::POST, "/v1/auth/register", "name"),
            (&ada, Method::POST, "/v1/auth/cli/device", "deviceName"),
            (&ada, Method::POST, "/v1/auth/cli/device", "clientName"),
        ] {
            let body = json!({ "email": "bob@example.com", "password": PASSWORD, "scopes": ["read"], member: name }).to_string();
            let refusal = send(client, method, path, &body).await.refused(400);
            let expected = format!("{member}: must not contain invisible characters or characters that change text direction");
            assert!(refusal.split("; ").any(|fault| fault == expected), "{path} {name:?}: {refusal}");
        }
    }
    assert_eq!(app.audit_rows().await, rows, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_look_the_same_are_equal() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    let dashboard = app.open_session("ada", SessionOrigin::Dashboard).await;
    let made = ada.post("/v1/apps", json!({ "name": DECOMPOSED })).await;
    assert_eq!(made.assert(201)["app"]["name"], COMPOSED);
    assert_eq!(made.header("location"), format!("/v1/apps/{}", segment(COMPOSED)));
    for name in [COMPOSED, DECOMPOSED] {
        ada.post("/v1/apps", json!({ "name": name })).await.refused(409);
        for path in [format!("/v1/apps/{}", segment(name)), format!("/v1/apps/{}", segment(&format!("ada@example.com:{name}")))] {
            assert_eq!(ada.get(&path).await.assert(200)["app"]["name"], COMPOSED);
        }
    }
    let app_path = format!("/v1/apps/{}", segment(DECOMPOSED));
    let deployments = format!("{app_path}/deployments");
    let made = ada.post(&deployments, json!({ "name": DECOMPOSED })).await.assert(201);
    assert_eq!(made["deployment"]["name"], COMPOSED);
    ada.post(&deployments, json!({ "name": COMPOSED })).await.refused(409);
    ada.upload(&segment(DECOMPOSED), "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let promotions = format!("{deployments}/Staging/promotions");
    ada.post(&promotions, json!({ "destination": DECOMPOSED })).await.assert(201);
    ada.upload(&segment(COMPOSED), &segment(DECOMPOSED), b"other", json!({ "appVersion": "1.0.0" })).await.assert(201);
    assert_eq!(ada.get(&format!("{deployments}/{}/history", segment(COMPOSED))).await.assert(200)["history"].as_array().unwrap().len(), 2);

    let made = dashboard.post("/v1/access-keys", json!({ "friendlyName": DECOMPOSED })).await.assert(201);
    assert_eq!(made["accessKey"]["friendlyName"], COMPOSED);
    dashboard.post("/v1/access-keys", json!({ "friendlyName": COMPOSED })).await.refused(409);
    dashboard.delete(&format!("/v1/access-keys/{}", segment(DECOMPOSED))).await.assert_status(204);
    assert_eq!(dashboard.patch("/v1/account", json!({ "name": DECOMPOSED })).await.assert(200)["account"]["name"], COMPOSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn previously_stored_names_stay_valid() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    for (now, before) in [("one", DECOMPOSED), ("two", DECEITFUL[0])] {
        ada.create_app(now).await;
        ada.upload(now, "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
        app.change("UPDATE deployments SET name = $1 WHERE name = 'Production'", &[before]).await;
        app.change("UPDATE apps SET name = $1 WHERE name = $2", &[before, now]).await;
        app.change("UPDATE access_keys SET friendly_name = $1 WHERE friendly_name = 'test'", &[before]).await;
        let path = format!("/v1/apps/{}", segment(before));
        assert_eq!(ada.get(&path).await.assert(200)["app"]["name"], before);
        ada.post(&format!("{path}/deployments/Staging/promotions"), json!({ "destination": before })).await.assert(201);
        let deployment = format!("{path}/deployments/{}", segment(before));
        assert_eq!(ada.get(&deployment).await.assert(200)["deployment"]["package"]["label"], "v1");
        let session = app.open_session("ada", SessionOrigin::Dashboard).await;
        let key = session.get(&format!("/v1/access-keys/{}", segment(before))).await.assert(200);
        assert_eq!(key["accessKey"]["friendlyName"], before);
        app.change("UPDATE access_keys SET friendly_name = 'test' WHERE friendly_name = $1", &[before]).await;
    }
    // A new app with the normalized name is a different one, and replaces nothing.
    ada.create_app(COMPOSED).await;
    for name in [COMPOSED, DECOMPOSED] {
        assert_eq!(ada.get(&format!("/v1/apps/{}", segment(name))).await.assert(200)["app"]["name"], name);
    }
    ada.patch(&format!("/v1/apps/{}", segment(DECOMPOSED)), json!({ "name": "three" })).await.assert(200);
    assert_eq!(ada.get(&format!("/v1/apps/{}", segment(DECOMPOSED))).await.assert(200)["app"]["name"], COMPOSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookalike_email_address_cannot_register() {
    let app = spawn().await;
    let wrong = [
        "ada\u{200b}@example.com",
        "ada@exam\u{200b}ple.com",
        "ada\u{202e}@example.com",
        "\u{feff}ada@example.com",
        "ada@example.com\u{2069}",
        "ada@-example.com",
        "ada@exa_mple.com",
        "ada..king@example.com",
        "ada@127.0.0.1",
        "\"ada\"@example.com",
        "ada,eve@example.com",
    ];
    for email in wrong {
        let refusal = register(&app, email, PASSWORD, None).await.refused(400);
        assert_eq!(refusal, "email: must be an email address that can receive email", "{email:?}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations").await, 0);
    assert!(app.written_mails().is_empty());
    let created = run(&app.settings(), &["account", "create", "--email", "ada@exa_mple.com", "--password-stdin"]).await;
    assert!(created.code == Some(1) && !created.err.contains("made"), "{created:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_an_address_is_the_same_account() {
    let app = spawn().await;
    let spellings =
        ["ada@bu\u{308}cher.example", "ADA@B\u{dc}CHER.example", "ada@xn--bcher-kva.example", " ada@b\u{fc}cher\u{3002}example "];
    let stored = "ada@xn--bcher-kva.example";
    register(&app, spellings[0], PASSWORD, None).await.assert(202);
    let token = app.last_mail_to(stored).await.token();
    app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await.assert(200);
    for spelling in spellings {
        app.anonymous().post("/v1/auth/login", login(spelling, PASSWORD)).await.assert(200);
        register(&app, spelling, "something else that nobody guesses", None).await.assert(202);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE NOT is_decoy").await, 0, "the address has its account");
    let bob = app.sign_up("bob").await;
    bob.create_app("demo").await;
    let path = |email: &str| format!("/v1/apps/demo/collaborators/{}", segment(email));
    assert_eq!(bob.post(&path(spellings[1]), json!({})).await.assert(201)["collaborator"]["email"], stored);
    for spelling in spellings {
        bob.post(&path(spelling), json!({})).await.refused(409);
        bob.patch(&path(spelling), json!({ "permission": "Viewer" })).await.assert(200);
    }
    bob.delete(&path(spellings[3])).await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_previously_stored_address_still_signs_in() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    let bob = app.sign_up("bob").await;
    for before in ["ada@b\u{fc}cher.example", "ada@exa_mple.com", "\"ada\"@example.com", "ze\u{308}@example.com"] {
        app.change("UPDATE accounts SET email = $1 WHERE email NOT LIKE 'bob@%'", &[before]).await;
        app.anonymous().post("/v1/auth/login", login(before, PASSWORD)).await.assert(200);
    }
    let before = "ada@b\u{fc}cher.example";
    app.change("UPDATE accounts SET email = $1 WHERE email NOT LIKE 'bob@%'", &[before]).await;
    app.anonymous().post("/v1/auth/login", login("ada@xn--bcher-kva.example", PASSWORD)).await.assert(200);
    register(&app, before, "something else that nobody guesses", None).await.assert(202);
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations WHERE NOT is_decoy").await, 0);
    bob.create_app("demo").await;
    let path = format!("/v1/apps/demo/collaborators/{}", segment(before));
    bob.post(&path, json!({})).await.assert(201);
    // The qualified name of another user's app, and leaving it by the own address.
    ada.create_app("mine").await;
    assert_eq!(ada.get(&format!("/v1/apps/{}", segment(&format!("{before}:mine")))).await.assert(200)["app"]["name"], "mine");
    ada.delete(&path).await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_from_the_service_host_or_owner_name_is_refused() {
    let app = TestApp::spawn_with(
        Options::default()
            .with("BASE_URL", "http://updates.initech.example")
            .with("LIMIT_REGISTER", "1000/1h")
            .with("LIMIT_POSTS", "1000/1h"),
    )
    .await;
    let refused = async |password: &str| {
        let refusal = register(&app, "grace.hopper1906@navy.example", password, Some("Amazing Grace")).await.refused(400);
        assert!(refusal.starts_with("password: "), "{password}: {refusal}");
        refusal
    };
    for password in [
        "updraft2026updraft",
        "Updraft!Updraft!2026",
        "initech-updates-1906!",
        "!!1906 Hopper Grace 1906!!",
        "amazing-navy-hopper-7",
        "2026-grace-yx-updates",
        "9203847561029384756102",
    ] {
        refused(password).await;
    }
    // zxcvbn alone would accept these.
    let own = "password: must have 8 characters besides your name, your email address, the name of this service, and digits and punctuation at either end";
    for password in ["82 initech 7 hopper 91 qx updates 40", "93847201746 $$ 1938475610928 %% 74"] {
        assert_eq!(refused(password).await, own);
    }
    register(&app, "grace.hopper1906@navy.example", "updraft and some words of my own", Some("Amazing Grace")).await.assert(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_common_password_is_refused_everywhere() {
    let app = spawn().await;
    app.register("ada").await;
    let dashboard = app.log_in("ada").await;
    let text = "password: is on a list of common passwords: use a few unrelated words";
    for common in ["wgh8slumbforasroc2fz", "WGH8SlumbForASroc2FZ", "wapeqburp7chehetrap"] {
        assert_eq!(register(&app, "bob@example.com", common, None).await.refused(400), text);
        let patch = json!({ "password": common, "currentPassword": PASSWORD });
        assert_eq!(dashboard.patch("/v1/account", patch).await.refused(400), text);
        app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
        let token = app.last_mail_to("ada@example.com").await.token();
        let reset = json!({ "token": token, "password": common });
        let refusal = app.anonymous().post("/v1/auth/reset-password", reset).await.refused(400);
        assert_eq!(refusal, text);
    }
    register(&app, "bob@example.com", PASSWORD, None).await.assert(202);
    let token = app.last_mail_to("bob@example.com").await.token();
    let replaced = json!({ "token": token, "password": "wgh8slumbforasroc2fz", "replacePassword": true });
    assert_eq!(app.anonymous().post("/v1/auth/verify-email", replaced).await.refused(400), text);
    assert_eq!(app.number("SELECT COUNT(*) FROM accounts").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_members_are_refused_at_every_depth() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    let (_, staging) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let rows = app.audit_rows().await;
    let once = "the body must be a JSON object that does not repeat a member";
    for (method, path, body) in [
        (Method::POST, "/v1/apps", r#"{"name":"one","name":"two"}"#.to_owned()),
        (Method::POST, "/v1/apps", r#"{"name":"one","more":{"a":1,"a":2}}"#.to_owned()),
        (Method::POST, "/v1/apps", r#"{"name":"one","more":[[{"a":{"b":1,"\u0062":1}}]]}"#.to_owned()),
        (
            Method::POST,
            "/v1/apps/demo/deployments/Staging/promotions",
            r#"{"destination":"Production","packageInfo":{"rollout":1,"rollout":100}}"#.to_owned(),
        ),
        (
            Method::PATCH,
            "/v1/apps/demo/deployments/Staging/release",
            r#"{"packageInfo":{"isDisabled":true,"isDisabled":false}}"#.to_owned(),
        ),
    ] {
        assert_eq!(send(&ada, method, path, &body).await.refused(400), once, "{body}");
    }
    let info = r#"{"appVersion":"1.0.0","rollout":1,"rollout":100}"#;
    let form = Form::new().part("package", Part::bytes(b"other".to_vec()).file_name("b")).part("packageInfo", Part::text(info));
    let upload = ada.request(Method::POST, "/v1/apps/demo/deployments/Staging/releases").multipart(form);
    assert_eq!(ada.send(upload).await.refused(400), "packageInfo: must not repeat a member");
    let report = format!(r#"{{"deployment_key":"{staging}","app_version":"1.0.0","label":"v1","label":"v1"}}"#);
    let refusal = send(&app.anonymous(), Method::POST, "/v1/public/svc/report_status/deploy", &report).await.refused(400);
    assert_eq!(refusal, "body: must not repeat a member");
    assert_eq!(app.audit_rows().await, rows, "nothing was changed");
    // Two different objects may each have it.
    send(&ada, Method::POST, "/v1/apps", r#"{"name":"three","more":[{"a":1},{"a":1}]}"#).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn release_notes_are_stored_as_sent() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let upload = async |info: Value| ada.upload("demo", "Staging", b"script", info).await;
    for range in ["", " ", "\t\n"] {
        assert!(upload(json!({ "appVersion": range })).await.refused(400).starts_with("appVersion: must not be empty"), "{range:?}");
    }
    for notes in ["a\u{0}b", "\u{1b}[2J", "a\u{7f}", "a\u{9b}31m", "a\u{8}"] {
        let refusal = upload(json!({ "appVersion": "1.0.0", "description": notes })).await.refused(400);
        assert_eq!(refusal, "description: must not contain control characters other than tabs and line breaks", "{notes:?}");
    }
    let notes = "cafe\u{301}\r\n\t\u{202e}fixed\u{200b} \u{5e2}";
    let made = upload(json!({ "appVersion": "1.0.0", "description": notes })).await.assert(201);
    assert_eq!(made["package"]["description"], notes);
    let patch = json!({ "packageInfo": { "description": "a\u{1}" } });
    ada.patch("/v1/apps/demo/deployments/Staging/release", patch).await.refused(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_name_cannot_change_the_text_direction_of_a_transfer_mail() {
    let app = spawn().await;
    let ada = app.sign_up("ada").await;
    app.sign_up("bob").await;
    ada.create_app("demo").await;
    // From before such names were refused: it would end the isolation and change the direction of the following text.
    let evil = "demo\u{2069}\u{202e}moc.live";
    app.change("UPDATE apps SET name = $1", &[evil]).await;
    ada.post(&format!("/v1/apps/{}/transfer/bob@example.com", segment(evil)), json!({})).await.assert(201);
    for (to, owner) in [("ada@example.com", ""), ("bob@example.com", "ada@example.com:")] {
        let mail = app.last_mail_to(to).await;
        let isolated = format!("\u{2068}{owner}demo\u{202e}moc.live\u{2069}");
        assert!(mail.text.contains(&format!("- {isolated}\n")), "{}", mail.text);
        assert!(mail.html.contains(&format!("<li><bdi>{isolated}</bdi></li>")), "{}", mail.html);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_to_left_name_is_isolated_on_pages() {
    let app = spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let name = "\u{5de}\u{5e4}\u{5ea}\u{5d7}";
    app.named_key("ada", name).await;
    app.log_in("ada").await.patch("/v1/account", json!({ "name": name })).await.assert(200);
    let keys = reader.open("/dashboard/keys").await.html();
    // In the table and its buttons, and in the line with the signed-in user.
    let (marked, isolated) = (format!("<bdi>{name}</bdi>"), format!("\u{2068}{name}\u{2069}"));
    assert!(keys.contains(&marked) && keys.contains(&isolated), "{keys}");
    assert!(!keys.replace(&marked, "").replace(&isolated, "").contains(name), "{keys}");
    let question = reader.open(&format!("/dashboard/keys/access/{}/delete", segment(name))).await.html();
    assert!(question.contains(&format!("Delete the key \u{2068}{name}\u{2069}?")), "{question}");
}

/// The places of the texts in a body.
fn texts(value: &Value) -> Vec<String> {
    let below = |name: &str, value: &Value| texts(value).into_iter().map(|rest| format!("/{name}{rest}")).collect::<Vec<_>>();
    match value {
        Value::String(_) => vec![String::new()],
        Value::Object(members) => members.iter().flat_map(|(name, value)| below(name, value)).collect(),
        Value::Array(items) => items.iter().enumerate().flat_map(|(place, value)| below(&place.to_string(), value)).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nul_in_any_text_is_refused_and_never_reaches_the_database() {
    // Passkeys need a name and TLS.
    let app = TestApp::spawn_with(Options::default().with("BASE_URL", "https://updraft.example").with("LIMIT_POSTS", "1000/1h")).await;
    app.register("bob").await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({})).await.assert(201);
    ada.post("/v1/access-keys", json!({ "friendlyName": "laptop" })).await.assert(201);
    let new_key = json!({ "name": "ci", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00Z" });
    let created = ada.post("/v1/api-keys", json!({ "name": "build", "scopes": ["read"] })).await.assert(201);
    let api_key = format!("/v1/api-keys/{}", created["id"].as_str().unwrap());
    let (id, token) = ("0189abcd-0000-7000-8000-000000000000", "A".repeat(43));
    let info = json!({ "appVersion": "1.0.0", "description": "text", "packageHash": "0".repeat(64) });
    let staging = "/v1/apps/demo/deployments/Staging";
    let download = json!({ "deployment_key": key, "client_unique_id": "phone", "label": "v1" });
    let mut report = download.clone();
    report["app_version"] = json!("1.0.0");
    report["status"] = json!("DeploymentSucceeded");
    let device =
        json!({ "clientName": "cli", "clientPlatform": "linux", "clientVersion": "1.0.0", "deviceId": "device", "deviceName": "laptop" });
    let mut browser = device.clone();
    let more =
        json!({ "codeChallenge": token, "codeChallengeMethod": "S256", "redirectUri": "http://127.0.0.1:5000/callback", "state": "state" });
    browser.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let exchange = json!({ "code": token, "codeVerifier": token, "deviceCode": token, "grantType": "authorization_code",
        "redirectUri": "http://127.0.0.1:5000/callback" });
    let operations = [
        (Method::POST, "/v1/access-keys", json!({ "friendlyName": "other" })),
        (Method::PATCH, "/v1/access-keys/laptop", json!({ "friendlyName": "desktop" })),
        (Method::PATCH, "/v1/account", json!({ "name": "Ada" })),
        (Method::DELETE, "/v1/account", json!({ "password": "wrong" })),
        (Method::POST, "/v1/api-keys", new_key.clone()),
        (Method::PATCH, &api_key, new_key),
        (Method::POST, "/v1/apps", json!({ "name": "new" })),
        (Method::PATCH, "/v1/apps/demo", json!({ "name": "new" })),
        (Method::POST, "/v1/apps/demo/collaborators/me/accept", json!({ "name": "new" })),
        (Method::PATCH, "/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })),
        (Method::POST, "/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })),
        (Method::POST, "/v1/apps/demo/deployments", json!({ "name": "new", "key": token })),
        (Method::PATCH, staging, json!({ "name": "new" })),
        (Method::POST, &format!("{staging}/promotions"), json!({ "destination": "Production", "label": "v1", "packageInfo": info })),
        (Method::PATCH, &format!("{staging}/release"), json!({ "label": "v1", "packageInfo": info })),
        (Method::POST, &format!("{staging}/rollbacks"), json!({ "targetRelease": "v1" })),
        (Method::POST, "/v1/auth/reauthenticate", json!({ "password": "wrong" })),
        (Method::POST, "/v1/auth/login", json!({ "email": "bob@example.com", "password": "wrong" })),
        (Method::POST, "/v1/auth/register", json!({ "email": "eve@example.com", "password": PASSWORD, "name": "Eve" })),
        (Method::POST, "/v1/auth/resend-verification", json!({ "email": "bob@example.com" })),
        (Method::POST, "/v1/auth/forgot-password", json!({ "email": "bob@example.com" })),
        (Method::POST, "/v1/auth/reset-password", json!({ "token": token, "password": PASSWORD })),
        (Method::POST, "/v1/auth/verify-email", json!({ "token": token, "password": PASSWORD })),
        (Method::POST, "/v1/auth/cli/device", device),
        (Method::POST, "/v1/auth/cli/authorizations", browser),
        (Method::POST, "/v1/auth/cli/token", exchange),
        (Method::POST, "/v1/cli/authorizations/resolve", json!({ "userCode": "BCDF-GHJK" })),
        (Method::POST, "/v1/auth/mfa/totp", json!({ "pendingToken": token, "code": "123456" })),
        (Method::POST, "/v1/auth/mfa/recovery", json!({ "pendingToken": token, "code": "123456" })),
        (Method::POST, "/v1/auth/mfa/options", json!({ "pendingToken": token })),
        (Method::POST, "/v1/auth/mfa/verify", json!({ "pendingToken": token, "response": { "id": "x" } })),
        (Method::POST, "/v1/auth/passkey/verify", json!({ "challengeId": id, "response": { "id": "x" } })),
        (Method::POST, "/v1/mfa/passkeys/register/verify", json!({ "name": "phone", "response": { "id": "x" } })),
        (Method::PATCH, &format!("/v1/mfa/passkeys/{id}"), json!({ "name": "phone" })),
        (Method::POST, "/v1/mfa/totp/confirm", json!({ "code": "123456" })),
        (Method::POST, "/v1/public/svc/report_status/deploy", report),
        (Method::POST, "/v1/public/svc/report_status/download", download),
    ];
    let mut missed = Vec::new();
    for (method, path, sound) in operations {
        // A password may be any text: only its hash is stored.
        for place in texts(&sound).into_iter().filter(|place| place != "/password") {
            for odd in ["\0", "a\0b", "ada\0@example.com"] {
                let mut body = sound.clone();
                *body.pointer_mut(&place).unwrap() = json!(odd);
                let answer = send(&ada, method.clone(), path, &body.to_string()).await;
                if !answer.status.is_client_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
                    missed.push(format!("{method} {path} {place} {odd:?}: {} {}", answer.status, answer.text()));
                }
            }
        }
    }
    assert_eq!(missed, <[String; 0]>::default());
    for member in ["appVersion", "description"] {
        let mut info = json!({ "appVersion": "1.0.0", "description": "text" });
        info[member] = json!("1.0.0\0");
        ada.upload("demo", "Staging", b"two", info).await.refused(400);
    }
    for query in [
        "/v1/apps/demo/audit?cursor=%00",
        "/v1/apps/demo/deployments/Staging/releases?appVersion=%00",
        "/v1/apps/demo/deployments/Staging/releases?cursor=%00",
        "/v1/apps/demo/deployments/Staging/releases?releaseMethod=%00",
        "/v1/apps/demo/deployments/Staging/explain?appVersion=1.0.0%00",
        "/v1/apps/demo/deployments/Staging/metrics/history?from=%00",
        "/v1/apps/demo/collaborators/a%00b@example.com",
    ] {
        let method = if query.contains("collaborators") { Method::DELETE } else { Method::GET };
        let answer = ada.send(ada.request(method, query)).await;
        assert!(answer.status.is_client_error(), "{query}: {} {}", answer.status, answer.text());
    }
    // All of these are still there, under their names.
    assert_eq!(ada.get("/v1/apps/demo").await.assert(200)["app"]["deployments"], json!(["Production", "Staging"]));
}
