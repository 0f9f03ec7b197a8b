//! Signing in by a form alone.

use tests::people::PASSWORD;
use tests::turnstile::Turnstile;
use tests::{Options, TestApp};

use crate::dashboard::headers::is_sound;

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_shown_and_the_address_is_kept() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let page = reader.sign_in("ada@example.com", "not hers").await.has_status(401).is_at("/dashboard/sign-in");
    let page = page.shows("Incorrect email address or password.");
    // The error belongs to no field: the summary has the focus, and the title says `Error`.
    is_sound(&page.answer);
    let page = page.shows("<div class=\"notice bad\" role=\"alert\" tabindex=\"-1\" autofocus>").shows("<title>Error: Sign in ");
    assert_eq!(page.html().matches(" autofocus").count(), 1);
    assert!(!page.html().contains("Send it again"), "{}", page.html());
    assert_eq!(page.form().fields["email"], "ada@example.com");
    // The same page as for an unknown address.
    let nobody = reader.sign_in("nobody@example.com", "not hers").await.has_status(401);
    assert_eq!(page.html().replace("ada@", "nobody@"), nobody.html());
    reader.sign_in("ada", "").await.has_status(400).shows("Email address must be").shows("Password must be");
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard").shows("Sign out");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_an_unconfirmed_address_is_told_what_to_do() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    reader.fill("/dashboard/sign-up", &[("email", "ada@example.com"), ("password", PASSWORD)]).await;
    let page = reader
        .sign_in("ada@example.com", PASSWORD)
        .await
        .has_status(403)
        .shows("is not verified: open the link in the verification email.");
    page.shows("<a href=\"/dashboard/sign-up/sent?again\">Send it again</a>");
    // Without the right password, nothing is revealed.
    let page = reader.sign_in("ada@example.com", "wrong").await.has_status(401);
    assert!(!page.html().contains("Send it again"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_again_fills_in_the_address() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/sign-in?again").await.shows("Sign in again").shows("<title>Sign in ");
    assert_eq!(page.form().fields["email"], "ada@example.com");
    let html = page.html();
    let password = html.split("<input id=\"password\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(password.ends_with(" autofocus") && html.matches(" autofocus").count() == 1, "{html}");
    reader.send(&page.form().with(&[("password", PASSWORD)])).await.is_at("/dashboard").shows("Sign out");
    // No address is revealed to anyone else.
    let page = app.reader().open("/dashboard/sign-in?again").await;
    assert_eq!(page.form().fields["email"], "");
    assert!(!page.html().contains(" autofocus"), "{}", page.html());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_guesses_are_rate_limited() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.reader();
    let mut page = reader.sign_in("ada@example.com", "wrong").await;
    while page.answer.status == 401 {
        page = reader.sign_in("ada@example.com", "wrong").await;
    }
    let page = page.has_status(429).shows("Too many failed sign-in attempts").shows("Try again in");
    assert!(page.answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_some_failures_the_challenge_is_on_the_page() {
    let turnstile = Turnstile::start().await;
    let options = turnstile.options(Options::default()).with("TURNSTILE_SCRIPT", "https://challenge.example/api.js");
    let app = TestApp::spawn_with(options).await;
    app.sign_up("ada").await;
    let mut reader = app.reader();
    let mut page = reader.sign_in("ada@example.com", "wrong").await;
    for _ in 0..3 {
        assert!(!page.html().contains("cf-turnstile"));
        page = reader.sign_in("ada@example.com", "wrong").await;
    }
    let page = page.has_status(403).shows("Confirm that you are human").shows("cf-turnstile").shows("https://challenge.example/api.js");
    assert!(page.answer.header("content-security-policy").contains("frame-src https://challenge.example;"));
    let mut form = page.form().with(&[("password", "wrong")]);
    form.fields.insert("challengeToken".to_owned(), "good".to_owned());
    // After another failure, the challenge stays.
    reader.send(&form).await.has_status(401).shows("cf-turnstile");
    assert_eq!(turnstile.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_banner_shows_the_mfa_deadline() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let day = |time| control::testing::dashboard::day(time);
    let deadline = app.clock.now().plus_millis(14 * 86_400_000);
    let page = reader.open("/dashboard").await.shows("Set up two-factor authentication.</strong>");
    page.shows(&format!(">{}</time> on, you need it to create keys", day(deadline)));
    app.clock.advance(14 * 86_400_000 + 1);
    let mut reader = app.signed_in_reader("ada").await;
    reader.open("/dashboard").await.shows("Your account requires two-factor authentication.</strong>");
}
