//! Resetting a forgotten password, by forms alone.

use tests::TestApp;
use tests::people::PASSWORD;

const NEW: &str = "another long passphrase nobody knows";

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_reset_with_the_mail() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut old = app.signed_in_reader("ada").await;
    let mut reader = app.reader();
    let page = reader.open("/dashboard/sign-in").await;
    assert!(page.html().contains("href=\"/dashboard/forgot-password\""));
    let page = reader.fill("/dashboard/forgot-password", &[("email", "ada@example.com")]).await;
    page.is_at("/dashboard/sign-in").shows("If this address has an account, we sent an email.");
    let mail = app.last_mail_to("ada@example.com").await;
    assert!(mail.link().starts_with(&format!("{}/dashboard/reset-password#token=", app.base)));
    let page = reader.fill("/dashboard/reset-password", &[("token", &mail.token()), ("password", "short")]).await.has_status(400);
    let page = page.shows("New password must be 12 to 1000 characters.");
    // The field keeps the token, so that only the password must be typed again.
    let form = page.form();
    assert_eq!((form.fields["token"].as_str(), form.fields["password"].as_str()), (mail.token().as_str(), ""));
    let done = reader.send(&form.with(&[("password", NEW)])).await.has_status(200).shows("Password changed");
    assert!(done.html().contains("href=\"/dashboard/sign-in?other\"") && !done.html().contains("Keys that still work"), "{}", done.html());
    old.open("/dashboard").await.is_at("/dashboard/sign-in");
    reader.sign_in("ada@example.com", PASSWORD).await.has_status(401);
    reader.sign_in("ada@example.com", NEW).await.is_at("/dashboard").shows("Sign out");
    assert!(reader.asked.iter().all(|asked| !asked.contains(&mail.token())), "{:?}", reader.asked);
    let again = reader.fill("/dashboard/reset-password", &[("token", &mail.token()), ("password", NEW)]).await.has_status(400);
    again.shows("This link is invalid, expired or already used. Request a new email.");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_reveals_whether_an_address_has_an_account() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut pages = Vec::new();
    for email in ["ada@example.com", "bob@example.com"] {
        let mut reader = app.reader();
        let page = reader.fill("/dashboard/forgot-password", &[("email", email)]).await;
        pages.push((page.path.clone(), page.html().replace(&page.form().fields["csrf"], "")));
    }
    assert_eq!(pages[0], pages[1]);
}
