//! Complete user journeys, with a mouse, with the keyboard alone, and without JavaScript.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::people::PASSWORD;
use tests::totp::STEP;
use tests::wait::until;
use tests::{Client, InputMethod, TestApp, Visit};

use crate::dashboard::terminal::Terminal;
use crate::dashboard::{codes, scan, sign_out, sign_up};

const VERIFIER: &str = "a-verifier-of-the-test-that-is-long-enough-for-rfc-7636";

/// Longer than a session stays fresh.
const LONG: i64 = 16 * 60_000;

/// Runs a journey once with each kind of input.
async fn with_all(journey: impl AsyncFn(&TestApp, &Visit)) {
    for input_method in InputMethod::ALL {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, input_method).await;
        journey(&app, &visit).await;
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{input_method:?}");
    }
}

/// Signed in as `ada@example.com`.
async fn signed_in(app: &TestApp, visit: &Visit) {
    app.register("ada").await;
    visit.open("/dashboard").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_signs_up_sets_up_an_authenticator_app_and_signs_in_with_its_codes() {
    with_all(async |app, visit| {
        sign_up(app, visit).await;
        visit.press("Set it up now").await;
        visit.is_at("Two-factor authentication off").await;
        visit.press("Set up authenticator app").await;
        let totp = scan(visit).await;
        visit.fill("code", "12").await;
        visit.press("Confirm").await;
        visit.sees("The code is incorrect").await;
        visit.fill("code", &totp.code(app.clock.now())).await;
        visit.press("Confirm").await;
        let codes = codes(visit).await;
        keep(visit, &codes).await;
        visit.press("I have saved them").await;
        visit.is_at("Two-factor authentication on").await;

        sign_out(visit).await;
        visit.type_password("ada").await;
        visit.is_at("Two-factor authentication").await;
        app.clock.advance(STEP);
        visit.fill("code", &totp.code(app.clock.now())).await;
        visit.press("Sign in").await;
        visit.is_at("Apps").await;

        sign_out(visit).await;
        visit.type_password("ada").await;
        visit.press("Use a recovery code").await;
        visit.is_at("Recovery code").await;
        visit.fill("code", &codes[4]).await;
        visit.press("Sign in").await;
        visit.is_at("Apps").await;
        visit.open("/dashboard/security").await;
        visit.sees("9 left").await;
        for asked in visit.asked().await {
            assert!(!asked.contains(codes[4].as_str()), "{asked}");
        }
    })
    .await;
}

/// Copies the codes (with JavaScript only), and downloads them.
async fn keep(visit: &Visit, codes: &[String]) {
    if visit.input_method != InputMethod::NoScripts {
        visit.press("Copy").await;
        visit.sees("Copied").await;
    }
    visit.press("Download").await;
    let file = visit.browser.downloads().join("updraft-recovery-codes.txt");
    let text = until("the download", async || std::fs::read_to_string(&file).ok().filter(|text| !text.is_empty())).await;
    assert!(codes.iter().all(|code| text.contains(code.as_str())), "{text}");
}

async fn by_browser(cli: &Client, terminal: &Terminal) -> Value {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
    let body = json!({
        "codeChallenge": challenge, "codeChallengeMethod": "S256", "redirectUri": terminal.address, "state": "a & b", "deviceName": "Ada's laptop",
    });
    cli.post("/v1/auth/cli/authorizations", body).await.assert(201)
}

#[tokio::test(flavor = "multi_thread")]
async fn clis_with_a_browser_are_approved_and_denied() {
    with_all(async |app, visit| {
        signed_in(app, visit).await;
        let cli = app.anonymous();
        app.clock.advance(LONG);
        for decision in ["Approve", "Deny"] {
            let terminal = Terminal::listen().await;
            let request = by_browser(&cli, &terminal).await;
            visit.open(request["authorizeUrl"].as_str().unwrap()).await;
            visit.is_at("Authorize Updraft CLI?").await;
            visit.sees("Ada's laptop").await;
            visit.press(decision).await;
            if decision == "Approve" {
                visit.is_at("Confirm it's you").await;
                visit.fill("password", PASSWORD).await;
                visit.press("Confirm").await;
            }
            if visit.input_method == InputMethod::NoScripts {
                visit.press("Back to your terminal").await;
            }
            visit.sees("The terminal has its answer").await;
            let answer = terminal.answer().await;
            assert_eq!(answer["state"], "a & b", "{answer:?}");
            if decision == "Deny" {
                assert_eq!(answer["error"], "access_denied", "{answer:?}");
                continue;
            }
            let grant = json!({
                "grantType": "authorization_code", "code": answer["code"], "codeVerifier": VERIFIER, "redirectUri": terminal.address,
            });
            let given = cli.post("/v1/auth/cli/token", grant).await.assert(200);
            assert_eq!(given["account"]["email"], "ada@example.com");
        }
        visit.open("/dashboard/sessions").await;
        visit.sees("Ada's laptop").await;
        visit.press("Revoke Ada's laptop").await;
        visit.sees("Ada's laptop was signed out.").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clis_with_a_code_are_approved_and_denied() {
    with_all(async |app, visit| {
        app.register("ada").await;
        let cli = app.anonymous();
        let start = async || cli.post("/v1/auth/cli/device", json!({ "deviceName": "build server" })).await.assert(201);
        let poll = async |request: &Value| {
            app.clock.advance(5_000);
            cli.post("/v1/auth/cli/token", json!({ "grantType": "device_code", "deviceCode": request["deviceCode"] })).await
        };
        // With the link that has the code, after signing in.
        let request = start().await;
        visit.open(request["verificationUriComplete"].as_str().unwrap()).await;
        visit.type_password("ada").await;
        visit.is_at("Enter your code").await;
        assert_eq!(visit.read("#userCode").await, request["userCode"].as_str().unwrap());
        visit.press("Continue").await;
        visit.is_at("Authorize Updraft CLI?").await;
        assert_eq!(poll(&request).await.refused(400), "authorization_pending");
        visit.press("Approve").await;
        visit.is_at("CLI authorized").await;
        let given = poll(&request).await.assert(200);
        let key = given["accessKey"].as_str().unwrap().to_owned();
        app.anonymous().with_token(Some(key)).get("/v1/authenticated").await.assert(200);

        // Typed by hand, and denied.
        let request = start().await;
        visit.open(request["verificationUri"].as_str().unwrap()).await;
        visit.fill("userCode", "BCDF-GHJK").await;
        visit.press("Continue").await;
        visit.sees("No CLI is waiting for this code").await;
        visit.fill("userCode", request["userCode"].as_str().unwrap()).await;
        visit.press("Continue").await;
        visit.press("Deny").await;
        visit.is_at("Request denied").await;
        assert_eq!(poll(&request).await.refused(400), "access_denied");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_is_signed_out_while_a_cli_waits_signs_in_and_returns() {
    with_all(async |app, visit| {
        signed_in(app, visit).await;
        let cli = app.anonymous();
        let request = cli.post("/v1/auth/cli/device", json!({ "deviceName": "build server" })).await.assert(201);
        let end = async || {
            let other = app.log_in("ada").await;
            other.delete("/v1/account/sessions?keepCurrent=true").await.assert(200);
        };
        let back = async || {
            visit.sees("You were signed out").await;
            visit.type_password("ada").await;
            visit.is_at("Enter your code").await;
            assert_eq!(visit.read("#userCode").await, request["userCode"].as_str().unwrap());
            visit.press("Continue").await;
            visit.is_at("Authorize Updraft CLI?").await;
        };
        // Signed out while the code is typed.
        visit.open(request["verificationUri"].as_str().unwrap()).await;
        visit.fill("userCode", request["userCode"].as_str().unwrap()).await;
        end().await;
        visit.press("Continue").await;
        back().await;
        // Signed out while the request is shown.
        end().await;
        visit.press("Approve").await;
        back().await;
        visit.press("Approve").await;
        visit.is_at("CLI authorized").await;
        app.clock.advance(5_000);
        let poll = json!({ "grantType": "device_code", "deviceCode": request["deviceCode"] });
        assert_eq!(cli.post("/v1/auth/cli/token", poll).await.assert(200)["account"]["email"], "ada@example.com");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_created_deleted_and_revoked() {
    with_all(async |app, visit| {
        signed_in(app, visit).await;
        let with = |key: &str| app.anonymous().with_token(Some(key.to_owned()));
        visit.press_in_menu("Keys").await;
        visit.is_at("Keys").await;
        visit.press("Create access key").await;
        visit.is_at("New access key").await;
        visit.fill("friendlyName", "laptop").await;
        // After so long, the form asks for the password, and then continues with its input.
        app.clock.advance(LONG);
        visit.press("Create key").await;
        visit.is_at("Confirm it's you").await;
        visit.fill("password", "wrong").await;
        visit.press("Confirm").await;
        visit.sees("The password is incorrect.").await;
        visit.fill("password", PASSWORD).await;
        visit.press("Confirm").await;
        visit.is_at("Your new key").await;
        let key = visit.read("#raw-key").await;
        if visit.input_method != InputMethod::NoScripts {
            visit.press("Copy key").await;
            visit.sees("Copied").await;
        }
        with(&key).get("/v1/apps").await.assert(200);
        for asked in visit.asked().await {
            assert!(!asked.contains("password=") && !asked.contains(&key), "{asked}");
        }
        visit.press("Back to your keys").await;
        visit.press("Delete laptop").await;
        visit.sees("Delete the key laptop?").await;
        visit.press("Delete key").await;
        visit.sees("The key laptop was deleted.").await;
        with(&key).get("/v1/apps").await.refused(401);

        visit.press("Create API key").await;
        visit.fill("name", "build").await;
        visit.press("Create key").await;
        visit.sees("Choose at least one scope.").await;
        visit.tick("scopeRead").await;
        visit.press("Create key").await;
        visit.is_at("Your new key").await;
        let key = visit.read("#raw-key").await;
        with(&key).get("/v1/apps").await.assert(200);
        visit.press("Back to your keys").await;
        visit.press("Revoke build").await;
        visit.sees("Revoke the API key build?").await;
        visit.press("Revoke key").await;
        visit.sees("The API key build was revoked.").await;
        with(&key).get("/v1/apps").await.refused(401);

        visit.open("/dashboard/cli/key?hostname=old%20laptop").await;
        visit.press("Create key").await;
        visit.is_at("Your access key").await;
        let key = visit.read("#raw-key").await;
        with(&key).get("/v1/apps").await.assert(200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_session_is_revoked_and_signed_out() {
    for input_method in InputMethod::ALL {
        let app = TestApp::spawn_for_browsers().await;
        let visit = Visit::start(&app, input_method).await;
        signed_in(&app, &visit).await;
        let other = Visit::start(&app, InputMethod::Mouse).await;
        for button in ["Revoke the session from", "Revoke all other sessions"] {
            // A minute later, so that the buttons have different names.
            app.clock.advance(60_000);
            other.open("/dashboard/keys").await;
            other.type_password("ada").await;
            other.is_at("Keys").await;
            visit.open("/dashboard/sessions").await;
            visit.is_at("Sessions and devices").await;
            let plain = |named: String| named.split_whitespace().collect::<Vec<_>>().join(" ");
            let named = visit.read_all("main button").await.into_iter().map(plain).find(|named| named.starts_with(button));
            visit.press(&named.unwrap()).await;
            visit
                .sees(if button == "Revoke all other sessions" { "1 other session was revoked." } else { "The session was revoked." })
                .await;
            other.press("Create access key").await;
            other.is_at("Sign in").await;
            assert_eq!(other.path().await, "/dashboard/sign-in?next=%2Fdashboard%2Fkeys%2Fnew");
            // The session that revoked the other one continues.
            visit.open("/dashboard/keys").await;
            visit.is_at("Keys").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_reset_with_the_mail() {
    with_all(async |app, visit| {
        app.register("ada").await;
        visit.open("/dashboard/sign-in").await;
        visit.press("Forgot your password?").await;
        visit.is_at("Reset password").await;
        visit.fill("email", "ada@example.com").await;
        visit.press("Send reset link").await;
        visit.sees("If this address has an account, we sent an email.").await;
        let mail = app.last_mail_to("ada@example.com").await;
        visit.open(&mail.link()).await;
        visit.is_at("Choose a new password").await;
        if visit.input_method == InputMethod::NoScripts {
            visit.fill("token", &mail.token()).await;
        }
        let new = "another long passphrase nobody knows";
        visit.fill("password", new).await;
        visit.press("Set password").await;
        visit.is_at("Password changed").await;
        visit.press("Sign in").await;
        visit.is_at("Sign in").await;
        visit.fill("email", "ada@example.com").await;
        visit.fill("password", new).await;
        visit.press("Sign in").await;
        visit.is_at("Apps").await;
        for asked in visit.asked().await {
            assert!(!asked.contains(&mail.token()), "{asked}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_someone_else_registered_is_confirmed_with_the_owners_password() {
    with_all(async |app, visit| {
        let registered = tests::people::login("ada@example.com", "what the stranger thought of first");
        app.anonymous().post("/v1/auth/register", registered).await.assert(202);
        let mail = app.last_mail_to("ada@example.com").await;
        visit.open(&mail.link()).await;
        if visit.input_method == InputMethod::NoScripts {
            visit.fill("token", &mail.token()).await;
        }
        visit.press("Continue").await;
        visit.is_at("Enter your password").await;
        visit.fill("password", tests::people::PASSWORD).await;
        visit.press("Create account").await;
        visit.sees("This is not the password that you signed up with.").await;
        visit.fill("password", tests::people::PASSWORD).await;
        visit.press("Use this password instead").await;
        visit.sees("Your email address is confirmed").await;
        visit.type_password("ada").await;
        visit.is_at("Apps").await;
    })
    .await;
}
