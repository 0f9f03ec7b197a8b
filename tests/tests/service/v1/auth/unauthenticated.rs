//! Unauthenticated requests other than logins: validation and rate limits.

use control::testing::credentials::{Count, Limit, Subject};
use reqwest::Method;
use serde_json::{Value, json};
use tests::people::PASSWORD;
use tests::{Answer, Options, TestApp};

use crate::v1::members;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Every unauthenticated operation, with a body that it accepts (or refuses only for an unknown token).
fn operations() -> [(&'static str, Value, u16); 6] {
    let (email, token) = ("ada@example.com", "A".repeat(43));
    [
        ("/v1/auth/register", json!({ "email": email, "password": PASSWORD, "name": "Ada", "challengeToken": "x" }), 202),
        ("/v1/auth/verify-email", json!({ "token": token, "password": PASSWORD }), 400),
        ("/v1/auth/resend-verification", json!({ "email": email }), 202),
        ("/v1/auth/forgot-password", json!({ "email": email, "challengeToken": "x" }), 202),
        ("/v1/auth/reset-password", json!({ "token": token, "password": PASSWORD }), 400),
        ("/v1/auth/login", json!({ "email": email, "password": PASSWORD, "challengeToken": "x" }), 403),
    ]
}

/// Expects a refusal by a limit other than that of logins.
#[track_caller]
fn limited(answer: &Answer) -> u64 {
    answer.refused(429);
    assert_eq!(members(&answer.json()), ["error", "requestId"]);
    answer.header("retry-after").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let app = TestApp::spawn().await;
    for (path, sound, _) in operations() {
        let needed: Vec<String> = members(&sound)
            .into_iter()
            .filter(|name| !["name", "challengeToken"].contains(name) && (path != "/v1/auth/verify-email" || *name == "token"))
            .map(str::to_owned)
            .collect();
        let named = async |body: Value, names: &[String]| {
            let answer = app.anonymous().post(path, body.clone()).await;
            let refusal = answer.refused(400);
            for name in names {
                assert!(refusal.contains(&format!("{name}: ")), "{path} {body}: {refusal}");
            }
            assert!(!refusal.contains("confidential"), "a refusal does not echo values: {refusal}");
        };
        named(json!({}), &needed).await;
        let all: Vec<String> = members(&sound).into_iter().map(str::to_owned).collect();
        for bad in [json!(5), json!(true), json!(["confidential"]), json!({ "is": "confidential" })] {
            let body: Value = all.iter().map(|name| (name.clone(), bad.clone())).collect();
            named(body, &all).await;
        }
        let missing: Value = needed.iter().map(|name| (name.clone(), Value::Null)).collect();
        named(missing, &needed).await;
        let empty: Value = needed.iter().map(|name| (name.clone(), json!(""))).collect();
        named(empty, &needed).await;
        let long: Value = all.iter().map(|name| (name.clone(), json!("confidential".repeat(190)))).collect();
        named(long, &all).await;
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name <> 'posts'").await, 0, "they count only toward the post limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_values_get_the_expected_status_and_never_a_500() {
    let generous = ["REGISTER", "MAIL_REQUESTS", "POSTS", "LOGIN_ADDRESS", "LOGIN_STOP"];
    let options = generous.iter().fold(Options::default(), |options, name| options.with(&format!("LIMIT_{name}"), "10000/1h"));
    let app = TestApp::spawn_with(options).await;
    let texts =
        ["\0", "a\0b", "\u{1}", "\r\n", "\u{7f}", "\u{202e}", "\u{fffd}", "😀", "'; DROP TABLE accounts; --", "${x}", "../../etc/passwd"];
    let long = "x".repeat(9_000);
    for (path, sound, _) in operations() {
        for name in members(&sound) {
            for text in texts.iter().copied().chain([long.as_str()]) {
                for value in [text.to_owned(), format!("ada{text}@example.com")] {
                    let mut body = sound.clone();
                    body[name] = json!(value);
                    let answer = app.anonymous().post(path, body).await;
                    assert!(answer.status.is_success() || answer.status.is_client_error(), "{path} {name} {text:?}: {}", answer.text());
                }
            }
        }
    }
    for (path, name, value) in [
        ("/v1/auth/register", "name", "\0"),
        ("/v1/auth/register", "name", "a\nb"),
        ("/v1/auth/register", "name", ""),
        ("/v1/auth/register", "name", long.as_str()),
        ("/v1/auth/register", "email", "ada\0@example.com"),
        ("/v1/auth/register", "email", "ada@exa\u{7}mple.com"),
        ("/v1/auth/register", "email", "ada"),
        ("/v1/auth/login", "email", "ada\0@example.com"),
        ("/v1/auth/login", "password", long.as_str()),
        ("/v1/auth/forgot-password", "email", "ada@example.com\0"),
        ("/v1/auth/verify-email", "token", "\0"),
        ("/v1/auth/reset-password", "token", "\0"),
        ("/v1/auth/register", "challengeToken", long.as_str()),
    ] {
        let (_, mut body, _) = operations().into_iter().find(|(known, ..)| *known == path).unwrap();
        body[name] = json!(value);
        let refusal = app.anonymous().post(path, body).await.refused(400);
        assert!(refusal.starts_with(&format!("{name}: ")), "{path}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_json_is_refused() {
    let app = TestApp::spawn().await;
    let client = app.anonymous();
    for (path, sound, _) in operations() {
        let send =
            async |kind: &str, body: Vec<u8>| client.send(client.request(Method::POST, path).header("content-type", kind).body(body)).await;
        let text = sound.to_string();
        let twice = text.replacen('{', &format!("{{\"{}\":\"x\",", members(&sound)[0]), 1);
        for body in [&b"{"[..], b"[]", b"\"text\"", b"null", b"", b"{\"email\":\"\xff\"}", b"{\"email\":\"\\ud800\"}", twice.as_bytes()] {
            send("application/json", body.to_vec()).await.refused(400);
        }
        send("application/json", format!("{text}{}", " ".repeat(10_241 - text.len())).into_bytes()).await.refused(413);
        send("text/plain", text.clone().into_bytes()).await.refused(415);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts").await, 0);
    // The maximum size, and with unknown members.
    for (path, mut sound, status) in operations() {
        sound["more"] = json!("x");
        let text = sound.to_string();
        let body = format!("{text}{}", " ".repeat(10_240 - text.len())).into_bytes();
        client.send(client.request(Method::POST, path).header("content-type", "application/json").body(body)).await.assert(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_another_kind_are_unknown() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.anonymous().post("/v1/auth/register", json!({ "email": "bob@example.com", "password": PASSWORD })).await.assert(202);
    app.anonymous().post("/v1/auth/forgot-password", json!({ "email": "ada@example.com" })).await.assert(202);
    let (verification, reset) = (app.last_mail_to("bob@example.com").await.token(), app.last_mail_to("ada@example.com").await.token());
    let session = app.log_in("ada").await;
    for token in [reset.as_str(), session.token()] {
        app.anonymous().post("/v1/auth/verify-email", json!({ "token": token })).await.refused(400);
    }
    for token in [verification.as_str(), session.token()] {
        let body = json!({ "token": token, "password": "quite another phrase for the gate" });
        app.anonymous().post("/v1/auth/reset-password", body).await.refused(400);
    }
    for token in [verification, reset] {
        app.anonymous().with_token(Some(token)).get("/v1/authenticated").await.refused(401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_register_ten_times_an_hour() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let stranger = app.stranger("198.51.100.1");
    for number in 0..10 {
        stranger.register(&format!("ada{number}")).await.assert(202);
    }
    assert_eq!(limited(&stranger.register("bob").await), 3_600);
    app.stranger("198.51.100.2").register("bob").await.assert(202);
    app.clock.advance(HOUR - 1);
    assert_eq!(limited(&stranger.register("bob").await), 1);
    app.clock.advance(1);
    stranger.register("bob").await.assert(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_request_five_mails_an_hour() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let stranger = app.stranger("198.51.100.1");
    for number in 0..5 {
        let name = format!("ada{number}");
        if number % 2 == 0 { stranger.forget(&name).await } else { stranger.resend(&name).await }.assert(202);
    }
    assert_eq!(limited(&stranger.forget("bob").await), 3_600);
    assert_eq!(limited(&stranger.resend("bob").await), 3_600);
    app.stranger("198.51.100.2").forget("bob").await.assert(202);
    app.clock.advance(HOUR);
    stranger.resend("bob").await.assert(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_address_gets_three_mails_of_a_kind_an_hour_and_the_limit_is_not_revealed() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let from = |number: usize| app.stranger(&format!("203.0.113.{number}"));
    let told = from(1).register("ada").await.assert(202);
    let resent = from(2).resend("ada").await.assert(202);
    from(3).register("ada").await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 3);
    assert_eq!(from(4).resend("ada").await.assert(202), resent);
    assert_eq!(from(5).register("ADA").await.assert(202), told);
    from(6).forget("ada").await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 3);
    // A registration without an email is still stored, and the last link still works.
    assert_eq!(app.number("SELECT COUNT(*) FROM registrations").await, 3);
    let token = app.last_mail_to("ada@example.com").await.token();
    from(7).post("/v1/auth/verify-email", json!({ "token": token })).await.assert(200);
    // Resets have a separate limit, which counts the request without an account.
    for (number, mails) in [(8, 4), (9, 5), (10, 5)] {
        from(number).forget("ada").await.assert(202);
        assert_eq!(app.mails_to("ada@example.com").await.len(), mails);
    }
    app.clock.advance(HOUR);
    from(11).forget("ada").await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_submit_sixty_tokens_in_ten_minutes() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let stranger = app.stranger("198.51.100.1");
    for number in 0..30 {
        stranger.post("/v1/auth/verify-email", json!({ "token": format!("token{number}") })).await.refused(400);
        stranger.post("/v1/auth/reset-password", json!({ "token": format!("token{number}"), "password": PASSWORD })).await.refused(400);
    }
    assert_eq!(limited(&stranger.post("/v1/auth/verify-email", json!({ "token": "token" })).await), 600);
    assert_eq!(limited(&stranger.post("/v1/auth/reset-password", json!({ "token": "token", "password": PASSWORD })).await), 600);
    app.clock.advance(10 * MINUTE);
    stranger.post("/v1/auth/verify-email", json!({ "token": "token" })).await.refused(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_must_be_long_enough_and_hard_to_guess() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let stranger = app.stranger("198.51.100.1");
    let register = async |password: &str| {
        let body = json!({ "email": "ada.lovelace@example.com", "name": "Countess Wilhelmina", "password": password });
        stranger.post("/v1/auth/register", body).await
    };
    for weak in [
        "elevenchars",
        "passwordpassword",
        "123456789012",
        "qwertyuiopasdf",
        "aaaaaaaaaaaaaaaa",
        "ada.lovelace@example.com",
        "lovelacelovelace",
        "Countess Wilhelmina",
        "wilhelmina1815",
        "iloveyou2023",
        "abcabcabcabcabc",
        "correcthorsebatterystaple",
    ] {
        let refusal = register(weak).await.refused(400);
        assert!(refusal.starts_with("password: ") && !refusal.contains(weak), "{weak}: {refusal}");
    }
    register(&"long ".repeat(201)).await.refused(400);
    let refusal = stranger.post("/v1/auth/register", json!({ "email": "ada", "password": "passwordpassword" })).await.refused(400);
    assert!(refusal.contains("email: ") && refusal.contains("password: "), "{refusal}");
    // They did not count as registrations, and there are no required characters.
    let thousand: String = "correct horse battery staple ".repeat(35).chars().take(1_000).collect();
    for strong in ["kv7#qLm2!xZp", "zwölf boxkämpfer", "correcthorseofmybattery", thousand.as_str()] {
        register(strong).await.assert(202);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_have_sixty_passwords_rated_in_ten_minutes() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    let stranger = app.stranger("198.51.100.1");
    let weak = json!({ "email": "ada@example.com", "password": "passwordpassword" });
    for _ in 0..60 {
        stranger.post("/v1/auth/register", weak.clone()).await.refused(400);
    }
    assert_eq!(limited(&stranger.post("/v1/auth/register", weak.clone()).await), 600);
    assert_eq!(limited(&stranger.register("ada").await), 600);
    app.stranger("198.51.100.2").register("ada").await.assert(202);
    app.clock.advance(10 * MINUTE);
    stranger.register("ada").await.assert(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_registration_rates_no_password() {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_REGISTER", "1/1h")).await;
    let stranger = app.stranger("198.51.100.1");
    stranger.register("ada").await.assert(202);
    let counted = app.texts("SELECT times FROM limit_counts WHERE name = 'posts'", &[]).await;
    // If it were rated, it would be refused with 400.
    let weak = json!({ "email": "bob@example.com", "password": "passwordpassword" });
    assert_eq!(limited(&stranger.post("/v1/auth/register", weak).await), 3_600);
    let refusal = stranger.post("/v1/auth/register", json!({ "email": "bob", "password": "passwordpassword" })).await.refused(400);
    assert!(refusal.contains("email: ") && !refusal.contains("password: "), "{refusal}");
    assert_eq!(app.texts("SELECT times FROM limit_counts WHERE name = 'posts'", &[]).await, counted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_expensive_to_rate_does_not_block_others() {
    let app = TestApp::spawn().await;
    let every: String = "4@8({[<369 1!|70$5+7%2zx".chars().cycle().take(1_000).collect();
    let name: String = "4@8 d3f 6hi ".chars().cycle().take(255).collect();
    let body = json!({ "email": "ada@example.com", "name": name, "password": every });
    app.anonymous().post("/v1/auth/register", body).await.assert(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_effect_do_not_count_toward_mail_limits() {
    let app = TestApp::spawn_among_strangers(Options::default()).await;
    app.sign_up("ada").await;
    app.stranger("203.0.113.200").register("bob").await.assert(202);
    for number in 0..4 {
        let stranger = app.stranger(&format!("203.0.113.{number}"));
        stranger.resend("ada").await.assert(202);
        stranger.forget("bob").await.assert(202);
        stranger.resend("nobody").await.assert(202);
        stranger.forget("nobody").await.assert(202);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM limit_counts WHERE name = 'all_registration_mails'").await, 1, "bob's registration");
    let owner = app.stranger("198.51.100.1");
    owner.forget("ada").await.assert(202);
    owner.resend("bob").await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
    assert_eq!(app.mails_to("bob@example.com").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_survive_a_restart() {
    let limits =
        [("LIMIT_REGISTER", "1/1h"), ("LIMIT_MAIL_REQUESTS", "1/1h"), ("LIMIT_REGISTRATION_MAILS", "1/1h"), ("LIMIT_POSTS", "2/1h")];
    let options = limits.iter().fold(Options::default(), |options, (name, value)| options.with(name, *value));
    let mut app = TestApp::spawn_among_strangers(options).await;
    let (registers, shows, asks) = ("198.51.100.1", "198.51.100.2", "198.51.100.3");
    let show = async |app: &TestApp| app.stranger(shows).post("/v1/auth/verify-email", json!({ "token": "token" })).await;
    app.stranger(registers).register("ada").await.assert(202);
    show(&app).await.refused(400);
    show(&app).await.refused(400);
    app.stranger(asks).resend("ada").await.assert(202);
    app.stop().await;
    app.start().await;
    assert_eq!(limited(&app.stranger(registers).register("bob").await), 3_600);
    assert_eq!(limited(&show(&app).await), 3_600);
    assert_eq!(limited(&app.stranger(asks).resend("ada").await), 3_600);
    app.stranger("198.51.100.4").resend("ada").await.assert(202);
    assert_eq!(app.mails_to("ada@example.com").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limited_requests_are_refused_without_a_write() {
    let app = TestApp::spawn_among_strangers(Options::default().with("LIMIT_POSTS", "1/1h").with("LIMIT_MAIL_REQUESTS", "1/1h")).await;
    let stranger = app.stranger("198.51.100.1");
    stranger.post("/v1/auth/verify-email", json!({ "token": "token" })).await.refused(400);
    stranger.forget("ada").await.assert(202);
    // On SQLite this is the only writer, on PostgreSQL it locks the rows.
    let (state, subject) = (app.state(), Subject::address("198.51.100.1".parse().unwrap()));
    let mut tx = state.db.write().await.unwrap();
    for limit in [Limit::Posts, Limit::MailRequests] {
        Count::lock(&mut tx, limit, &subject, app.clock.now()).await.unwrap();
    }
    limited(&stranger.post("/v1/auth/verify-email", json!({ "token": "token" })).await);
    limited(&stranger.forget("ada").await);
    limited(&stranger.resend("ada").await);
    drop(tx);
}
