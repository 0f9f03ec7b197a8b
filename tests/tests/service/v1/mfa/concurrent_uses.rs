//! Concurrent uses of single-use values: one succeeds.

use reqwest::Method;
use serde_json::{Value, json};
use tests::second_factors::Pending;
use tests::{Answer, Client, Holder, Options, TestApp};
use tokio::task::JoinSet;

use crate::v1::mfa::{limited, needs_step_up};

const MANY: usize = 50;

/// A server whose limits are not reached.
async fn app() -> TestApp {
    let options = Options::default().with_passkeys();
    TestApp::spawn_with(options.with("LIMIT_MFA_ATTEMPTS", "10000/15m").with("LIMIT_POSTS", "10000/10m")).await
}

/// Sends all of these concurrently, and returns the responses.
async fn at_once(questions: Vec<(Client, Method, String, Value)>) -> Vec<Answer> {
    let mut under_way = JoinSet::new();
    for (client, method, path, body) in questions {
        under_way.spawn(async move { client.send(client.request(method, &path).json(&body)).await });
    }
    under_way.join_all().await
}

fn posts(client: &Client, path: &str, bodies: impl IntoIterator<Item = Value>) -> Vec<(Client, Method, String, Value)> {
    bodies.into_iter().map(|body| (client.clone(), Method::POST, path.to_owned(), body)).collect()
}

/// Expects one success, and returns it; the others must have one of these statuses.
#[track_caller]
fn one_wins(answers: &[Answer], others: &[u16]) -> Value {
    let winners: Vec<_> = answers.iter().filter(|answer| answer.status.is_success()).collect();
    let odd: Vec<_> = answers.iter().filter(|answer| !answer.status.is_success() && !others.contains(&answer.status.as_u16())).collect();
    assert!(odd.is_empty(), "{}", odd[0].text());
    assert_eq!(winners.len(), 1, "of {}", answers.len());
    winners[0].json()
}

async fn sessions(app: &TestApp) -> i64 {
    app.number("SELECT COUNT(*) FROM access_keys WHERE is_session").await
}

/// Sequentially, since hashes that wait too long would be refused.
async fn pend_many(app: &TestApp, name: &str) -> Vec<Pending> {
    let mut pending = Vec::new();
    for _ in 0..MANY {
        pending.push(app.pend(name).await);
    }
    pending
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_uses_of_a_pending_login_one_succeeds() {
    let app = app().await;
    let mut ada = app.with_both("ada").await;
    let (client, before) = (app.anonymous(), sessions(&app).await);
    for kind in ["totp", "recovery", "passkey", "mixed"] {
        let pending = app.pend("ada").await;
        let options = pending.options().await.assert(200)["options"].clone();
        let totp = json!({ "pendingToken": pending.token, "code": ada.code() });
        let recovery = |place: usize| json!({ "pendingToken": pending.token, "code": ada.codes[place] });
        let passkey = json!({ "pendingToken": pending.token, "response": ada.authenticator.clone().assert(&options) });
        let questions = match kind {
            "totp" => posts(&client, "/v1/auth/mfa/totp", (0..MANY).map(|_| totp.clone())),
            "recovery" => posts(&client, "/v1/auth/mfa/recovery", (0..MANY).map(|number| recovery(number % 8))),
            "passkey" => posts(&client, "/v1/auth/mfa/verify", (0..MANY).map(|_| passkey.clone())),
            _ => [
                posts(&client, "/v1/auth/mfa/totp", (0..17).map(|_| totp.clone())),
                posts(&client, "/v1/auth/mfa/recovery", (0..17).map(|_| recovery(9))),
                posts(&client, "/v1/auth/mfa/verify", (0..16).map(|_| passkey.clone())),
            ]
            .concat(),
        };
        ada.authenticator.assert(&options);
        let session = one_wins(&at_once(questions).await, &[401]);
        app.client_of(&session).get("/v1/authenticated").await.assert(200);
    }
    assert_eq!(sessions(&app).await - before, 4);
    // One of the recovery codes was used for the second, and perhaps one for the last.
    let left = ada.mfa().await["recoveryCodesRemaining"].as_i64().unwrap();
    assert!((8..=9).contains(&left), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_logins_with_one_recovery_code_one_succeeds() {
    let app = app().await;
    let ada = app.with_totp("ada").await;
    let pendings = pend_many(&app, "ada").await;
    let before = sessions(&app).await;
    let bodies = pendings.iter().map(|pending| json!({ "pendingToken": pending.token, "code": ada.codes[3] }));
    let answers = at_once(posts(&app.anonymous(), "/v1/auth/mfa/recovery", bodies)).await;
    assert_eq!(one_wins(&answers, &[401])["recoveryCodesRemaining"], 9);
    assert_eq!((sessions(&app).await - before, ada.mfa().await["recoveryCodesRemaining"].clone()), (1, json!(9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_logins_with_one_totp_code_one_succeeds() {
    let app = app().await;
    let ada = app.with_totp("ada").await;
    let pendings = pend_many(&app, "ada").await;
    let (before, code) = (sessions(&app).await, ada.code());
    let bodies = pendings.iter().map(|pending| json!({ "pendingToken": pending.token, "code": code }));
    one_wins(&at_once(posts(&app.anonymous(), "/v1/auth/mfa/totp", bodies)).await, &[401]);
    assert_eq!(sessions(&app).await - before, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_uses_of_one_proof_one_succeeds() {
    let app = app().await;
    let mut ada = app.with_both("ada").await;
    let proofs = [ada.totp_proof(), ada.passkey_proof().await];
    for proof in proofs {
        let bodies = (0..MANY).map(|_| json!({ "stepUp": proof }));
        one_wins(&at_once(posts(&ada.session, "/v1/mfa/recovery-codes", bodies)).await, &[403]);
    }
    // One code for a login and a proof concurrently.
    let pending = app.pend("ada").await;
    let code = ada.code();
    let questions = [
        posts(&app.anonymous(), "/v1/auth/mfa/totp", [json!({ "pendingToken": pending.token, "code": code })]),
        posts(&ada.session, "/v1/mfa/recovery-codes", [json!({ "stepUp": { "type": "totp", "code": code } })]),
    ];
    one_wins(&at_once(questions.concat()).await, &[401, 403]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_first_factors_one_shows_recovery_codes() {
    let app = app().await;
    let mut ada = app.without_factor("ada").await;
    let options = ada.registration_options().await;
    let response = ada.authenticator.register(&options);
    let totp = ada.set_up_totp().await;
    let questions = [
        posts(&ada.session, "/v1/mfa/passkeys/register/verify", (0..MANY / 2).map(|_| json!({ "response": response }))),
        posts(&ada.session, "/v1/mfa/totp/confirm", (0..MANY / 2).map(|_| json!({ "code": totp.code(app.clock.now()) }))),
    ];
    let answers = at_once(questions.concat()).await;
    let answer = one_wins(&answers, &[403]);
    assert_eq!(answer["recoveryCodes"].as_array().unwrap().len(), 10);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaEnabled"], &mfa["recoveryCodesRemaining"]), (&json!(true), &json!(10)));
    assert_eq!(mfa["methods"].as_array().unwrap().len(), 2, "one factor and its codes: {mfa}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_responses_to_one_passwordless_challenge_one_succeeds() {
    let app = app().await;
    let mut ada = app.with_passkey("ada").await;
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    let response = ada.authenticator.assert(&asked["options"]);
    let before = sessions(&app).await;
    let bodies = (0..MANY).map(|_| json!({ "challengeId": asked["challengeId"], "response": response }));
    one_wins(&at_once(posts(&app.anonymous(), "/v1/auth/passkey/verify", bodies)).await, &[401]);
    assert_eq!(sessions(&app).await - before, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_concurrent_assertions_with_one_signature_count_one_succeeds() {
    let app = app().await;
    let mut ada = app.with_passkey("ada").await;
    // Copies of one authenticator, which all sign with the same counter.
    let mut bodies = Vec::new();
    for _ in 0..MANY {
        let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
        let response = ada.authenticator.clone().assert(&asked["options"]);
        bodies.push(json!({ "challengeId": asked["challengeId"], "response": response }));
    }
    one_wins(&at_once(posts(&app.anonymous(), "/v1/auth/passkey/verify", bodies)).await, &[401]);
    let asked = app.anonymous().post("/v1/auth/passkey/options", json!({})).await.assert(200);
    ada.authenticator.assert(&asked["options"]);
    let body = json!({ "challengeId": asked["challengeId"], "response": ada.authenticator.assert(&asked["options"]) });
    app.anonymous().post("/v1/auth/passkey/verify", body).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_removals_proven_by_the_other_factor_one_succeeds() {
    let app = app().await;
    let mut ada = app.with_both("ada").await;
    let id = ada.passkeys().await[0]["id"].as_str().unwrap().to_owned();
    let (totp, passkey) = (ada.totp_proof(), ada.passkey_proof().await);
    let questions = vec![
        (ada.session.clone(), Method::DELETE, "/v1/mfa/totp".to_owned(), json!({ "stepUp": passkey })),
        (ada.session.clone(), Method::DELETE, format!("/v1/mfa/passkeys/{id}"), json!({ "stepUp": totp })),
    ];
    let answers = at_once(questions).await;
    // The second removal used the factor that the first has removed.
    assert_eq!(one_wins(&answers, &[403])["mfaEnabled"], true);
    answers.iter().filter(|answer| answer.status == 403).for_each(needs_step_up);
    let mfa = ada.mfa().await;
    assert_eq!((&mfa["mfaEnabled"], &mfa["recoveryCodesRemaining"]), (&json!(true), &json!(10)));
    let winner = answers.iter().find(|answer| answer.status == 200).unwrap();
    let left = if winner.asked.ends_with("/v1/mfa/totp") { "passkey" } else { "totp" };
    assert_eq!(mfa["methods"], json!([left, "recovery_code"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_of_fifty_concurrent_wrong_attempts_are_checked() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_POSTS", "10000/10m")).await;
    let ada: Holder = app.with_totp("ada").await;
    let wrong = json!({ "type": "totp", "code": ada.wrong_code() });
    let answers = at_once(posts(&ada.session, "/v1/mfa/recovery-codes", (0..MANY).map(|_| json!({ "stepUp": wrong })))).await;
    let told = answers.iter().filter(|answer| answer.status == 403).count();
    for answer in answers.iter().filter(|answer| answer.status != 403) {
        limited(answer);
    }
    assert_eq!(told, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_of_fifty_concurrent_wrong_attempts_at_a_pending_login_count() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_POSTS", "10000/10m")).await;
    let ada = app.with_totp("ada").await;
    let pending = app.pend("ada").await;
    let wrong = json!({ "pendingToken": pending.token, "code": ada.wrong_code() });
    let answers = at_once(posts(&app.anonymous(), "/v1/auth/mfa/totp", (0..MANY).map(|_| wrong.clone()))).await;
    assert!(answers.iter().all(|answer| answer.status == 401), "the sixth is refused");
    pending.totp(&ada.code()).await.refused(401);
    // Five of the account's ten attempts are left.
    let next = app.pend("ada").await;
    for _ in 0..4 {
        next.totp(&ada.wrong_code()).await.refused(401);
    }
    next.totp(&ada.code()).await.assert(200);
}
