//! Headers and markup of every page.

use reqwest::Method;
use serde_json::json;
use shared::limit::{Limiter, Rate};
use tests::people::PASSWORD;
use tests::turnstile::Turnstile;
use tests::{Answer, Options, Reader, TestApp};

use crate::dashboard::{Audience, PAGES, address};

/// The content security policy as a list.
fn policy(answer: &Answer) -> Vec<String> {
    answer.header("content-security-policy").split("; ").map(str::to_owned).collect()
}

#[track_caller]
fn is_guarded(app: &TestApp, answer: &Answer) {
    let asked = &answer.asked;
    let expected = [
        "default-src 'none'".to_owned(),
        format!("script-src {}/assets/", app.state().settings.dashboard_url),
        "style-src 'self'".to_owned(),
        "img-src 'self'".to_owned(),
        "font-src 'self'".to_owned(),
        "connect-src 'self'".to_owned(),
        "frame-src 'none'".to_owned(),
        "form-action 'self'".to_owned(),
        "base-uri 'none'".to_owned(),
        "frame-ancestors 'none'".to_owned(),
        "report-uri /dashboard/csp-report".to_owned(),
    ];
    assert_eq!(policy(answer), expected, "{asked}");
    assert_eq!(answer.header("referrer-policy"), "same-origin", "{asked}");
    assert_eq!(answer.header("cache-control"), "no-store", "{asked}");
    assert_eq!(answer.header("x-frame-options"), "DENY", "{asked}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{asked}");
    assert!(!answer.header("x-request-id").is_empty(), "{asked}");
}

/// The page has nothing that the policy forbids, one heading, and sound markup for assistive technology.
#[track_caller]
pub(crate) fn is_sound(answer: &Answer) {
    let (asked, html) = (&answer.asked, answer.text());
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{asked}");
    for inline in ["<script>", "<style", " style=", " onclick=", " onload=", " onsubmit=", "javascript:", "/assets/none", "http-equiv"] {
        assert!(!html.contains(inline), "{asked}: {inline} in\n{html}");
    }
    for (part, count) in [("<h1>", 1), ("<main ", 1), ("<title>", 1), ("<html lang=\"en\">", 1), ("class=\"skip\"", 1)] {
        assert_eq!(html.matches(part).count(), count, "{asked}: {part} in\n{html}");
    }
    for id in html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(html.matches(&format!(" id=\"{id}\"")).count(), 1, "{asked}: {id} is not unique");
    }
    for named in html.split("aria-describedby=\"").skip(1).flat_map(|rest| rest.split('"').next().unwrap().split(' ')) {
        assert!(html.contains(&format!(" id=\"{named}\"")), "{asked}: nothing has the id {named}");
    }
    assert!(html.matches(" autofocus").count() <= 1, "{asked}: more than one element has autofocus");
    // The design page shows an example of an error.
    let is_refused = html.contains("class=\"notice bad\" role=\"alert\"") && !asked.contains("/design");
    assert_eq!(html.contains("<title>Error: "), is_refused, "{asked}: the title does not tell whether there is an error in\n{html}");
    let forms = html.matches("method=\"post\"").count();
    assert_eq!(html.matches("name=\"csrf\"").count(), forms, "{asked}: a form without a token");
    assert!(answer.body.len() < 60_000, "{asked}: {} bytes", answer.body.len());
}

async fn look(app: &TestApp, reader: &mut Reader, may_see: impl Fn(Audience) -> bool) {
    for (page, who) in PAGES {
        let path = address(page);
        let answer = reader.ask(Method::GET, &path, &[], None).await;
        is_guarded(app, &answer);
        match who {
            Audience::Sent => answer.assert_status(405),
            who if may_see(*who) => {
                answer.assert_status(200);
            }
            _ => {
                answer.assert_status(303);
                assert!(answer.header("location").starts_with("/dashboard/sign-in"), "{}", answer.header("location"));
                continue;
            }
        }
        is_sound(&answer);
        let head = reader.ask(Method::HEAD, &path, &[], None).await;
        assert_eq!((head.status, head.body.len()), (answer.status, 0), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_security_headers_and_valid_html_for_visitors() {
    let app = TestApp::spawn().await;
    look(&app, &mut app.reader(), |who| who == Audience::All).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_has_security_headers_and_valid_html_for_signed_in_users() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    // The sign-in page redirects.
    reader.open("/dashboard/sign-in").await.is_at("/dashboard").shows("ada@example.com");
    for (page, who) in PAGES.iter().filter(|(page, who)| *page != "/sign-in" && ![Audience::Pending, Audience::Onward].contains(who)) {
        let answer = reader.ask(Method::GET, &address(page), &[], None).await;
        is_guarded(&app, &answer);
        if *who != Audience::Sent && !page.contains('{') {
            answer.assert_status(200);
        }
        is_sound(&answer);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn error_pages_have_security_headers_and_valid_html() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    for (method, path, status, title) in [
        (Method::GET, "/dashboard/nowhere", 404, "Page not found"),
        (Method::GET, "/dashboard/sign-in/nowhere", 404, "Page not found"),
        (Method::GET, "/dashboard/sign-out", 405, "Method not allowed"),
        (Method::POST, "/dashboard/sign-in", 403, "Access denied"),
        (Method::DELETE, "/dashboard/sign-in", 403, "Access denied"),
    ] {
        let answer = reader.ask(method, path, &[], None).await;
        answer.assert_status(status);
        assert!(answer.text().contains(title), "{}", answer.text());
        is_guarded(&app, &answer);
        is_sound(&answer);
    }
    // Outside the pages, the API answers in its own format.
    app.anonymous().get("/dashboards").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_has_a_page_with_the_time_to_wait() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "3/1m")).await;
    app.register("ada").await;
    let mut reader = app.reader();
    reader.sign_in("ada@example.com", PASSWORD).await;
    let page = loop {
        let page = reader.open("/dashboard").await;
        if page.answer.status != 200 {
            break page;
        }
    };
    let page = page.has_status(429).shows("Too many requests").shows("Try again in");
    assert!(page.answer.header("retry-after").parse::<u64>().unwrap() > 0);
    is_guarded(&app, &page.answer);
    is_sound(&page.answer);
    // An error page does not sign the user out.
    app.clock.advance(61_000);
    reader.open("/dashboard").await.has_status(200).shows("Sign out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_failure_has_a_page() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    app.change("ALTER TABLE accounts RENAME TO accounts_away", &[]).await;
    let page = reader.open("/dashboard").await.has_status(500).shows("Something went wrong");
    assert!(!page.html().contains("accounts_away"));
    is_guarded(&app, &page.answer);
    app.change("ALTER TABLE accounts_away RENAME TO accounts", &[]).await;
    reader.open("/dashboard").await.has_status(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_challenges_script_is_allowed_only_on_pages_with_the_challenge() {
    let turnstile = Turnstile::start().await;
    let options = turnstile.options(Options::default()).with("TURNSTILE_SCRIPT", "https://challenge.example/v0/api.js");
    let app = TestApp::spawn_with(options).await;
    let mut reader = app.reader();
    for (page, who) in PAGES.iter().filter(|(_, who)| *who == Audience::All) {
        let answer = reader.ask(Method::GET, &address(page), &[], None).await;
        let (policy, html) = (policy(&answer), answer.text());
        let has_challenge = ["/sign-up", "/forgot-password"].contains(page);
        assert_eq!(policy.contains(&"frame-src https://challenge.example".to_owned()), has_challenge, "{page} {who:?}");
        assert_eq!(policy.iter().any(|rule| rule.starts_with("script-src") && rule.ends_with(" https://challenge.example")), has_challenge);
        assert_eq!(html.contains("src=\"https://challenge.example/v0/api.js\""), has_challenge, "{page}");
        assert_eq!(html.contains("data-sitekey=\"site-key\" data-response-field-name=\"challengeToken\""), has_challenge, "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_challenges_script_runs_for_signed_in_users_only_when_required() {
    let turnstile = Turnstile::start().await;
    let options = turnstile.options(Options::default()).with("TURNSTILE_SCRIPT", "https://challenge.example/v0/api.js");
    let app = TestApp::spawn_with(options).await;
    let ada = json!({ "email": "ada@example.com", "password": PASSWORD, "challengeToken": "good" });
    app.anonymous().post("/v1/auth/register", ada).await.assert(202);
    let token = app.last_mail_to("ada@example.com").await.token();
    app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await.assert(200);
    let mut reader = app.signed_in_reader("ada").await;
    let fields = [("name", "Bob"), ("email", "bob@example.com"), ("password", PASSWORD)];
    for (path, fields) in [("/dashboard/sign-up", &fields[..]), ("/dashboard/forgot-password", &fields[1..2])] {
        let page = reader.open(path).await.has_status(200);
        assert!(!page.html().contains("challenge"), "{path}: {}", page.html());
        assert!(!page.answer.header("content-security-policy").contains("challenge.example"), "{path}");
        let page = reader.send(&page.form().with(fields)).await.has_status(403).shows("Confirm that you are human");
        let page = page.shows("src=\"https://challenge.example/v0/api.js\"").shows("class=\"cf-turnstile\"");
        assert!(page.answer.header("content-security-policy").contains("frame-src https://challenge.example"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_reports_evict_no_callers_rate_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "1/1m")).await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let state = app.state();
    *state.callers.lock().unwrap() = Limiter::default();
    ada.get("/v1/authenticated").await.assert(200);
    ada.get("/v1/authenticated").await.refused(429);
    // Fills the memory to one less than its capacity: of two more, the second evicts the oldest.
    for number in 0..16_382 {
        state.callers.lock().unwrap().acquire(&number.to_string(), Rate { count: 1, window: 60_000 }, app.clock.now().as_millis()).unwrap();
    }
    app.reader().ask(Method::POST, "/dashboard/csp-report", &[], Some("{}".to_owned())).await.assert_status(204);
    ada.get("/v1/authenticated").await.refused(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_report_of_any_content_is_accepted() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    let report = r#"{"csp-report":{"effective-directive":"script-src-elem","blocked-uri":"https://evil.example","document-uri":"x"}}"#;
    for body in [report, "{}", "nonsense", "[1]"] {
        let headers = [("content-type", "application/csp-report"), ("sec-fetch-site", "same-origin")];
        reader.ask(Method::POST, "/dashboard/csp-report", &headers, Some(body.to_owned())).await.assert_status(204);
    }
    let large = "x".repeat(20_000);
    reader.ask(Method::POST, "/dashboard/csp-report", &[], Some(large)).await.refused(413);
    reader.ask(Method::GET, "/dashboard/csp-report", &[], None).await.refused(405);
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_reports_are_rate_limited_by_address() {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_POSTS", "2/10m")).await;
    let mut reader = app.reader();
    reader.client = reader.client.from("198.51.100.7");
    for _ in 0..2 {
        reader.ask(Method::POST, "/dashboard/csp-report", &[], Some("{}".to_owned())).await.assert_status(204);
    }
    let refused = reader.ask(Method::POST, "/dashboard/csp-report", &[], Some("{}".to_owned())).await;
    refused.assert_status(429);
    assert!((1..=600).contains(&refused.header("retry-after").parse::<u64>().unwrap()), "{}", refused.header("retry-after"));
    reader.client = reader.client.from("203.0.113.7");
    reader.ask(Method::POST, "/dashboard/csp-report", &[], Some("{}".to_owned())).await.assert_status(204);
}

/// Pages with a path parameter, for things that exist.
#[tokio::test(flavor = "multi_thread")]
async fn pages_with_a_path_parameter_have_security_headers_and_valid_html() {
    let app = TestApp::spawn_with_passkeys().await;
    let mut ada = app.without_factor("ada").await;
    app.named_key("ada", "laptop").await;
    let made = ada.session.post("/v1/api-keys", json!({ "name": "ci", "scopes": ["read"] })).await.assert(201);
    let mut reader = app.signed_in_reader("ada").await;
    ada.enrol_passkey(Some("phone")).await.assert(200);
    let passkey = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let device = app.anonymous().post("/v1/auth/cli/device", json!({})).await.assert(201);
    let (api_key, request) = (made["id"].as_str().unwrap(), device["authorizationId"].as_str().unwrap());
    for (page, said) in [
        ("/keys/access/laptop".to_owned(), "Edit access key"),
        ("/keys/access/laptop/delete".to_owned(), "Delete the key laptop?"),
        (format!("/keys/api/{api_key}"), "Edit API key"),
        (format!("/keys/api/{api_key}/revoke"), "Revoke the API key ci?"),
        (format!("/security/passkeys/{passkey}"), "phone"),
        (format!("/security/passkeys/{passkey}/remove"), "Remove the passkey phone?"),
        (format!("/cli/authorize/{request}"), "Authorize Updraft CLI?"),
    ] {
        let answer = reader.ask(Method::GET, &format!("/dashboard{page}"), &[], None).await;
        answer.assert_status(200);
        is_guarded(&app, &answer);
        is_sound(&answer);
        assert!(answer.text().contains(said), "{page}: {}", answer.text());
    }
}
