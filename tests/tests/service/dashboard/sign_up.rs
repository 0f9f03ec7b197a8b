//! Signing up by forms alone: the email, the token, the account.

use tests::people::PASSWORD;
use tests::turnstile::Turnstile;
use tests::{Options, Reader, TestApp};

async fn sign_up(reader: &mut Reader, name: &str) -> tests::reader::Page {
    let fields = [("name", "Ada"), ("email", &format!("{name}@example.com")), ("password", PASSWORD)];
    reader.fill("/dashboard/sign-up", &fields).await
}

/// Confirms with the token of an email, then with [`PASSWORD`].
async fn confirm(reader: &mut Reader, token: &str) -> tests::reader::Page {
    let page = reader.fill("/dashboard/verify-email", &[("token", token)]).await.has_status(200).shows("Enter your password");
    reader.send(&page.form().with(&[("password", PASSWORD)])).await
}

/// No request line contains a token.
#[track_caller]
fn kept_secret(reader: &Reader, tokens: &[&str]) {
    for asked in &reader.asked {
        for token in tokens {
            assert!(!token.is_empty() && !asked.contains(token), "{asked}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_signs_up_with_the_mail_and_signs_in_and_out() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    sign_up(&mut reader, "ada").await.is_at("/dashboard/sign-up/sent").shows("Check your email");
    let mail = app.last_mail_to("ada@example.com").await;
    assert!(mail.link().starts_with(&format!("{}/dashboard/verify-email#token=", app.base)), "{}", mail.link());
    // Opening the link, as mail scanners do, changes nothing.
    let page = reader.open("/dashboard/verify-email").await.shows("Confirm your email address").shows("#token=");
    let home = page.clone();
    let page = reader.send(&page.form().with(&[("token", &mail.token())])).await.shows("ada@example.com").shows("127.0.0.1");
    let signed_in = reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard/sign-in");
    signed_in.shows("Your email address is confirmed");
    let page = reader.sign_in("ada@example.com", PASSWORD).await.is_at("/dashboard").shows("Ada").shows("ada@example.com");
    let session = reader.cookies["updraft"].clone();
    let page = reader.send(&page.form_to("/dashboard/sign-out")).await.is_at("/dashboard/sign-in").shows("You are signed out.");
    assert!(!reader.cookies.contains_key("updraft"));
    app.anonymous().with_token(Some(session.clone())).get("/v1/account").await.refused(401);
    kept_secret(&reader, &[&mail.token(), &session, &page.form().fields["csrf"], &home.form().fields["csrf"]]);
    // The same token again.
    let again = reader.fill("/dashboard/verify-email", &[("token", &mail.token())]).await.has_status(400);
    again
        .shows("This link is invalid, expired or already used. Request a new email.")
        .shows("Already confirmed? <a href=\"/dashboard/sign-in\">Sign in</a>");
    let page = reader.open("/dashboard/verify-email").await;
    assert!(!page.html().contains("Already confirmed?"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn confirming_in_another_users_browser_asks_for_the_own_address() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    sign_up(&mut app.reader(), "bob").await;
    let token = app.last_mail_to("bob@example.com").await.token();
    let mut reader = app.signed_in_reader("ada").await;
    let page = confirm(&mut reader, &token).await.is_at("/dashboard/sign-in");
    let form = page.form_to("/dashboard/sign-in");
    assert_eq!(form.fields["email"], "bob@example.com");
    assert!(!page.html().contains("/sign-in/passkey"), "a new account has none: {}", page.html());
    let form = form.with(&[("password", PASSWORD)]);
    reader.send(&form).await.is_at("/dashboard").shows("bob@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_shown_at_their_fields() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    let page = reader.fill("/dashboard/sign-up", &[("email", "nobody"), ("password", "short"), ("name", "Ada")]).await.has_status(400);
    let html = page.html();
    assert!(
        html.contains("<p class=\"error\" id=\"email-error\">Email address must be an email address of at most 255 characters.</p>"),
        "{html}"
    );
    assert!(html.contains("<p class=\"error\" id=\"password-error\">Password must be 12 to 1000 characters.</p>"), "{html}");
    assert!(html.contains("aria-describedby=\"password-hint password-error\" aria-invalid=\"true\""), "{html}");
    assert!(html.contains("role=\"alert\"") && html.contains("<a href=\"#email\">Email address must"), "{html}");
    assert_eq!((page.form().fields["email"].as_str(), page.form().fields["name"].as_str()), ("nobody", "Ada"));
    assert_eq!(page.form().fields["password"], "");
    assert_eq!(html.matches(" autofocus").count(), 1);
    reader
        .send(&page.form().with(&[("email", "ada@example.com"), ("password", "ada@example.com")]))
        .await
        .shows("Password is too easy to guess:");
    reader.send(&page.form().with(&[("email", "ada@example.com"), ("password", PASSWORD)])).await.is_at("/dashboard/sign-up/sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_reveals_whether_an_address_has_an_account() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut pages = Vec::new();
    for name in ["ada", "bob"] {
        let mut reader = app.reader();
        let page = sign_up(&mut reader, name).await;
        // What the visitor typed is shown, and fills the form.
        let email = format!("{name}@example.com");
        assert_eq!(page.form().fields["email"], email);
        let page = page.shows(&format!("We sent an email to {email}."));
        pages.push((page.path.clone(), page.html().replace(&page.form().fields["csrf"], "").replace(&email, "")));
    }
    assert_eq!(pages[0], pages[1]);
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "You already have an account");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mail_is_sent_again_and_replaces_the_first() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    sign_up(&mut reader, "ada").await;
    let first = app.last_mail_to("ada@example.com").await.token();
    let page = reader.fill("/dashboard/sign-up/sent", &[("email", "ada@example.com")]).await.shows("we sent another email");
    assert_eq!(page.form().fields["email"], "ada@example.com");
    let second = app.last_mail_to("ada@example.com").await.token();
    assert_ne!(first, second);
    reader.fill("/dashboard/verify-email", &[("token", &first)]).await.has_status(400);
    confirm(&mut reader, &second).await.is_at("/dashboard/sign-in");
    // A visitor who asks for another email is not told that one was sent.
    let page = reader.open("/dashboard/verify-email").await.shows("href=\"/dashboard/sign-up/sent?again\"");
    assert!(!page.html().to_lowercase().contains("we sent"));
    let page = reader.open("/dashboard/sign-up/sent?again").await.shows("Request a new email");
    assert!(!page.html().to_lowercase().contains("we sent"), "{}", page.html());
    let page = reader.send(&page.form().with(&[("email", "none")])).await.has_status(400).shows("Request a new email");
    reader.send(&page.form().with(&[("email", "ada@example.com")])).await.is_at("/dashboard/sign-up/sent").shows("we sent another email");
    reader.fill("/dashboard/sign-up/sent", &[("email", "none")]).await.has_status(400).shows("Email address must be");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_closed_registration_says_so() {
    let app = TestApp::spawn_with(Options::default().with("REGISTRATION", "closed")).await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-up").await.shows("Sign-up is closed");
    assert_eq!(page.forms().len(), 0);
    assert!(!reader.open("/dashboard/sign-in").await.html().contains("/sign-up"));
    reader.fill("/dashboard/sign-up/sent", &[("email", "ada@example.com")]).await.has_status(403).shows("Registration is closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_sign_ups_are_rate_limited() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_REGISTER", "1/1h")).await;
    let mut reader = app.reader();
    sign_up(&mut reader, "ada").await.is_at("/dashboard/sign-up/sent");
    let page = sign_up(&mut reader, "bob").await.has_status(429).shows("Try again in 60 minutes.");
    assert_eq!(page.answer.header("retry-after"), "3600");
    assert_eq!(page.form().fields["email"], "bob@example.com");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_challenge_is_required() {
    let turnstile = Turnstile::start().await;
    let app = TestApp::spawn_with(turnstile.options(Options::default())).await;
    let mut reader = app.reader();
    let page = sign_up(&mut reader, "ada").await.has_status(403).shows("Confirm that you are human");
    let mut form = page.form().with(&[("password", PASSWORD)]);
    form.fields.insert("challengeToken".to_owned(), "good".to_owned());
    reader.send(&form).await.is_at("/dashboard/sign-up/sent");
    assert_eq!(turnstile.asked().len(), 1);
}
