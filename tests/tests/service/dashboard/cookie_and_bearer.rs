//! Pages accept only the cookie, and the API only bearer credentials.

use reqwest::Method;
use tests::TestApp;

#[tokio::test(flavor = "multi_thread")]
async fn the_api_ignores_the_cookie() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    for path in ["/v1/account", "/v1/authenticated", "/v1/apps", "/v1/account/sessions", "/v1/mfa"] {
        let answer = reader.ask(Method::GET, path, &[("sec-fetch-site", "same-origin")], None).await;
        answer.refused(401);
        assert_eq!(answer.optional_header("set-cookie"), None);
    }
    let headers = [("content-type", "application/json"), ("sec-fetch-site", "same-origin")];
    reader.ask(Method::POST, "/v1/apps", &headers, Some("{\"name\":\"demo\"}".to_owned())).await.refused(401);
    reader.ask(Method::DELETE, "/v1/account/sessions", &headers, None).await.refused(401);
    reader.open("/dashboard").await.shows("Sign out");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_ignore_bearer_credentials() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let session = app.log_in("ada").await;
    let key = app.named_key("ada", "key").await;
    for client in [&session, &key] {
        let answer = client.get("/dashboard").await;
        answer.assert_status(303);
        assert!(answer.header("location").starts_with("/dashboard/sign-in"));
    }
    // Nor a cookie with any other credential in it.
    let api_key = app.api_key("ada", &["read"]).await;
    let others = app.other_sessions("ada").await;
    for client in [&key, &api_key].into_iter().chain(&others) {
        let mut reader = app.reader();
        reader.cookies.insert("updraft".to_owned(), client.token().to_owned());
        reader.open("/dashboard").await.is_at("/dashboard/sign-in");
    }
    let mut reader = app.reader();
    reader.cookies.insert("updraft".to_owned(), session.token().to_owned());
    reader.open("/dashboard").await.shows("Sign out");
}
