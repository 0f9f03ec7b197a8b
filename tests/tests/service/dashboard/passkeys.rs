//! Passkeys: requests of the pages' scripts and their responses, with a simulated authenticator.

use reqwest::Method;
use serde_json::Value;
use tests::people::PASSWORD;
use tests::reader::{Form, Page};
use tests::second_factors::ORIGIN;
use tests::{Answer, Authenticator, Forgery, Reader, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};
use crate::dashboard::factors::codes;
use crate::dashboard::headers::is_sound;

const SECURITY: &str = "/dashboard/security";
const NEW: &str = "/dashboard/security/passkeys/new";

/// A request of a page's script, with the CSRF token of the form.
async fn ask(reader: &mut Reader, form: &Form, path: &str) -> Answer {
    let csrf = form.fields["csrf"].clone();
    let headers = [("sec-fetch-site", "same-origin"), ("x-csrf-token", csrf.as_str())];
    reader.ask(Method::POST, path, &headers, None).await
}

async fn options(reader: &mut Reader, form: &Form, path: &str) -> Value {
    ask(reader, form, path).await.assert(200)["options"].clone()
}

/// A passkey proof, as the script puts it into the form.
async fn prove(reader: &mut Reader, form: &Form, authenticator: &mut Authenticator) -> String {
    let options = options(reader, form, "/dashboard/security/step-up/options").await;
    authenticator.assert(&options).to_string()
}

/// Adds a passkey to an account without second factors.
async fn add(reader: &mut Reader, authenticator: &mut Authenticator, name: &str) -> Page {
    let page = reader.open(NEW).await.has_status(200);
    is_sound(&page.answer);
    let form = page.form_to(NEW);
    let options = options(reader, &form, "/dashboard/security/passkeys/options").await;
    let response = authenticator.register(&options).to_string();
    reader.send(&form.with(&[("name", name), ("response", &response)])).await
}

/// `ada@example.com` in a browser, with a passkey.
async fn with_passkey(app: &TestApp) -> (Reader, Authenticator) {
    app.sign_up("ada").await;
    let (mut reader, mut authenticator) = (app.signed_in_reader("ada").await, Authenticator::new(ORIGIN));
    add(&mut reader, &mut authenticator, "Laptop").await.has_status(200).shows("href=\"/dashboard/security\">I have saved them");
    (reader, authenticator)
}

/// The page of the account's only passkey.
async fn page_of_passkey(app: &TestApp) -> String {
    let id = app.holder("ada").await.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    format!("{SECURITY}/passkeys/{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_added_renamed_and_removed() {
    let app = TestApp::spawn_with_passkeys().await;
    app.sign_up("ada").await;
    let (mut reader, mut authenticator) = (app.signed_in_reader("ada").await, Authenticator::synced(ORIGIN));
    let shown = add(&mut reader, &mut authenticator, "Laptop").await.has_status(200).shows("Two-factor authentication is on.");
    assert_eq!(codes(&shown).len(), 10);
    let page = reader.open(SECURITY).await.shows(">on</span>").shows("Laptop").shows("Can be synced").shows("Never used");
    is_sound(&page.answer);

    let path = page_of_passkey(&app).await;
    let page = reader.open(&path).await.has_status(200);
    is_sound(&page.answer);
    assert_eq!(page.form().fields["name"], "Laptop");
    reader.send(&page.form().with(&[("name", &"x".repeat(101))])).await.has_status(400).shows("id=\"name-error\"");
    reader.send(&page.form().with(&[("name", "Work laptop")])).await.is_at(SECURITY).shows("The passkey was renamed to Work laptop.");

    let page = reader
        .open(&format!("{path}/remove"))
        .await
        .shows("Remove the passkey Work laptop?")
        .shows("This turns off two-factor authentication.");
    is_sound(&page.answer);
    reader.send(&page.form()).await.has_status(403).shows("Confirm this change with two-factor authentication");
    let forgery = {
        let options = options(&mut reader, &page.form(), "/dashboard/security/step-up/options").await;
        authenticator.assert_but(&options, &Forgery::OtherKey).to_string()
    };
    reader.send(&page.form().with(&[("stepUp", &forgery)])).await.has_status(403).shows("The passkey was not accepted.");
    for nonsense in ["x", "[]", "{}", "{\"id\":1}"] {
        reader.send(&page.form().with(&[("stepUp", nonsense)])).await.has_status(403).shows("The passkey was not accepted.");
    }
    let proof = prove(&mut reader, &page.form(), &mut authenticator).await;
    let page = reader.send(&page.form().with(&[("stepUp", &proof)])).await.is_at(SECURITY).shows("The passkey Work laptop was removed.");
    page.shows(">off</span>");
    reader.open(&path).await.has_status(404);
    reader.open(&format!("{path}/remove")).await.has_status(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_passkey_leads_back_to_what_needed_one() {
    let app = TestApp::spawn_with_passkeys().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/security/authenticator?next=%2Fdashboard%2Fkeys%2Fnew").await.has_status(200);
    let page = page.shows("<a href=\"/dashboard/security/passkeys/new?next=%2Fdashboard%2Fkeys%2Fnew\">Add a passkey</a>");
    is_sound(&page.answer);
    let page = reader.open("/dashboard/security/passkeys/new?next=%2Fdashboard%2Fkeys%2Fnew").await;
    let form = page.form_to(NEW);
    let refused = reader.send(&form.with(&[("response", "{}")])).await.has_status(400);
    is_sound(&refused.answer);
    let form = refused.form_to(NEW);
    let options = options(&mut reader, &form, "/dashboard/security/passkeys/options").await;
    let response = Authenticator::new(ORIGIN).register(&options).to_string();
    let page = reader.send(&form.with(&[("response", &response)])).await.has_status(200);
    page.shows("href=\"/dashboard/keys/new\">I have saved them");
    // An account with a factor is not offered a first one.
    let page = reader.open("/dashboard/security/authenticator").await;
    assert!(!page.html().contains("Prefer a passkey?"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_passkey_needs_a_proof_with_the_first() {
    let app = TestApp::spawn_with_passkeys().await;
    let (mut reader, mut first) = with_passkey(&app).await;
    let mut second = Authenticator::new(ORIGIN);
    let page = reader.open(NEW).await;
    is_sound(&page.answer);
    let form = page.form_to(NEW);
    let options = options(&mut reader, &form, "/dashboard/security/passkeys/options").await;
    let response = second.register(&options).to_string();
    let form = form.with(&[("response", &response)]);
    let refused = reader.send(&form).await.has_status(403).shows("Confirm this change with two-factor authentication");
    is_sound(&refused.answer);
    let proof = prove(&mut reader, &form, &mut first).await;
    let page = reader.send(&form.with(&[("stepUp", &proof)])).await.is_at(SECURITY).shows("The passkey Passkey was added.");
    assert!(!page.html().contains("This turns off"));
    // The answer was already used.
    let page = reader.open(NEW).await;
    let proof = prove(&mut reader, &page.form_to(NEW), &mut first).await;
    let form = page.form_to(NEW).with(&[("response", &response), ("stepUp", &proof)]);
    reader.send(&form).await.has_status(400).shows("The passkey was not accepted, or the request timed out.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_alone_signs_in() {
    let app = TestApp::spawn_with_passkeys().await;
    let (owner, mut authenticator) = with_passkey(&app).await;
    drop(owner);
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fsecurity").await.shows("Sign in with a passkey");
    let form = page.form_to("/dashboard/sign-in/passkey");
    let asked = ask(&mut reader, &form, "/dashboard/sign-in/passkey/options").await.assert(200);
    let id = asked["challengeId"].as_str().unwrap().to_owned();
    let forgery = authenticator.clone().assert_but(&asked["options"], &Forgery::FlippedBit).to_string();
    let refused = reader.send(&form.clone().with(&[("challengeId", &id), ("response", &forgery)])).await.has_status(401);
    let refused = refused.shows("The passkey was not accepted").shows("role=\"alert\" tabindex=\"-1\" autofocus>");
    is_sound(&refused.answer);
    // Reloading the URL leads to the page with the form.
    let page = reader.open(&refused.path).await.has_status(200);
    assert_eq!(page.path, "/dashboard/sign-in?next=%2Fdashboard%2Fsecurity");
    reader.open("/dashboard/sign-in/passkey?next=//evil.example").await.has_status(200).is_at("/dashboard/sign-in");
    let form = refused.form_to("/dashboard/sign-in/passkey");
    let asked = ask(&mut reader, &form, "/dashboard/sign-in/passkey/options").await.assert(200);
    let id = asked["challengeId"].as_str().unwrap().to_owned();
    let answer = authenticator.assert(&asked["options"]).to_string();
    let form = form.with(&[("challengeId", &id), ("response", &answer)]);
    reader.send(&form).await.is_at(SECURITY).shows("Laptop");
    for line in &reader.asked {
        assert!(!line.contains(&id), "{line}");
    }
    // An answer works for one sign-in.
    let mut other = app.reader();
    let page = other.open("/dashboard/sign-in").await;
    let again = page.form_to("/dashboard/sign-in/passkey").with(&[("challengeId", &id), ("response", &answer)]);
    other.send(&again).await.has_status(401).is_at("/dashboard/sign-in/passkey");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_completes_a_sign_in_with_a_password() {
    let app = TestApp::spawn_with_passkeys().await;
    let (_, mut authenticator) = with_passkey(&app).await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in?next=%2Fdashboard%2Fsecurity").await;
    let page = reader.send(&page.form_to("/dashboard/sign-in").with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await;
    let page = page.is_at("/dashboard/sign-in/second-factor").shows("Use a passkey");
    is_sound(&page.answer);
    let form = page.form_to("/dashboard/sign-in/second-factor/passkey");
    let asked = options(&mut reader, &form, "/dashboard/sign-in/second-factor/options").await;
    let forgery = authenticator.clone().assert_but(&asked, &Forgery::OtherKey).to_string();
    let refused = reader.send(&form.with(&[("response", &forgery)])).await.has_status(401).shows("The passkey was not accepted");
    is_sound(&refused.answer);
    let page = reader.open(&refused.path).await.has_status(200).shows("Two-factor authentication");
    assert_eq!(page.path, "/dashboard/sign-in/second-factor?next=%2Fdashboard%2Fsecurity");
    let form = refused.form_to("/dashboard/sign-in/second-factor/passkey");
    let asked = options(&mut reader, &form, "/dashboard/sign-in/second-factor/options").await;
    let answer = authenticator.assert(&asked).to_string();
    reader.send(&form.with(&[("response", &answer)])).await.is_at(SECURITY).shows("Laptop");
    assert!(!reader.cookies.keys().any(|name| name.contains("pending")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_gets_an_error_message_when_there_are_no_options() {
    let app = TestApp::spawn_with_passkeys().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let form = reader.open(NEW).await.form_to(NEW);
    let refused = ask(&mut reader, &form, "/dashboard/security/step-up/options").await;
    assert_eq!(refused.assert(409)["problem"], "Two-factor authentication is not enabled for this account.");
    // Without a pending login.
    let refused = ask(&mut reader, &form, "/dashboard/sign-in/second-factor/options").await;
    assert!(refused.assert(401)["problem"].is_string());
    // A signed-out visitor is redirected to the sign-in page; a wrong token is refused.
    let mut stranger = app.reader();
    let page = stranger.open("/dashboard/sign-in").await.form_to("/dashboard/sign-in");
    ask(&mut stranger, &page, "/dashboard/security/passkeys/options").await.assert_status(303);
    let form = Form { fields: [("csrf".to_owned(), "x".to_owned())].into(), ..form };
    ask(&mut reader, &form, "/dashboard/security/passkeys/options").await.assert_status(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_at_an_ip_address_has_no_passkeys_and_says_so() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    for page in [SECURITY, NEW] {
        let page = reader.open(page).await.has_status(200).shows("Passkeys need a dashboard with a domain name");
        assert!(!page.html().contains("passkeys-") && !page.html().contains("data-passkey"), "{}", page.html());
    }
    let form = reader.open(SECURITY).await.form_to("/dashboard/security/authenticator");
    let refused = ask(&mut reader, &form, "/dashboard/security/passkeys/options").await;
    assert_eq!(
        refused.assert(501)["problem"],
        "Passkeys are not available: the dashboard must use https and a domain name, not an IP address."
    );
    let page = app.reader().open("/dashboard/sign-in").await;
    assert!(!page.html().contains("passkey"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_belongs_to_one_account() {
    let app = TestApp::spawn_with_passkeys().await;
    let (_, mut authenticator) = with_passkey(&app).await;
    app.sign_up("bob").await;
    let mut bob = app.signed_in_reader("bob").await;
    let path = page_of_passkey(&app).await;
    for page in [path.clone(), format!("{path}/remove")] {
        bob.open(&page).await.has_status(404);
        let mut form = bob.open(NEW).await.form_to(NEW).with(&[("name", "Bob's")]);
        form.action = page;
        bob.send(&form).await.has_status(404);
    }
    // An answer to another account's challenge proves nothing.
    let mut ada = app.reader();
    let form = ada.open("/dashboard/sign-in").await.form_to("/dashboard/sign-in/passkey");
    let asked = ask(&mut ada, &form, "/dashboard/sign-in/passkey/options").await.assert(200);
    let answer = authenticator.assert(&asked["options"]).to_string();
    add(&mut bob, &mut Authenticator::new(ORIGIN), "Bob's").await.has_status(200);
    let form = bob.open(NEW).await.form_to(NEW);
    let asked = options(&mut bob, &form, "/dashboard/security/passkeys/options").await;
    let response = Authenticator::new(ORIGIN).register(&asked).to_string();
    bob.send(&form.with(&[("stepUp", &answer), ("response", &response)])).await.has_status(403);
    assert_eq!(app.holder("ada").await.passkeys().await[0]["name"], "Laptop");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_passkeys_are_escaped() {
    let app = TestApp::spawn_with_passkeys().await;
    let (mut reader, _) = with_passkey(&app).await;
    let path = page_of_passkey(&app).await;
    for text in ATTEMPTS {
        let page = reader.fill(&path, &[("name", text)]).await.is_at(SECURITY);
        // In the flash message, and in the list.
        stays_text(&page.html(), text);
        for page in [SECURITY.to_owned(), path.clone(), format!("{path}/remove")] {
            let page = reader.open(&page).await.has_status(200);
            stays_text(&page.html(), text);
        }
        let long = format!("{text}{}", "x".repeat(100));
        let page = reader.fill(&path, &[("name", &long)]).await.has_status(400);
        stays_text(&page.html(), &long);
    }
}
