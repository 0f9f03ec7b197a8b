//! CLIs are approved and denied by forms alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::people::PASSWORD;
use tests::reader::{Form, Page, unescape};
use tests::{Answer, Client, Options, Reader, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};

const VERIFIER: &str = "a-verifier-of-the-test-that-is-long-enough-for-rfc-7636";
const REDIRECT: &str = "http://127.0.0.1:49152/callback";

/// A request through a browser on the same device, with these members.
async fn by_browser(cli: &Client, more: &Value) -> Value {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let mut body = json!({ "codeChallenge": challenge, "codeChallengeMethod": "S256", "redirectUri": REDIRECT, "state": "a & b" });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    cli.post("/v1/auth/cli/authorizations", body).await.assert(201)
}

/// A request with a code to copy.
async fn by_device(cli: &Client, more: &Value) -> Value {
    cli.post("/v1/auth/cli/device", more.clone()).await.assert(201)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap()
}

/// The path of a request's page.
fn page_of(request: &Value) -> String {
    format!("/dashboard/cli/authorize/{}", text(request, "authorizationId"))
}

/// The form with this decision.
#[track_caller]
fn form(page: &Page, decision: &str) -> Form {
    let found = page.forms().into_iter().find(|form| form.fields.get("decision").is_some_and(|found| found == decision));
    assert!(found.is_some(), "no form to {decision} in\n{}", page.html());
    found.unwrap()
}

#[track_caller]
fn has_no_form(page: &Page, decision: &str) {
    assert!(page.forms().iter().all(|form| form.fields.get("decision").is_none_or(|found| found != decision)), "{}", page.html());
}

/// The page of a request, opened with its code.
async fn activated(reader: &mut Reader, request: &Value) -> Page {
    reader.fill("/dashboard/activate", &[("userCode", text(request, "userCode"))]).await.has_status(200)
}

async fn decide(reader: &mut Reader, page: &str, decision: &str) -> Page {
    let opened = reader.open(page).await.has_status(200);
    reader.send(&form(&opened, decision)).await
}

/// The link back to the CLI, with its parameters.
fn redirect_link(page: &Page) -> (String, Vec<(String, String)>) {
    let html = page.html();
    let (_, rest) = html.split_once("id=\"terminal\" href=\"").unwrap();
    let link = unescape(rest.split('"').next().unwrap());
    let (address, query) = link.split_once('?').unwrap();
    (address.to_owned(), form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}

async fn exchange_code(cli: &Client, code: &str) -> Answer {
    let grant = json!({ "grantType": "authorization_code", "code": code, "codeVerifier": VERIFIER, "redirectUri": REDIRECT });
    cli.post("/v1/auth/cli/token", grant).await
}

async fn poll(cli: &Client, request: &Value) -> Answer {
    cli.post("/v1/auth/cli/token", json!({ "grantType": "device_code", "deviceCode": request["deviceCode"] })).await
}

async fn ada() -> (TestApp, Reader) {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_CLI_STARTS", "1000/10m")).await;
    app.register("ada").await;
    let reader = app.signed_in_reader("ada").await;
    (app, reader)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_with_a_browser_is_approved_and_gets_its_answer_by_a_link() {
    let (app, mut reader) = ada().await;
    let said = json!({ "deviceName": "Ada's laptop", "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64" });
    let request = by_browser(&app.anonymous(), &said).await;
    assert_eq!(text(&request, "authorizeUrl"), format!("{}{}", app.base, page_of(&request)));
    let page = reader.open(text(&request, "authorizeUrl").strip_prefix(&app.base).unwrap()).await.has_status(200);
    for shown in [
        "Ada's laptop",
        "updraft 1.2.3",
        "linux x64",
        "127.0.0.1",
        "same network as this browser",
        "ada@example.com",
        REDIRECT,
        "it expires in 90 days.",
    ] {
        assert!(unescape(&page.html()).contains(shown), "{shown} in\n{}", page.html());
    }
    // Opening the page decides nothing.
    reader.open(&page_of(&request)).await;
    let page = reader.send(&form(&page, "approve")).await.has_status(200).shows("CLI authorized").shows("/assets/terminal-");
    let (address, parameters) = redirect_link(&page);
    assert_eq!((address.as_str(), parameters[0].0.as_str()), (REDIRECT, "code"));
    assert_eq!(parameters[1..], [("state".to_owned(), "a & b".to_owned())]);
    let code = &parameters[0].1;
    for asked in &reader.asked {
        assert!(!asked.contains(code.as_str()), "{asked}");
    }
    // The page has the code only once.
    let again = reader.open(&page_of(&request)).await.has_status(200).shows("CLI authorized");
    assert!(!again.html().contains(code.as_str()) && again.forms().len() == 1, "{}", again.html());
    let given = exchange_code(&app.anonymous(), code).await.assert(200);
    assert_eq!(given["account"]["email"], "ada@example.com");
    app.anonymous().with_token(Some(text(&given, "accessKey").to_owned())).get("/v1/authenticated").await.assert(200);
    reader.open(&page_of(&request)).await.shows("CLI signed in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_with_a_browser_is_told_that_it_was_denied() {
    let (app, mut reader) = ada().await;
    let request = by_browser(&app.anonymous(), &json!({})).await;
    let page = decide(&mut reader, &page_of(&request), "deny").await.has_status(200).shows("Request denied");
    let (address, parameters) = redirect_link(&page);
    let expected = [("error".to_owned(), "access_denied".to_owned()), ("state".to_owned(), "a & b".to_owned())];
    assert_eq!((address.as_str(), parameters.as_slice()), (REDIRECT, expected.as_slice()));
    reader.open(&page_of(&request)).await.has_status(200).shows("Request denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copied_code_opens_the_request_and_decides_nothing() {
    let (app, mut reader) = ada().await;
    let request = by_device(&app.anonymous(), &json!({ "deviceName": "build server" })).await;
    let complete = text(&request, "verificationUriComplete").strip_prefix(&app.base).unwrap();
    let page = reader.open(complete).await.is_at("/dashboard/activate").has_status(200);
    // Nothing of the request is shown before the button is pressed.
    assert!(!page.html().contains("build server") && page.html().contains("Continue only if your terminal shows the same code"));
    assert_eq!(page.form().fields["userCode"], text(&request, "userCode"));
    let page = reader.send(&page.form()).await.has_status(200).shows("build server").shows("If someone sent you a link or a code");
    assert_eq!(poll(&app.anonymous(), &request).await.refused(400), "authorization_pending");
    reader.send(&form(&page, "approve")).await.is_at(&page_of(&request)).has_status(200).shows("Return to your terminal");
    app.clock.advance(5_000);
    poll(&app.anonymous(), &request).await.assert(200);

    // Typed by hand, and denied.
    let request = by_device(&app.anonymous(), &json!({})).await;
    let page = reader
        .open(text(&request, "verificationUri").strip_prefix(&app.base).unwrap())
        .await
        .shows("Enter the code that your terminal shows");
    let typed = text(&request, "userCode").to_lowercase().replace('-', " ");
    let page = reader.send(&page.form().with(&[("userCode", &typed)])).await.has_status(200);
    reader.send(&form(&page, "deny")).await.is_at(&page_of(&request)).shows("Request denied");
    assert_eq!(poll(&app.anonymous(), &request).await.refused(400), "access_denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_is_shown_at_its_field_and_too_many_are_rate_limited() {
    let (_app, mut reader) = ada().await;
    reader
        .fill("/dashboard/activate", &[("userCode", "no")])
        .await
        .has_status(400)
        .shows("Code must be the eight letters that the CLI shows, such as BCDF-GHJK");
    // Eight letters, even those that no code has.
    let page = reader.fill("/dashboard/activate", &[("userCode", "aaaa-bbbb")]).await.has_status(400);
    page.shows("No CLI is waiting for this code").shows("value=\"aaaa-bbbb\"");
    for _ in 0..10 {
        let page = reader.fill("/dashboard/activate", &[("userCode", "BCDF-GHJK")]).await.has_status(400);
        page.shows("No CLI is waiting for this code").shows("value=\"BCDF-GHJK\"");
    }
    let page = reader.fill("/dashboard/activate", &[("userCode", "BCDF-GHJK")]).await.has_status(429).shows("Try again in");
    assert!(!page.answer.header("retry-after").is_empty());
    // An invalid code is not filled in.
    let page = reader.open("/dashboard/activate?user_code=%3Cscript%3E").await.shows("Enter the code that your terminal shows");
    assert_eq!(page.form().fields["userCode"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_out_user_signs_in_first_and_returns() {
    let (app, _) = ada().await;
    let device = by_device(&app.anonymous(), &json!({ "deviceName": "build server" })).await;
    let complete = text(&device, "verificationUriComplete").strip_prefix(&app.base).unwrap().to_owned();
    let browser = by_browser(&app.anonymous(), &json!({})).await;
    for path in [complete, page_of(&browser), "/dashboard/cli/key?hostname=old%20laptop".to_owned()] {
        let mut reader = app.reader();
        let page = reader.open(&path).await.is_at("/dashboard/sign-in");
        assert!(!page.html().contains("build server"));
        let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await.has_status(200);
        assert_eq!(page.path, path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decided_expired_and_unknown_requests_have_pages_that_say_so() {
    let (app, mut reader) = ada().await;
    app.register("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    for path in ["0189abcd-0000-7000-8000-000000000000", "x", "%00"] {
        let path = format!("/dashboard/cli/authorize/{path}");
        reader.open(&path).await.has_status(404).shows("Request not found");
    }
    // Decided by another account: the same page as for an unknown request.
    let request = by_device(&app.anonymous(), &json!({ "deviceName": "build server" })).await;
    let page = activated(&mut reader, &request).await;
    decide(&mut bob, &page_of(&request), "deny").await.shows("Request denied");
    let late = reader.send(&form(&page, "approve")).await.has_status(404).shows("Request not found");
    assert!(!late.html().contains("build server"));
    // Already decided, by the same account.
    let request = by_device(&app.anonymous(), &json!({})).await;
    let page = activated(&mut reader, &request).await;
    decide(&mut reader, &page_of(&request), "deny").await;
    reader.send(&form(&page, "approve")).await.is_at(&page_of(&request)).shows("Request denied");
    // Expired.
    let request = by_browser(&app.anonymous(), &json!({})).await;
    let page = reader.open(&page_of(&request)).await;
    app.clock.advance(10 * 60_000);
    reader.send(&form(&page, "approve")).await.is_at(&page_of(&request)).has_status(200).shows("Request expired");
    // Neither decision.
    let request = by_browser(&app.anonymous(), &json!({})).await;
    let page = reader.open(&page_of(&request)).await;
    reader.send(&form(&page, "approve").with(&[("decision", "perhaps")])).await.has_status(400);
    reader.open(&page_of(&request)).await.shows("Authorize Updraft CLI?");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_cancels_pending_requests() {
    let (app, mut reader) = ada().await;
    let request = by_device(&app.anonymous(), &json!({})).await;
    let session = reader.cookies["updraft"].clone();
    let ada = app.anonymous().with_token(Some(session));
    let new = "another long passphrase nobody knows";
    ada.patch("/v1/account", json!({ "password": new, "currentPassword": PASSWORD })).await.assert(200);
    reader.open(&page_of(&request)).await.has_status(200).shows("Request canceled");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_second_factor_an_old_sign_in_must_be_renewed_to_approve() {
    let (app, _) = ada().await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    let mut reader = app.reader();
    let page = reader.sign_in("ada@example.com", PASSWORD).await;
    reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at("/dashboard");
    app.clock.advance(15 * 60_000 - 1);
    let request = by_browser(&app.anonymous(), &json!({})).await;
    let page = reader.open(&page_of(&request)).await.has_status(200);
    app.clock.advance(2);
    // The form was open before the sign-in became too old.
    let page = reader.send(&form(&page, "approve")).await.is_at(&page_of(&request)).shows("Sign in again to authorize the CLI");
    has_no_form(&page, "approve");
    let (_, rest) = page.html().split_once("href=\"/dashboard/sign-in?again").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let again = format!("/dashboard/sign-in?again{}", unescape(rest.split('"').next().unwrap()));
    let page = reader.open(&again).await.is_at("/dashboard/sign-in").shows("Sign in again");
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    let page = reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at(&page_of(&request));
    reader.send(&form(&page, "approve")).await.has_status(200).shows("CLI authorized");
    // An old session can still deny.
    app.clock.advance(16 * 60_000);
    let request = by_device(&app.anonymous(), &json!({})).await;
    decide(&mut reader, &page_of(&request), "deny").await.shows("Request denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_past_its_mfa_deadline_is_asked_to_set_up_a_second_factor() {
    let options = Options::default().with("LIMIT_SESSION", "90d").with("LIMIT_SESSION_IDLE", "90d");
    let app = TestApp::spawn_with(options).await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    app.miss_mfa_deadline("ada").await;
    let request = by_device(&app.anonymous(), &json!({})).await;
    let page = activated(&mut reader, &request).await.shows("Set up two-factor authentication");
    has_no_form(&page, "approve");
    let mut forged = form(&page, "deny");
    forged.fields.insert("decision".to_owned(), "approve".to_owned());
    reader.send(&forged).await.is_at(&page_of(&request)).shows("Authorize Updraft CLI?");
    // With the code, it redirects to the page that takes the code.
    forged.fields.insert("userCode".to_owned(), text(&request, "userCode").to_owned());
    let page = reader.send(&forged).await.is_at("/dashboard/activate").has_status(200);
    assert_eq!(page.form().fields["userCode"], text(&request, "userCode"));
    assert_eq!(poll(&app.anonymous(), &request).await.refused(400), "authorization_pending");
    let page = reader.open("/dashboard/cli/key?hostname=laptop").await.shows("Set up two-factor authentication");
    assert_eq!(page.forms().len(), 1, "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_tells_whether_the_request_comes_from_the_browsers_network() {
    let (app, mut reader) = ada().await;
    let cases = [
        ("198.51.100.7", "198.51.100.7", true),
        ("198.51.100.7", "198.51.100.8", false),
        ("2001:db8:1:2::7", "2001:db8:1:2:ffff::1", true),
        ("2001:db8:1:2::7", "2001:db8:1:3::7", false),
        ("::ffff:198.51.100.7", "198.51.100.7", true),
    ]
    .map(|(cli, browser, is_here)| (cli, browser, Some(is_here)));
    // A device may have an address of each kind.
    let unknown = [("198.51.100.7", "2001:db8:1:2::7", None), ("2001:db8:1:2::7", "198.51.100.7", None)];
    for (cli, browser, is_here) in cases.into_iter().chain(unknown) {
        let request = by_device(&app.anonymous().from(cli), &json!({})).await;
        reader.client = reader.client.from(browser);
        let html = reader.open(&page_of(&request)).await.shows(cli.trim_start_matches("::ffff:")).html();
        // The same network is no reason for trust: it may be a proxy's.
        let said = (
            html.contains("<span class=\"soft\">same network as this browser<"),
            html.contains("<span class=\"tag warn\">different network<"),
        );
        assert_eq!(said, (is_here == Some(true), is_here == Some(false)), "{cli} {browser}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_may_be_a_proxys_is_not_compared() {
    let options = Options::default().with("BASE_URL", "https://updraft.example").with("LIMIT_CLI_STARTS", "1000/10m");
    let app = TestApp::spawn_among_strangers(options).await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    for (address, is_known) in [
        ("127.0.0.1", false),
        ("10.1.2.3", false),
        ("192.168.0.1", false),
        ("169.254.0.1", false),
        ("::1", false),
        ("fd00::1", false),
        ("fe80::1", false),
        ("198.51.100.7", true),
        ("2001:db8::1", true),
    ] {
        let request = by_device(&app.anonymous().from(address), &json!({})).await;
        reader.client = reader.client.from(address);
        let html = reader.open(&page_of(&request)).await.shows("IP address").html();
        assert_eq!(html.contains("same network as this browser"), is_known, "{address}: {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_a_code_is_approved_only_with_its_code() {
    let (app, mut reader) = ada().await;
    let request = by_device(&app.anonymous(), &json!({ "deviceName": "build server" })).await;
    // A visitor who followed a link to the page has compared no code.
    let page = reader.open(&page_of(&request)).await.has_status(200).shows("build server").shows("enter the code that your terminal shows");
    has_no_form(&page, "approve");
    assert!(page.html().contains("href=\"/dashboard/activate\"") && !page.html().contains(text(&request, "userCode")), "{}", page.html());
    let mut forged = form(&page, "deny");
    forged.fields.insert("decision".to_owned(), "approve".to_owned());
    // No code, an empty one, an invalid one, an unknown one, another request's.
    let other = by_device(&app.anonymous(), &json!({})).await;
    for wrong in [None, Some(""), Some("x"), Some("BCDF-GHJK"), Some(text(&other, "userCode"))] {
        if let Some(wrong) = wrong {
            forged.fields.insert("userCode".to_owned(), wrong.to_owned());
        }
        let page = reader.send(&forged).await.is_at(&page_of(&request)).has_status(200).shows("Authorize Updraft CLI?");
        has_no_form(&page, "approve");
    }
    for request in [&request, &other] {
        assert_eq!(poll(&app.anonymous(), request).await.refused(400), "authorization_pending");
    }
    // The code leads to a form that has it, not to a URL, and that approves.
    let page = activated(&mut reader, &request).await.is_at("/dashboard/activate").shows("build server").shows("/assets/decide-");
    assert!(page.html().contains("<button type=\"submit\" data-considered>Approve</button>"), "{}", page.html());
    let approve = form(&page, "approve");
    assert_eq!((approve.action.as_str(), approve.fields["userCode"].as_str()), (page_of(&request).as_str(), text(&request, "userCode")));
    reader.send(&approve).await.is_at(&page_of(&request)).has_status(200).shows("Return to your terminal");
    app.clock.advance(5_000);
    poll(&app.anonymous(), &request).await.assert(200);
    // Wrong codes here count like typed ones.
    forged.action = page_of(&other);
    forged.fields.insert("userCode".to_owned(), "BCDF-GHJK".to_owned());
    for _ in 0..9 {
        reader.send(&forged).await.is_at(&page_of(&other));
    }
    forged.fields.insert("userCode".to_owned(), text(&other, "userCode").to_owned());
    reader.send(&forged).await.has_status(429).shows("Try again in");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_signing_in_again_the_code_leads_back_to_the_request() {
    let (app, mut reader) = ada().await;
    let mut holder = app.holder("ada").await;
    holder.enrol_totp().await.assert(200);
    app.clock.advance(16 * 60_000);
    let request = by_device(&app.anonymous(), &json!({ "deviceName": "build server" })).await;
    let page = activated(&mut reader, &request).await.shows("Sign in again to authorize the CLI");
    has_no_form(&page, "approve");
    let html = page.html();
    let (_, rest) = html.split_once("href=\"/dashboard/sign-in?again").unwrap();
    let again = format!("/dashboard/sign-in?again{}", unescape(rest.split('"').next().unwrap()));
    let page = reader.open(&again).await.is_at("/dashboard/sign-in");
    let page = reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    let page = reader.send(&page.form().with(&[("code", &holder.code())])).await.is_at("/dashboard/activate");
    assert_eq!(page.form().fields["userCode"], text(&request, "userCode"));
    let page = reader.send(&page.form()).await.shows("build server");
    reader.send(&form(&page, "approve")).await.is_at(&page_of(&request)).shows("Return to your terminal");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_only_valid_hostnames() {
    let (_app, mut reader) = ada().await;
    let long = "x".repeat(64);
    for name in ["old-laptop", "Build_Server 2", "ci-17.example.com", &long] {
        let query: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let page = reader.open(&format!("/dashboard/cli/key?hostname={query}")).await.shows(&format!("<bdi>{name}</bdi>"));
        assert_eq!(page.form().fields["friendlyName"], name);
    }
    let too_long = "x".repeat(65);
    for text in ["you (call +1 555 0100)", "a/b", "a:b", "a\u{202e}b", "a\nb", "Ä", &too_long] {
        let query: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let page = reader.open(&format!("/dashboard/cli/key?hostname={query}")).await.shows("A CLI asks for an access key");
        let mut form = page.form();
        assert_eq!((form.fields["friendlyName"].as_str(), form.fields["hostname"].as_str()), ("", ""), "{text}");
        form.fields.insert("hostname".to_owned(), text.to_owned());
        reader.send(&form).await.has_status(400).shows("A CLI asks for an access key");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_says_something_twice_is_refused() {
    let (_app, mut reader) = ada().await;
    for path in
        ["cli/key?hostname=a&hostname=b", "activate?user_code=BCDF-GHJK&user_code=", "sign-in?again&next=%2Fdashboard&next=%2Fdashboard"]
    {
        reader.open(&format!("/dashboard/{path}")).await.has_status(400);
    }
    reader.open("/auth/login?hostname=a&hostname=b").await.has_status(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cli_says_about_itself_is_escaped() {
    let (app, mut reader) = ada().await;
    for attempt in ATTEMPTS {
        let said = json!({ "deviceName": attempt, "clientName": attempt, "clientVersion": attempt, "clientPlatform": attempt });
        let request = by_browser(&app.anonymous(), &said).await;
        let page = reader.open(&page_of(&request)).await.has_status(200);
        stays_text(&page.html(), attempt);
        assert_eq!(unescape(&page.html()).matches(attempt).count(), 4, "{}", page.html());
        let query: String = form_urlencoded::byte_serialize(attempt.as_bytes()).collect();
        let page = reader.open(&format!("/dashboard/cli/key?hostname={query}")).await.has_status(200);
        assert!(!unescape(&page.html()).contains(attempt), "{}", page.html());
        let made = reader.send(&page.form().with(&[("friendlyName", attempt)])).await.has_status(200);
        stays_text(&made.html(), attempt);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_key_for_older_clis_is_created_by_the_button_and_shown_once() {
    let (app, mut reader) = ada().await;
    let keys = async || {
        let body = app.log_in("ada").await.get("/v1/access-keys").await.assert(200);
        let keys = body["accessKeys"].as_array().unwrap().clone();
        let names = keys.iter().filter(|key| key["isSession"] == false).map(|key| text(key, "friendlyName").to_owned());
        names.collect::<Vec<_>>()
    };
    let page = reader.open("/dashboard/cli/key?hostname=old-laptop").await.has_status(200).shows("old-laptop").shows("60 days");
    assert_eq!(keys().await, Vec::<String>::new(), "opening the page creates nothing");
    let made = reader.send(&page.form()).await.has_status(200).shows("Your access key");
    let html = made.html();
    let (_, rest) = html.split_once("id=\"raw-key\">").unwrap();
    let key = rest.split('<').next().unwrap().to_owned();
    assert!(key.starts_with("svc_ak_"), "{key}");
    // The command works as shown: a CLI appends its paths to the address.
    let (_, command) = html.split_once("id=\"command\">code-push login ").unwrap();
    let (server, rest) = command.split_once(" --accessKey ").unwrap();
    assert!(rest.starts_with(&format!("{key}<")), "{html}");
    let login = Client::new(server, Some(key.clone()));
    assert_eq!(login.get("/authenticated").await.assert(200), json!({ "authenticated": true }));
    assert!(reader.asked.iter().all(|asked| !asked.contains(&key)));
    assert_eq!(keys().await, ["old-laptop"]);
    // The name is taken now. The page offers another one, and refuses it when it is typed anyway.
    let page = reader.open("/dashboard/cli/key?hostname=old-laptop").await;
    assert_eq!(page.form().fields["friendlyName"], "old-laptop 2");
    let taken = reader.send(&page.form().with(&[("friendlyName", "old-laptop")])).await.has_status(409);
    let taken = taken.shows("An access key named old-laptop already exists.").shows("<bdi>old-laptop</bdi>");
    reader.send(&taken.form().with(&[("friendlyName", "")])).await.has_status(400).shows("Key name must be 1 to 255 characters");
    reader.open("/dashboard/cli/key").await.has_status(200).shows("A CLI asks for an access key");
    let answer = reader.ask(Method::POST, "/dashboard/cli/key?hostname=x", &[("sec-fetch-site", "same-origin")], None).await;
    answer.assert_status(403);
    assert_eq!(keys().await, ["old-laptop"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_addresses_that_older_clis_open_lead_to_the_key() {
    let (app, mut reader) = ada().await;
    let key = format!("{}/dashboard/cli/key?hostname=", app.base);
    let anonymous = app.anonymous();
    for name in ["login", "register", "link"] {
        for path in [format!("/auth/{name}"), format!("/v1/auth/{name}")] {
            for (query, hostname) in [("", ""), ("?hostname=old-laptop", "old-laptop"), ("?x=1&hostname=Ada%20s%20laptop", "Ada+s+laptop")]
            {
                let answer = anonymous.get(&format!("{path}{query}")).await;
                answer.assert_status(303);
                assert_eq!(answer.header("location"), format!("{key}{hostname}"), "{path}{query}");
            }
            // Neither header injection nor another redirect.
            let answer = anonymous.get(&format!("{path}?hostname=%0d%0aset-cookie:x&next=https://elsewhere.example")).await;
            assert_eq!(answer.header("location"), key, "{path}");
        }
    }
    reader.open("/auth/login?hostname=old-laptop").await.shows("<bdi>old-laptop</bdi>");
}
