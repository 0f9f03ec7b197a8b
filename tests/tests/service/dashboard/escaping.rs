//! User input is escaped on every page.

use serde_json::json;
use tests::reader::unescape;
use tests::{Reader, TestApp};

/// Input that would run if a page did not escape it.
pub(crate) const ATTEMPTS: [&str; 5] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus=alert(1) x='",
    "</title><svg onload=alert(1)>",
    "{{ 7 * 7 }} {% raw %} & &lt;b&gt;",
];

/// The page shows the text, escaped.
#[track_caller]
pub(crate) fn stays_text(html: &str, text: &str) {
    if text.contains(['<', '"', '\'']) {
        assert!(!html.contains(text), "{text} in\n{html}");
    }
    assert!(unescape(html).contains(text), "{text} is not shown in\n{html}");
}

async fn sent_back(reader: &mut Reader, page: &str, field: &str, text: &str) {
    let opened = reader.open(page).await;
    let answer = reader.send(&opened.form().with(&[(field, text)])).await;
    stays_text(&answer.html(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_input_of_a_refused_form_is_escaped() {
    let app = TestApp::spawn_among_strangers(tests::Options::default()).await;
    for (number, text) in ATTEMPTS.iter().enumerate() {
        let mut reader = app.reader();
        reader.client = reader.client.from(&format!("198.51.100.{number}"));
        for (page, field) in [
            ("/dashboard/sign-up", "name"),
            ("/dashboard/sign-up", "email"),
            ("/dashboard/sign-up/sent", "email"),
            ("/dashboard/sign-in", "email"),
            ("/dashboard/forgot-password", "email"),
            ("/dashboard/verify-email", "token"),
            ("/dashboard/reset-password", "token"),
        ] {
            sent_back(&mut reader, page, field, text).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_input_of_refused_key_forms_is_escaped() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    app.named_key("ada", "laptop").await;
    let made = app.log_in("ada").await.post("/v1/api-keys", json!({ "name": "ci", "scopes": ["read"] })).await.assert(201);
    let api_key = format!("/dashboard/keys/api/{}", made["id"].as_str().unwrap());
    for text in ATTEMPTS {
        for (page, field) in [
            ("/dashboard/keys/new", "ttl"),
            ("/dashboard/keys/access/laptop", "ttl"),
            ("/dashboard/keys/access/laptop", "shownDay"),
            ("/dashboard/keys/api/new", "expires_at"),
            (api_key.as_str(), "expires_at"),
            (api_key.as_str(), "shownDay"),
            (api_key.as_str(), "shownScopes"),
        ] {
            let opened = reader.open(page).await;
            // The other field is refused, so that this one is shown again as it was.
            let name = if page.contains("/access/") || page.ends_with("keys/new") { "friendlyName" } else { "name" };
            let answer = reader.send(&opened.form().with(&[(name, ""), (field, text)])).await.has_status(400);
            stays_text(&answer.html(), text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_never_sent_back() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    for page in ["/dashboard/sign-up", "/dashboard/sign-in", "/dashboard/reset-password"] {
        let opened = reader.open(page).await;
        let mut form = opened.form();
        form.fields.values_mut().for_each(|value| {
            if value.is_empty() {
                "sent-by-the-test".clone_into(value);
            }
        });
        form.fields.insert("password".to_owned(), "hunter2-hunter2".to_owned());
        let answer = reader.send(&form).await;
        assert!(!answer.html().contains("hunter2"), "{}", answer.html());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accounts_name_is_escaped() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    for text in ATTEMPTS {
        ada.patch("/v1/account", json!({ "name": text })).await.assert(200);
        let page = reader.open("/dashboard").await.has_status(200);
        stays_text(&page.html(), text);
        let page = reader.open("/dashboard/nowhere").await.has_status(404);
        stays_text(&page.html(), text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_url_are_escaped() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    for text in ATTEMPTS {
        let query: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for path in [
            format!("/dashboard/sign-in?next={query}"),
            format!("/dashboard/sign-in?next=/dashboard/{query}"),
            format!("/dashboard/{query}"),
        ] {
            let html = reader.open(&path).await.html();
            for part in ["<script>alert", "<img src=x", "onfocus=alert(1) x", "<svg onload"] {
                assert!(!html.contains(part), "{path}: {html}");
            }
        }
    }
}
