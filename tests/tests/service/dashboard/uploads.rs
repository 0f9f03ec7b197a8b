//! Uploading a release by the form of its page, as a browser without JavaScript and as the page's script send it.

use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tests::{Answer, Bundle, Options, Reader, TestApp};

const PAGE: &str = "/dashboard/apps/demo/deployments/Production/upload";
const FROM_PAGE: [(&str, &str); 2] = [("ticket", ""), ("once", "")];

/// The hidden fields of the form that the page shows now.
async fn hidden(reader: &mut Reader) -> Vec<(String, String)> {
    let form = reader.open(PAGE).await.has_status(200).forms().into_iter().find(|form| form.fields.contains_key("ticket")).unwrap();
    FROM_PAGE.iter().map(|(name, _)| ((*name).to_owned(), form.fields[*name].clone())).collect()
}

/// Sends the form without cookies, as to another origin.
async fn send(app: &TestApp, fields: &[(String, String)], bundle: Option<&[u8]>, is_script: bool) -> Answer {
    let mut form = Form::new();
    for (name, value) in fields {
        form = form.text(name.clone(), value.clone());
    }
    if let Some(bundle) = bundle {
        form = form.part("package", Part::bytes(bundle.to_vec()).file_name(if bundle.is_empty() { "" } else { "main.jsbundle" }));
    }
    let client = app.anonymous();
    let accept = if is_script { "application/json" } else { "text/html,application/xhtml+xml" };
    client.send(client.request(Method::POST, "/dashboard/uploads").header("accept", accept).multipart(form)).await
}

fn with(mut fields: Vec<(String, String)>, more: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    fields
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_uploaded_once_however_often_the_form_is_sent() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let fields = hidden(&mut reader).await;
    let fields = with(fields, &[("appVersion", " ^1.0.0 "), ("description", "first"), ("rollout", "25"), ("isMandatory", "on")]);
    for is_script in [false, true] {
        let answer = send(&app, &fields, Some(b"one"), is_script).await;
        let release = "/dashboard/apps/demo/deployments/Production/releases/v1";
        if is_script {
            assert_eq!((answer.status, answer.json()["page"].clone()), (StatusCode::CREATED, json!(release)));
        } else {
            assert_eq!(answer.status, StatusCode::SEE_OTHER);
            assert!(answer.headers["location"].to_str().unwrap().ends_with(release));
        }
        // Only the pages' script may read it.
        let origin = app.state().settings.dashboard_url.trim_end_matches("/dashboard").to_owned();
        assert_eq!(answer.headers["access-control-allow-origin"], origin.as_str());
    }
    let history = ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200)["history"].clone();
    assert_eq!(history.as_array().unwrap().len(), 1);
    let release = &history[0];
    assert_eq!((&release["appVersion"], &release["rollout"], &release["description"]), (&json!("^1.0.0"), &json!(25), &json!("first")));
    assert_eq!((&release["isMandatory"], &release["isDisabled"]), (&json!(true), &json!(false)));
    // The next form knows what is current and suggests its target version.
    let html = reader.open(PAGE).await.shows("v1 is current").html();
    assert!(html.contains("value=\"^1.0.0\""), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_devices_cannot_run_is_released_only_unchecked() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let send = async |fields: Vec<(String, String)>, name: &str, bytes: Vec<u8>| {
        let mut form = Form::new();
        for (name, value) in with(fields, &[("appVersion", "1.0.0")]) {
            form = form.text(name, value);
        }
        let form = form.part("package", Part::bytes(bytes).file_name(name.to_owned()));
        let client = app.anonymous();
        client.send(client.request(Method::POST, "/dashboard/uploads").header("accept", "application/json").multipart(form)).await
    };
    let readme = Bundle::of(&[("build/readme.md", b"read me")]).0;
    for (name, bytes, said) in [
        ("fake.zip", b"no archive".to_vec(), "is not a ZIP archive"),
        ("picture.png", b"PNG".to_vec(), "has no JavaScript bundle"),
        ("build.zip", readme.clone(), "has no JavaScript bundle"),
    ] {
        let refused = send(hidden(&mut reader).await, name, bytes).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name}");
        let text = refused.json()["fields"]["package"].to_string();
        assert!(text.contains(said), "{name}: {text}");
    }
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200)["history"], json!([]));
    let unchecked = with(hidden(&mut reader).await, &[("isUnchecked", "on")]);
    assert_eq!(send(unchecked, "build.zip", readme).await.status, StatusCode::CREATED);
    let bundle = Bundle::of(&[("build/index.android.bundle", b"run")]).0;
    let partial = with(hidden(&mut reader).await, &[("rollout", "20")]);
    assert_eq!(send(partial, "build.zip", bundle).await.status, StatusCode::CREATED);
    // What has to be done first is said before a file is chosen.
    reader.open(PAGE).await.shows("The rollout of v2 is unfinished: it goes to 20% of devices.").shows("/releases/v2/edit");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_target_version_is_suggested_from_what_devices_report() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    for (client, version) in [("a", "2.1.0"), ("b", "2.1.0"), ("c", "1.0.0")] {
        let report = json!({ "deployment_key": key, "app_version": version, "client_unique_id": client });
        app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    }
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(PAGE).await.shows("2.1.0</bdi> (2),").shows("1.0.0</bdi> (1).").html();
    assert!(page.contains("value=\"^2.1.0\" list"), "{page}");
    // Devices report next to what people chose, and do not replace it.
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let page = reader.open(PAGE).await.shows("2.1.0</bdi> (2),").html();
    assert!(page.contains("value=\"1.0.0\" list"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_upload_says_why_and_releases_nothing() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let fields = hidden(&mut reader).await;
    for (more, bundle, status, field) in [
        (vec![], Some(&b"one"[..]), 400, "appVersion"),
        (vec![("appVersion", "one")], Some(b"one"), 400, "appVersion"),
        (vec![("appVersion", "1.0.0"), ("rollout", "0")], Some(b"one"), 400, "rollout"),
        (vec![("appVersion", "1.0.0"), ("rollout", "101")], Some(b"one"), 400, "rollout"),
        (vec![("appVersion", "1.0.0")], Some(b""), 400, "package"),
        (vec![("appVersion", "1.0.0")], None, 400, "package"),
        (vec![("appVersion", "1.0.0")], Some(b"PK\x03\x04 not really"), 400, "package"),
    ] {
        let fields = with(fields.clone(), &more);
        let answer = send(&app, &fields, bundle, true).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.text());
        assert!(answer.json()["fields"][field].is_string(), "{}", answer.text());
        let page = send(&app, &fields, bundle, false).await;
        assert_eq!(page.status.as_u16(), status);
        assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
        assert!(page.headers["content-security-policy"].to_str().unwrap().contains("default-src 'none'"));
    }
    for more in [[("appVersion", "1.0.0"), ("unknown", "x")], [("appVersion", "1.0.0"), ("appVersion", "2.0.0")]] {
        assert_eq!(send(&app, &with(fields.clone(), &more), Some(b"one"), true).await.status, StatusCode::BAD_REQUEST);
    }
    // Without its key, sending it twice would be two releases.
    let no_key = with(fields[..1].to_vec(), &[("appVersion", "1.0.0")]);
    assert_eq!(send(&app, &no_key, Some(b"one"), true).await.status, StatusCode::BAD_REQUEST);
    // The ticket comes first.
    let last = with(fields[1..].to_vec(), &[("appVersion", "1.0.0"), ("ticket", &fields[0].1)]);
    assert_eq!(send(&app, &last, Some(b"one"), true).await.status, StatusCode::UNAUTHORIZED);
    let client = app.anonymous();
    let foreign = client.request(Method::POST, "/dashboard/uploads").header("origin", "https://evil.example");
    let form = Form::new().text("ticket", fields[0].1.clone()).text("once", fields[1].1.clone()).text("appVersion", "1.0.0");
    let form = form.part("package", Part::bytes(b"one".to_vec()).file_name("main.jsbundle"));
    assert_eq!(client.send(foreign.header("accept", "application/json").multipart(form)).await.status, StatusCode::UNAUTHORIZED);
    let long = with(fields.clone(), &[("description", &"x".repeat(100_000))]);
    assert_eq!(send(&app, &long, Some(b"one"), true).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let no_form = app.anonymous().post("/dashboard/uploads", json!({})).await;
    assert_eq!(no_form.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(app.anonymous().get("/dashboard/uploads").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200)["history"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_good_for_its_session_its_app_and_an_hour() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada.create_app("other").await;
    let info = [("appVersion", "1.0.0")];
    let mut reader = app.signed_in_reader("ada").await;
    let fields = hidden(&mut reader).await;
    // Cut, changed, or made up.
    let whole = fields[0].1.clone();
    let mut changed = whole.clone().into_bytes();
    changed[40] = if changed[40] == b'A' { b'B' } else { b'A' };
    for ticket in [String::new(), "x".to_owned(), whole[..whole.len() - 2].to_owned(), String::from_utf8(changed).unwrap()] {
        let fields = vec![("ticket".to_owned(), ticket), ("appVersion".to_owned(), "1.0.0".to_owned())];
        assert_eq!(send(&app, &fields, Some(b"one"), true).await.status, StatusCode::UNAUTHORIZED);
    }
    // It does not hold the session's token for everyone to read.
    assert!(reader.cookies.values().all(|value| !whole.contains(value.as_str())));
    // Too late.
    app.clock.advance(3_600_001);
    assert_eq!(send(&app, &with(fields, &info), Some(b"one"), true).await.status, StatusCode::UNAUTHORIZED);
    // The name came to mean another app.
    let fields = hidden(&mut reader).await;
    ada.patch("/v1/apps/demo", json!({ "name": "gone" })).await.assert(200);
    ada.patch("/v1/apps/other", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(send(&app, &with(fields, &info), Some(b"one"), true).await.status, StatusCode::NOT_FOUND);
    // The name of the deployment came to mean another one.
    let fields = hidden(&mut reader).await;
    ada.patch("/v1/apps/demo/deployments/Production", json!({ "name": "Old" })).await.assert(200);
    ada.patch("/v1/apps/demo/deployments/Staging", json!({ "name": "Production" })).await.assert(200);
    assert_eq!(send(&app, &with(fields, &info), Some(b"one"), true).await.status, StatusCode::NOT_FOUND);
    // The session was ended.
    let fields = hidden(&mut reader).await;
    let out = reader.open("/dashboard").await.form_to("/dashboard/sign-out");
    reader.send(&out).await;
    assert_eq!(send(&app, &with(fields, &info), Some(b"one"), true).await.status, StatusCode::UNAUTHORIZED);
    // The right was taken away.
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Developer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    let page = PAGE.replace("demo", "ada@example.com:demo");
    let form = bob.open(&page).await.forms().into_iter().find(|form| form.fields.contains_key("ticket")).unwrap();
    let fields = vec![("ticket".to_owned(), form.fields["ticket"].clone()), ("once".to_owned(), form.fields["once"].clone())];
    let fields = with(fields, &info);
    ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    assert_eq!(send(&app, &fields, Some(b"one"), true).await.status, StatusCode::FORBIDDEN);
    bob.open(&page).await.has_status(403);
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200)["history"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_listened_to_for_long_without_a_ticket() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_POSTS", "3/10m")).await;
    let long = |bytes: usize| vec![("ticket".to_owned(), "x".repeat(bytes))];
    assert_eq!(send(&app, &long(9_000), Some(b"one"), true).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    for _ in 0..2 {
        assert_eq!(send(&app, &long(100), Some(b"one"), true).await.status, StatusCode::UNAUTHORIZED);
    }
    let refused = send(&app, &long(100), Some(b"one"), true).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.headers.contains_key("retry-after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_upload_address_takes_the_form_and_only_the_pages_may_send_it_there() {
    let app = TestApp::spawn_with(Options::default().with("UPLOAD_URL", "https://upload.example.com")).await;
    app.register("ada").await;
    app.log_in("ada").await.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(PAGE).await;
    assert!(page.html().contains("action=\"https://upload.example.com/dashboard/uploads\""), "{}", page.html());
    let policy = page.answer.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("connect-src 'self' https://upload.example.com;"), "{policy}");
    assert!(policy.contains("form-action 'self' https://upload.example.com;"), "{policy}");
    let others = reader.open("/dashboard").await;
    assert!(!others.answer.headers["content-security-policy"].to_str().unwrap().contains("upload.example.com"));
    let client = app.anonymous();
    let asked = client.send(client.request(Method::OPTIONS, "/dashboard/uploads").header("origin", "https://evil.example")).await;
    assert_eq!(asked.status, StatusCode::NO_CONTENT);
    assert_ne!(asked.headers["access-control-allow-origin"], "https://evil.example");
    assert_eq!(asked.headers["access-control-allow-methods"], "POST");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_links_of_an_error_page_at_another_upload_address_lead_to_the_pages() {
    let elsewhere = TestApp::spawn_with(Options::default().with("UPLOAD_URL", "https://upload.example.com")).await;
    let here = TestApp::spawn().await;
    for (app, is_elsewhere) in [(&elsewhere, true), (&here, false)] {
        app.register("ada").await;
        app.log_in("ada").await.create_app("demo").await;
        let fields = hidden(&mut app.signed_in_reader("ada").await).await;
        let page = send(app, &fields, Some(b"one"), false).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST);
        let page = page.text();
        let origin = app.state().settings.dashboard_url.trim_end_matches("/dashboard").to_owned();
        let links: Vec<&str> =
            page.split("<a ").skip(1).map(|link| link.split("href=\"").nth(1).unwrap().split('"').next().unwrap()).collect();
        assert!(links.iter().any(|link| link.ends_with("/dashboard")), "{page}");
        for link in links.iter().filter(|link| !link.starts_with('#')) {
            let start = if is_elsewhere { format!("{origin}/") } else { "/".to_owned() };
            assert!(link.starts_with(&start), "{link}");
        }
    }
}
