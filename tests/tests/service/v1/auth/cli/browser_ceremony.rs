//! The complete flow through a browser on the same machine (RFC 8252, RFC 7636).

use serde_json::{Value, json};
use tests::SessionOrigin::Dashboard;

use super::participants::{
    Ceremony, CliFlow, ProofKey, REDIRECT, ada, ada_with, approve, authorized_devices, deny, exchange, is_in, many, members, on_redirect,
    read, refused, signed_in, start, status,
};
use super::{DAY, MINUTE};

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_is_authorized_through_the_browser() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous().from("203.0.113.7");
    let told = json!({
        "deviceId": "5d3c", "deviceName": "Ada's laptop", "clientName": "updraft", "clientVersion": "1.2.3", "clientPlatform": "linux x64",
        "state": "xyz",
    });
    let begun = app.clock.now().0;
    let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &cli, &told).await;
    let id = ceremony.id().to_owned();
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4, "it cannot be guessed from its time");
    let page = format!("{}/dashboard/cli/authorize/{id}", app.base);
    assert_eq!(ceremony.started, json!({ "authorizationId": id, "authorizeUrl": page, "expiresAt": begun + 10 * MINUTE }));

    app.clock.advance(1_000);
    let mut shown = json!({
        "authorizationId": id, "mode": "pkce", "status": "pending", "deviceName": "Ada's laptop", "clientName": "updraft",
        "clientVersion": "1.2.3", "clientPlatform": "linux x64", "createdBy": "203.0.113.7", "createdTime": begun,
        "expiresAt": begun + 10 * MINUTE,
    });
    assert_eq!(read(&dashboard, &id).await.assert(200), shown);

    app.clock.advance(1_000);
    let approved = approve(&dashboard, &id).await.assert(200);
    assert_eq!(members(&approved), ["mode", "redirectUri", "status"]);
    assert_eq!((&approved["status"], &approved["mode"]), (&json!("approved"), &json!("pkce")));
    let code = on_redirect(&approved, "code").unwrap();
    assert!(code.len() == 43 && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "256 bits");
    assert_eq!(approved["redirectUri"], format!("{REDIRECT}?code={code}&state=xyz"));
    assert_eq!(authorized_devices(&dashboard).await, Vec::<Value>::new(), "the approval alone signs nobody in");
    assert_eq!(status(&dashboard, &id).await, "approved");

    app.clock.advance(1_000);
    ceremony.grant["code"] = json!(code);
    let answer = ceremony.exchange().await;
    let (given, now) = (answer.assert(200), app.clock.now().0);
    assert_eq!(answer.header("cache-control"), "no-store");
    let (key, credential) = (given["accessKey"].as_str().unwrap(), given["credentialId"].clone());
    assert!(key.starts_with("svc_ss_") && key.len() == 7 + 43, "a session's form");
    assert_eq!(
        given,
        json!({
            "accessKey": key, "tokenType": "Bearer", "credentialId": credential, "expires": now + 90 * DAY,
            "account": { "email": "ada@example.com" },
        })
    );

    let device = signed_in(&cli, &answer);
    assert_eq!(device.get("/v1/account").await.assert(200)["account"]["email"], "ada@example.com");
    device.create_app("demo").await;
    let listed = json!({
        "credentialId": credential, "deviceId": "5d3c", "deviceName": "Ada's laptop", "clientName": "updraft", "clientVersion": "1.2.3",
        "clientPlatform": "linux x64", "credentialOrigin": "cli_browser", "createdBy": "203.0.113.7", "createdTime": now,
        "lastUsedTime": now, "expires": now + 90 * DAY, "isCurrent": true,
    });
    assert_eq!(authorized_devices(&device).await, [listed]);
    let key = device.get(&format!("/v1/access-keys/CLI-{}", credential.as_str().unwrap())).await.assert(200)["accessKey"].clone();
    assert_eq!((&key["isSession"], &key["credentialOrigin"], &key["deviceId"]), (&json!(false), &json!("cli_browser"), &json!("5d3c")));
    shown["status"] = json!("consumed");
    assert_eq!(read(&dashboard, &id).await.assert(200), shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_rfc_7636_is_accepted() {
    let (app, dashboard) = ada().await;
    // Appendix B: the challenge from the RFC, not calculated here.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let key = ProofKey { verifier: verifier.to_owned(), challenge: challenge.to_owned() };
    let started = start(CliFlow::Browser, &app.anonymous(), &key, &json!({})).await.assert(201);
    let approved = approve(&dashboard, started["authorizationId"].as_str().unwrap()).await.assert(200);
    let code = on_redirect(&approved, "code").unwrap();
    let grant = json!({ "grantType": "authorization_code", "code": code, "codeVerifier": verifier, "redirectUri": REDIRECT });
    exchange(&app.anonymous(), &grant).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn verifiers_of_every_length_and_character_in_the_rfc_are_accepted() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    for verifier in ["a".repeat(43), "Z0-._~".repeat(22)[..128].to_owned(), format!("{}-._~", "0123456789".repeat(5))] {
        let key = ProofKey::of(&verifier);
        let started = start(CliFlow::Browser, &cli, &key, &json!({})).await.assert(201);
        let approved = approve(&dashboard, started["authorizationId"].as_str().unwrap()).await.assert(200);
        let code = on_redirect(&approved, "code").unwrap();
        let grant = json!({ "grantType": "authorization_code", "code": code, "codeVerifier": verifier, "redirectUri": REDIRECT });
        exchange(&cli, &grant).await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_state_is_returned_unchanged() {
    let (app, dashboard) = ada_with(many()).await;
    let longest = "ü".repeat(512);
    let states =
        ["xyz", "a b", "a+b", "a&code=stolen&b", "a=b#c", "%26%20%zz", "\"'<>\\", "ü€😀", "http://127.0.0.1/?x=y", longest.as_str()];
    for state in states {
        for decide in ["approve", "deny"] {
            let ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &json!({ "state": state })).await;
            let decided = match decide {
                "approve" => approve(&dashboard, ceremony.id()).await.assert(200),
                _ => deny(&dashboard, ceremony.id()).await.assert(200),
            };
            let redirect = decided["redirectUri"].as_str().unwrap();
            assert!(redirect.starts_with(&format!("{REDIRECT}?")) && redirect.is_ascii(), "{redirect}");
            assert!(!redirect.bytes().any(|byte| byte.is_ascii_control() || b" \"'<>#\\`{}|^".contains(&byte)), "{redirect}");
            // Parsed like browsers and servers do.
            let url = reqwest::Url::parse(redirect).unwrap();
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [if decide == "approve" { "code" } else { "error" }, "state"], "{redirect}");
            assert_eq!(pairs[1].1, state);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_state_the_redirect_has_none() {
    let (app, dashboard) = ada().await;
    let decided = async |approves: bool| {
        let ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &json!({ "state": null })).await;
        let answer = if approves { approve(&dashboard, ceremony.id()).await } else { deny(&dashboard, ceremony.id()).await };
        answer.assert(200)
    };
    let approved = decided(true).await;
    let code = on_redirect(&approved, "code").unwrap();
    assert_eq!(approved["redirectUri"], format!("{REDIRECT}?code={code}"));
    let denied = json!({ "status": "denied", "mode": "pkce", "redirectUri": format!("{REDIRECT}?error=access_denied") });
    assert_eq!(decided(false).await, denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_can_be_sent_in_a_header() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    for (body, header, shown) in [
        (json!({ "clientVersion": "1.0.0" }), Some("2.0.0"), json!("1.0.0")),
        (json!({}), Some("2.0.0"), json!("2.0.0")),
        (json!({ "clientVersion": null }), Some("2.0.0"), json!("2.0.0")),
        (json!({}), None, Value::Null),
    ] {
        for flow in super::participants::CLI_FLOWS {
            let mut request = super::participants::starting(flow, &cli, &ProofKey::new(), &body);
            if let Some(header) = header {
                request = request.header("x-svc-cli-version", header);
            }
            let started = cli.send(request).await.assert(201);
            let read = read(&dashboard, started["authorizationId"].as_str().unwrap()).await.assert(200);
            assert_eq!(read["clientVersion"], shown, "{flow:?} {body} {header:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_may_omit_all_information_about_itself() {
    let (app, dashboard) = ada().await;
    let silent = json!({ "deviceId": null, "deviceName": null, "clientName": null, "clientPlatform": null, "unknown": { "member": 1 } });
    let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &silent).await;
    let shown = read(&dashboard, ceremony.id()).await.assert(200);
    assert_eq!(members(&shown), ["authorizationId", "createdBy", "createdTime", "expiresAt", "mode", "status"]);
    let device = ceremony.log_in(&dashboard).await;
    let listed = authorized_devices(&device).await.remove(0);
    let names = ["createdBy", "createdTime", "credentialId", "credentialOrigin", "expires", "isCurrent", "lastUsedTime"];
    assert_eq!(members(&listed), names);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_belongs_to_one_authorization_request() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let (mut one, mut two) = (Ceremony::begin(CliFlow::Browser, &cli).await, Ceremony::begin(CliFlow::Browser, &cli).await);
    one.approve(&dashboard).await;
    two.approve(&dashboard).await;
    // The other request's verifier is wrong and cancels only the request that the code belongs to.
    refused(&one.exchange_with("code", two.grant["code"].clone()).await, "invalid_grant");
    refused(&two.exchange().await, "invalid_grant");
    one.exchange().await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_credential_belongs_to_the_account_that_approves() {
    let (app, ada) = ada().await;
    let bob = super::participants::person(&app, "bob").await;
    let mut ceremony = Ceremony::begin(CliFlow::Browser, &app.anonymous().from("203.0.113.7")).await;
    read(&ada, ceremony.id()).await.assert(200);
    ceremony.approve(&bob).await;
    // The exchange may come from any address.
    ceremony.cli = ceremony.cli.from("198.51.100.9");
    let given = ceremony.exchange().await;
    assert_eq!(given.assert(200)["account"], json!({ "email": "bob@example.com" }));
    assert!(is_in(&signed_in(&ceremony.cli, &given)).await);
    assert_eq!((authorized_devices(&ada).await.len(), authorized_devices(&bob).await.len()), (0, 1));
    read(&ada, ceremony.id()).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_clis_can_be_authorized_concurrently() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    let mut ceremonies = Vec::new();
    for _ in 0..3 {
        ceremonies.push(Ceremony::begin(CliFlow::Browser, &cli).await);
    }
    for ceremony in ceremonies.iter_mut().rev() {
        ceremony.approve(&dashboard).await;
    }
    for ceremony in &ceremonies {
        assert!(is_in(&signed_in(&cli, &ceremony.exchange().await)).await);
    }
    assert_eq!(authorized_devices(&dashboard).await.len(), 3);
    assert_eq!(app.open_session("ada", Dashboard).await.get("/v1/cli/devices").await.assert(200)["devices"].as_array().unwrap().len(), 3);
}
