//! The complete life of an account over HTTP, with the emails read from the files that the server writes.

use serde_json::json;
use tests::SessionOrigin::CliBrowser;
use tests::people::login;
use tests::{Answer, Client, Options, TestApp};

const EMAIL: &str = "ada@example.com";
const FIRST: &str = "the first passphrase she thought of";
const SECOND: &str = "a later and better passphrase of hers";
const THIRD: &str = "what she chose when she had forgotten";
const WRONG: &str = "none of her passphrases at all";

async fn log_in(client: &Client, password: &str) -> Answer {
    client.post("/v1/auth/login", login(EMAIL, password)).await
}

fn signed_in(client: &Client, answer: &Answer) -> Client {
    client.with_token(Some(answer.assert(200)["accessKey"].as_str().unwrap().to_owned()))
}

/// Expects a 429 and returns the seconds until the next attempt, which header and body agree on.
#[track_caller]
fn limited(answer: &Answer) -> u64 {
    answer.refused(429);
    let seconds = answer.header("retry-after").parse().unwrap();
    assert_eq!(answer.json()["retryAfterSeconds"], json!(seconds));
    seconds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_registers_twice_reaches_the_limits_and_resets_the_password() {
    let app = TestApp::spawn_with(Options::default().with("TRUSTED_PROXIES", "127.0.0.1")).await;
    let stranger = app.anonymous();

    // Registered twice; the second registration is verified and becomes the account.
    let mut answers = Vec::new();
    for (password, name) in [(FIRST, "Ada"), (SECOND, "Ada Lovelace")] {
        let answer = stranger.post("/v1/auth/register", json!({ "email": " Ada@Example.com", "password": password, "name": name })).await;
        answers.push(answer.assert(202));
        app.clock.advance(1_000);
    }
    assert_eq!(answers.first(), answers.last());
    log_in(&stranger, SECOND).await.refused(403);
    let [first, second] = app.mails_to(EMAIL).await.try_into().unwrap();
    let page = format!("{}/dashboard/verify-email#token=", app.base);
    assert!(first.link().starts_with(&page) && second.link().starts_with(&page), "{}", first.link());
    let verify = async |token: &str| stranger.post("/v1/auth/verify-email", json!({ "token": token })).await;
    verify(&second.token()).await.assert(200);
    verify(&first.token()).await.refused(400);
    verify(&second.token()).await.refused(400);

    // The password is that of the second registration.
    log_in(&stranger, FIRST).await.refused(401);
    let answer = log_in(&stranger, SECOND).await;
    let (body, session) = (answer.json(), signed_in(&stranger, &answer));
    assert_eq!(body["expires"], json!(app.clock.now().0 + 14 * 86_400_000));
    let deadline = body["mfaSetupDeadline"].clone();
    assert_eq!((&body["mfaSetupRequired"], &deadline), (&json!(true), &body["expires"]));
    let account = session.get("/v1/account").await.assert(200)["account"].clone();
    assert_eq!((&account["email"], &account["name"]), (&json!(EMAIL), &json!("Ada Lovelace")));
    let cli = app.open_session("ada", CliBrowser).await;
    let key = app.named_key("ada", "build server").await;

    app.clock.advance(60_000);

    // An attacker guesses: five times from one address, then from others, until the account is locked.
    let at = |number: u32| stranger.from(&format!("203.0.113.{number}"));
    for _ in 0..5 {
        log_in(&at(1), WRONG).await.refused(401);
    }
    assert_eq!(limited(&log_in(&at(1), WRONG).await), 900);
    assert_eq!(limited(&log_in(&at(1), SECOND).await), 900, "the correct password reveals nothing any more");
    log_in(&at(2), SECOND).await.assert(200);
    for number in 0..10 {
        log_in(&at(3 + number / 5), WRONG).await.refused(401);
    }
    for password in [WRONG, SECOND] {
        assert_eq!(limited(&log_in(&at(9), password).await), 3_600);
    }
    // Existing sessions keep working.
    session.get("/v1/authenticated").await.assert(200);

    // The email about the lockout comes first.
    app.mails_to(EMAIL).await;
    app.clock.advance(1_000);

    // The owner resets the password, which clears the failures of the account.
    let answer = at(20).post("/v1/auth/forgot-password", json!({ "email": EMAIL })).await.assert(202);
    assert_eq!(answer, at(20).post("/v1/auth/forgot-password", json!({ "email": "nobody@example.com" })).await.assert(202));
    let reset = app.last_mail_to(EMAIL).await;
    assert!(reset.link().starts_with(&format!("{}/dashboard/reset-password#token=", app.base)), "{}", reset.link());
    let body = json!({ "token": reset.token(), "password": THIRD });
    at(20).post("/v1/auth/reset-password", body.clone()).await.assert(200);
    at(20).post("/v1/auth/reset-password", body).await.refused(400);

    // Old sessions are revoked, the access key is kept; the email tells the owner about both.
    for ended in [&session, &cli] {
        ended.get("/v1/authenticated").await.refused(401);
    }
    key.get("/v1/authenticated").await.assert(200);
    let notice = app.last_mail_to(EMAIL).await;
    assert_ne!(notice.id, reset.id);
    for part in [&notice.text, &notice.html] {
        assert!(part.contains("build server") && part.contains("203.0.113.20"), "{part}");
    }
    assert_eq!(log_in(&at(20), THIRD).await.assert(200)["mfaSetupDeadline"], deadline, "fixed at the first login");
    log_in(&at(20), SECOND).await.refused(401);
    assert!(limited(&log_in(&at(1), THIRD).await) <= 900, "the failures of an address are not cleared");
    app.clock.advance(900_000);
    signed_in(&stranger, &log_in(&at(1), THIRD).await).get("/v1/account").await.assert(200);
    assert!(app.mails_to("nobody@example.com").await.is_empty());
}
