//! CSRF protection: requests that do not come from our own pages change nothing.

use reqwest::Method;
use serde_json::json;
use tests::people::PASSWORD;
use tests::reader::{Form, Page};
use tests::{Answer, Reader, TestApp};

use crate::dashboard::{Audience, PAGES, address};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const OURS: (&str, &str) = ("sec-fetch-site", "same-origin");

fn body(csrf: &str) -> String {
    form_urlencoded::Serializer::new(String::new()).append_pair("csrf", csrf).finish()
}

#[track_caller]
fn refused(answer: &Answer) {
    answer.assert_status(403);
    assert!(answer.text().contains("form did not come from its own page"), "{}", answer.text());
    assert!(answer.text().contains("or your browser blocks cookies for this site"), "{}", answer.text());
}

async fn signs_out(reader: &Reader, headers: &[(&str, &str)], body: Option<String>) -> bool {
    let mut reader = reader.clone();
    let answer = reader.ask(Method::POST, "/dashboard/sign-out", headers, body).await;
    if answer.status == 303 {
        return true;
    }
    refused(&answer);
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_sign_a_user_out() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.register("bob").await;
    let mut ada = app.signed_in_reader("ada").await;
    let mut bob = app.signed_in_reader("bob").await;
    let token = ada.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
    let of_bob = bob.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
    let of_nobody = app.reader().open("/dashboard/sign-in").await.form().fields["csrf"].clone();
    // The sender: `Sec-Fetch-Site`, or `Origin` without it.
    for sender in ["cross-site", "same-site", "none", "", "Same-Origin"] {
        let headers = [FORM, ("sec-fetch-site", sender), ("origin", app.base.as_str())];
        assert!(!signs_out(&ada, &headers, Some(body(&token))).await, "{sender}");
    }
    let of_another_port = format!("{}1", app.base);
    for origin in ["null", "https://evil.example", "", "http://127.0.0.1", &of_another_port] {
        assert!(!signs_out(&ada, &[FORM, ("origin", origin)], Some(body(&token))).await, "{origin}");
    }
    assert!(!signs_out(&ada, &[FORM], Some(body(&token))).await, "neither");
    assert!(!signs_out(&ada, &[FORM, ("referer", &format!("{}/dashboard", app.base))], Some(body(&token))).await);
    // The token must be the session's own.
    for wrong in ["", "x", &of_bob, &of_nobody, &token[1..], &token.to_uppercase(), &ada.cookies["updraft"]] {
        assert!(!signs_out(&ada, &[FORM, OURS], Some(body(wrong))).await, "{wrong}");
    }
    assert!(!signs_out(&ada, &[FORM, OURS], None).await);
    assert!(!signs_out(&ada, &[("content-type", "text/plain"), OURS], Some(body(&token))).await);
    assert!(!signs_out(&ada, &[("content-type", "application/json"), OURS], Some(format!("{{\"csrf\":\"{token}\"}}"))).await);
    assert!(!signs_out(&ada, &[FORM, OURS, ("x-csrf-token", "x")], Some(body(&token))).await, "a field does not replace a valid header");
    // A form cookie next to the session does not help.
    let mut both = ada.clone();
    let mut stranger = app.reader();
    let planted = stranger.open("/dashboard/sign-in").await.form().fields["csrf"].clone();
    both.cookies.extend(stranger.cookies.clone());
    assert!(!signs_out(&both, &[FORM, OURS], Some(body(&planted))).await);
    ada.open("/dashboard").await.has_status(200).shows("Sign out");
    // It works with either header, and from a script.
    let mut by_origin = app.signed_in_reader("ada").await;
    let own = by_origin.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone();
    assert!(signs_out(&by_origin, &[FORM, ("origin", &app.base)], Some(body(&own))).await);
    assert!(signs_out(&ada, &[OURS, ("x-csrf-token", &token)], None).await);
    ada.open("/dashboard").await.is_at("/dashboard/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_site_cannot_sign_a_user_in() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let form = reader.open("/dashboard/sign-in").await.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)]);
    let sent = form_urlencoded::Serializer::new(String::new()).extend_pairs(&form.fields).finish();
    // Another visitor's token, with that visitor's cookie or without.
    let mut victim = app.reader();
    refused(&victim.ask(Method::POST, "/dashboard/sign-in", &[FORM, OURS], Some(sent.clone())).await);
    victim.open("/dashboard/sign-in").await;
    refused(&victim.ask(Method::POST, "/dashboard/sign-in", &[FORM, OURS], Some(sent.clone())).await);
    let mut own = reader.clone();
    refused(&own.ask(Method::POST, "/dashboard/sign-in", &[FORM, ("sec-fetch-site", "cross-site")], Some(sent.clone())).await);
    assert!(own.cookies.keys().all(|name| name != "updraft"));
    own.ask(Method::POST, "/dashboard/sign-in", &[FORM, OURS], Some(sent)).await.assert_status(303);
    assert!(own.cookies.contains_key("updraft"));
}

/// Whether a page is for signed-in visitors only.
fn needs_session(page: &str) -> bool {
    !["/design", "/sign-in", "/sign-up", "/verify-email", "/forgot-password", "/reset-password"].iter().any(|open| page.starts_with(open))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_and_every_unsafe_method_needs_a_token() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    for (mut reader, is_signed_in) in [(app.reader(), false), (app.signed_in_reader("ada").await, true)] {
        for (page, _) in PAGES {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS, Method::from_bytes(b"BREW").unwrap()]
            {
                let answer = reader.ask(method.clone(), &address(page), &[FORM, OURS], Some(body("wrong"))).await;
                if is_signed_in || !needs_session(page) {
                    refused(&answer);
                } else {
                    answer.assert_status(303);
                    assert!(answer.header("location").starts_with("/dashboard/sign-in"), "{page}");
                }
                refused(&reader.ask(method, &address(page), &[FORM], None).await);
            }
        }
        assert!(reader.open("/dashboard/design").await.answer.status == 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_out_of_date_is_opened_again_by_a_link() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    for (page, who) in PAGES {
        // One that says so is led to the sign-in page.
        let sender = if needs_session(page) { vec![FORM] } else { vec![FORM, OURS] };
        let answer = reader.ask(Method::POST, &address(page), &sender, Some(body("wrong"))).await;
        let link = format!("<a class=\"button\" href=\"{}\">Open the page again</a>", address(page));
        assert_eq!(answer.text().contains(&link), *who != Audience::Sent, "{page}: {}", answer.text());
        assert_eq!(answer.text().contains("Open the page again"), *who != Audience::Sent, "{page}: {}", answer.text());
    }
    // Nothing of a forged form's query, and no path that is not a page.
    let answer = reader.ask(Method::POST, "/dashboard/activate?user_code=BCDF-GHJK", &[FORM], None).await;
    assert!(answer.text().contains("href=\"/dashboard/activate\">Open the page again"), "{}", answer.text());
    let answer = reader.ask(Method::POST, "/dashboard//evil.example", &[FORM], None).await;
    assert!(!answer.text().contains("evil.example"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_outlived_its_session_leads_to_the_sign_in_page() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let form = reader.open("/dashboard").await.form_to("/dashboard/sign-out");
    app.clock.advance(20 * 86_400_000);
    let page = reader.send(&form).await.is_at("/dashboard/sign-in").shows("You are signed out.");
    assert!(!page.form().fields.contains_key("next"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_whose_session_expired_with_its_cookie_says_so_and_leads_back() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let form = reader.open("/dashboard/keys/new").await.form_to("/dashboard/keys/new").with(&[("friendlyName", "laptop")]);
    let sign_out = reader.open("/dashboard").await.form_to("/dashboard/sign-out");
    // The browser removes the cookie when the session expires.
    app.clock.advance(20 * 86_400_000);
    reader.cookies.remove("updraft");
    let page = reader.send(&form).await.is_at("/dashboard/sign-in").shows("Your session expired, and nothing was changed.");
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    page.is_at("/dashboard/keys/new");
    assert!(!reader.open("/dashboard/keys").await.html().contains("laptop"));
    // The old page's token is not that of the new session.
    reader.send(&form).await.has_status(403).shows("the page is out of date");
    reader.cookies.remove("updraft");
    reader.send(&sign_out).await.is_at("/dashboard/sign-in").shows("You are signed out.");
}

/// Sends a form whose session was revoked, signs in again, and returns the page that follows.
async fn outlived(app: &TestApp, form: &Form) -> Page {
    let mut reader = app.signed_in_reader("ada").await;
    let ended = app.anonymous().with_token(Some(reader.cookies["updraft"].clone()));
    let mut form = form.clone();
    form.fields.insert("csrf".to_owned(), reader.open("/dashboard").await.form_to("/dashboard/sign-out").fields["csrf"].clone());
    ended.delete("/v1/account/sessions/current").await.assert_status(204);
    let page = reader.send(&form).await.is_at("/dashboard/sign-in").shows("You were signed out. Sign in and try again.");
    reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_in_after_that_leads_to_the_forms_page_and_nothing_has_changed() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let form = |action: &str, fields: &[(&str, &str)]| Form {
        action: action.to_owned(),
        fields: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    let new = form("/dashboard/keys/new", &[("friendlyName", "laptop"), ("ttl", "2099-01-01")]);
    outlived(&app, &new).await.is_at("/dashboard/keys/new").has_status(200);
    let page = app.signed_in_reader("ada").await.open("/dashboard/keys").await;
    assert!(!page.html().contains("laptop"), "{}", page.html());
    // The query of the form's address may be forged.
    let page = outlived(&app, &form("/dashboard/keys/new?next=//evil.example#x", &[])).await;
    assert_eq!(page.path, "/dashboard/keys/new");

    let device = app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201);
    let (code, id) = (device["userCode"].as_str().unwrap(), device["authorizationId"].as_str().unwrap());
    let request = format!("/dashboard/cli/authorize/{id}");
    let decision = form(&request, &[("decision", "approve"), ("userCode", code)]);
    for form in [form("/dashboard/activate", &[("userCode", &code.to_lowercase())]), decision] {
        let page = outlived(&app, &form).await.has_status(200);
        assert_eq!(
            (page.path.as_str(), page.form().fields["userCode"].as_str()),
            (format!("/dashboard/activate?user_code={code}").as_str(), code)
        );
    }
    let poll = json!({ "grantType": "device_code", "deviceCode": device["deviceCode"] });
    assert_eq!(app.anonymous().post("/v1/auth/cli/token", poll).await.refused(400), "authorization_pending");
    // Without a code, or with an invalid one.
    outlived(&app, &form(&request, &[("decision", "deny")])).await.is_at(&request).shows("Authorize Updraft CLI?");
    let page = outlived(&app, &form("/dashboard/activate", &[("userCode", "x&next=//evil.example")])).await;
    assert_eq!(page.path, "/dashboard/activate");
    let key = form("/dashboard/cli/key", &[("hostname", "old-laptop"), ("friendlyName", "old-laptop")]);
    let page = outlived(&app, &key).await.shows("<bdi>old-laptop</bdi>");
    assert_eq!(page.path, "/dashboard/cli/key?hostname=old-laptop");
    // A code in another form means nothing.
    outlived(&app, &form("/dashboard/keys/new", &[("userCode", code)])).await.is_at("/dashboard/keys/new");
    // A path that cannot be opened is not returned to.
    outlived(&app, &form("/dashboard/sessions/end-others", &[])).await.is_at("/dashboard").shows("Sign out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_too_large_is_refused() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    let large = format!("email={}", "x".repeat(70_000));
    reader.ask(Method::POST, "/dashboard/sign-in", &[FORM, OURS], Some(large)).await.assert_status(413);
}
