//! Invalid bodies: each invalid member is named, nothing is stored, and none causes a 500.

use reqwest::Method;
use serde_json::{Value, json};
use tests::{Answer, Client};

use super::participants::{CLI_FLOWS, Ceremony, CliFlow, ProofKey, REDIRECT, ada, ada_with, approve, many, members, read, start};

const TEXTS: [&str; 5] = ["deviceId", "deviceName", "clientName", "clientVersion", "clientPlatform"];

#[track_caller]
fn named(answer: &Answer, names: &[&str]) {
    let refusal = answer.refused(400);
    let found: Vec<&str> = refusal.split("; ").filter_map(|fault| fault.split_once(": ").map(|(name, _)| name)).collect();
    assert_eq!(found, names, "{refusal}");
    assert!(!refusal.contains("confidential"), "a refusal does not echo values: {refusal}");
}

async fn begin(flow: CliFlow, cli: &Client, more: &Value) -> Answer {
    start(flow, cli, &ProofKey::new(), more).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_is_named_at_once() {
    let (app, _) = ada_with(many()).await;
    let cli = app.anonymous();
    let needed = ["codeChallenge", "codeChallengeMethod", "redirectUri"];
    named(&cli.post("/v1/auth/cli/authorizations", json!({})).await, &needed);
    for bad in [json!(5), json!(true), json!(["confidential"]), json!({ "is": "confidential" })] {
        let all = [&needed[..], &["state"], &TEXTS[..]].concat();
        let body: Value = all.iter().map(|name| ((*name).to_owned(), bad.clone())).collect();
        named(&cli.post("/v1/auth/cli/authorizations", body.clone()).await, &all);
        let body: Value = TEXTS.iter().map(|name| ((*name).to_owned(), bad.clone())).collect();
        named(&cli.post("/v1/auth/cli/device", body).await, &TEXTS);
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM cli_authorizations").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_has_43_characters_and_one_method() {
    let (app, _) = ada_with(many()).await;
    let cli = app.anonymous();
    let sound = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    let with = |last: &str| format!("{}{last}", &sound[..42]);
    let wrong = [
        String::new(),
        sound[..42].to_owned(),
        format!("{sound}A"),
        format!("{sound}="),
        with("="),
        with("+"),
        with("/"),
        with(" "),
        with("."),
        "ü".repeat(43),
        "A".repeat(9_000),
    ];
    for challenge in wrong {
        named(&begin(CliFlow::Browser, &cli, &json!({ "codeChallenge": challenge })).await, &["codeChallenge"]);
    }
    for method in ["plain", "s256", "S256 ", "S512", ""] {
        named(&begin(CliFlow::Browser, &cli, &json!({ "codeChallengeMethod": method })).await, &["codeChallengeMethod"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_limited_in_length_and_have_no_control_characters() {
    let (app, dashboard) = ada_with(many()).await;
    let cli = app.anonymous();
    for flow in CLI_FLOWS {
        for name in TEXTS {
            for sound in ["x".repeat(255), "ü".repeat(255), "Ada's laptop <script>".to_owned(), "Ада 🚀".to_owned()] {
                let ceremony = Ceremony::begin_with(flow, &cli, &json!({ name: sound })).await;
                if name != "deviceId" {
                    assert_eq!(read(&dashboard, ceremony.id()).await.assert(200)[name], sound);
                }
            }
            for wrong in
                ["x".repeat(256), "a\nb".to_owned(), "a\0b".to_owned(), "\u{7f}".to_owned(), "\u{85}".to_owned(), "\u{1b}[2J".to_owned()]
            {
                named(&begin(flow, &cli, &json!({ name: wrong })).await, &[name]);
            }
        }
    }
    for wrong in ["x".repeat(513), "ü".repeat(513)] {
        named(&begin(CliFlow::Browser, &cli, &json!({ "state": wrong })).await, &["state"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_version_header_is_ignored() {
    let (app, dashboard) = ada().await;
    let cli = app.anonymous();
    for version in [&b"\xff\xfe"[..], &[b'x'; 300], b"", b"a\tb"] {
        let request = super::participants::starting(CliFlow::Browser, &cli, &ProofKey::new(), &json!({}));
        let answer = cli.send(request.header("x-svc-cli-version", version)).await;
        match answer.status.as_u16() {
            201 => {
                let shown = read(&dashboard, answer.json()["authorizationId"].as_str().unwrap()).await.assert(200);
                let shown = shown.get("clientVersion").map(|version| version.as_str().unwrap().to_owned()).unwrap_or_default();
                assert!(shown.chars().count() <= 255 && !shown.chars().any(char::is_control), "{shown:?}");
            }
            _ => named(&answer, &["X-Svc-CLI-Version"]),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_json_of_a_bounded_size() {
    let (_app, dashboard) = ada_with(many()).await;
    let sound = [
        (
            "/v1/auth/cli/authorizations",
            json!({ "codeChallenge": ProofKey::new().challenge, "codeChallengeMethod": "S256", "redirectUri": REDIRECT }),
        ),
        ("/v1/auth/cli/device", json!({})),
        ("/v1/auth/cli/token", json!({ "grantType": "device_code", "deviceCode": "A".repeat(43) })),
        ("/v1/cli/authorizations/resolve", json!({ "userCode": "BCDF-GHJK" })),
    ];
    for (path, body) in sound {
        let send = async |kind: &str, body: Vec<u8>| {
            dashboard.send(dashboard.request(Method::POST, path).header("content-type", kind).body(body)).await
        };
        let text = body.to_string();
        let filled = |size: usize| format!("{text}{}", " ".repeat(size - text.len())).into_bytes();
        let status = send("application/json", filled(10_240)).await.status.as_u16();
        assert!([201, 400, 404].contains(&status), "{path}: {status}");
        send("application/json", filled(10_241)).await.refused(413);
        send("text/plain", text.clone().into_bytes()).await.refused(415);
        // The content type of OAuth itself; this service accepts only JSON.
        send("application/x-www-form-urlencoded", b"grantType=device_code".to_vec()).await.refused(415);
        for malformed in [&b"{"[..], b"[]", b"5", b"null", b"{\"a\":1}}", b"\xff"] {
            let refusal = send("application/json", malformed.to_vec()).await.refused(400);
            // CLIs expect an error code there, whatever was wrong.
            assert_eq!(refusal == "invalid_request", path == "/v1/auth/cli/token", "{path}: {refusal}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unusual_values_never_cause_a_500() {
    let (app, dashboard) = ada_with(many()).await;
    let cli = app.anonymous();
    let odd = ["\0", "\u{1}", "\u{202e}", "\u{fffd}", "😀", "'; DROP TABLE accounts; --", "${x}", "../../etc/passwd"];
    for text in odd {
        for flow in CLI_FLOWS {
            for name in ["state", "codeChallenge", "redirectUri"].iter().chain(&TEXTS) {
                let answer = begin(flow, &cli, &json!({ *name: text })).await;
                assert!(answer.status.is_success() || answer.status.as_u16() == 400, "{name} {text:?}: {}", answer.text());
            }
        }
        for (name, kind) in [("code", "authorization_code"), ("deviceCode", "device_code")] {
            let grant = json!({ "grantType": kind, name: text, "codeVerifier": "A".repeat(43), "redirectUri": text });
            cli.post("/v1/auth/cli/token", grant).await.refused(400);
        }
        let status = dashboard.post("/v1/cli/authorizations/resolve", json!({ "userCode": text })).await.status.as_u16();
        assert!([400, 404].contains(&status), "{text:?}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_500_reveals_nothing() {
    let (app, dashboard) = ada_with(many()).await;
    let cli = app.anonymous();
    let mut ceremonies = Vec::new();
    for flow in CLI_FLOWS {
        let mut ceremony = Ceremony::begin(flow, &cli).await;
        ceremony.approve(&dashboard).await;
        ceremonies.push(ceremony);
    }
    app.change("ALTER TABLE cli_authorizations RENAME TO damaged", &[]).await;
    let mut answers = vec![approve(&dashboard, ceremonies[0].id()).await];
    for (flow, ceremony) in CLI_FLOWS.into_iter().zip(&ceremonies) {
        answers.extend([begin(flow, &cli, &json!({})).await, ceremony.exchange().await]);
    }
    for answer in answers {
        assert_eq!(answer.refused(500), "internal error", "{}", answer.asked);
        assert_eq!(members(&answer.json()), ["error", "requestId"]);
    }
    // A failed request consumed nothing.
    app.change("ALTER TABLE damaged RENAME TO cli_authorizations", &[]).await;
    for ceremony in ceremonies {
        ceremony.exchange().await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_in_the_openapi_document() {
    let (app, _) = ada().await;
    let document = app.anonymous().get("/v1/openapi.json").await.assert(200);
    let decision = &[200, 401, 403, 404, 409, 500][..];
    for (operation, statuses) in [
        ("post /v1/auth/cli/authorizations", &[201, 400, 413, 415, 429, 500][..]),
        ("post /v1/auth/cli/device", &[201, 400, 413, 415, 429, 500]),
        ("post /v1/auth/cli/token", &[200, 400, 413, 415, 429, 500]),
        ("get /v1/cli/authorizations/{authorization}", &[200, 401, 403, 404, 500]),
        ("post /v1/cli/authorizations/{authorization}/approve", decision),
        ("post /v1/cli/authorizations/{authorization}/deny", decision),
        ("post /v1/cli/authorizations/resolve", &[200, 400, 401, 403, 404, 413, 415, 429, 500]),
        ("get /v1/cli/devices", &[200, 401, 403, 500]),
        ("delete /v1/cli/devices/current", &[204, 401, 403, 404, 500]),
        ("delete /v1/cli/devices/{credential}", &[204, 401, 403, 404, 500]),
    ] {
        let (method, path) = operation.split_once(' ').unwrap();
        let described = &document["paths"][path][method];
        assert!(described.is_object(), "{operation}");
        for status in statuses {
            assert!(members(&described["responses"]).contains(&status.to_string().as_str()), "{operation}: {status}");
        }
    }
    let token = document["paths"]["/v1/auth/cli/token"]["post"].to_string();
    for word in [
        "authorization_pending",
        "slow_down",
        "access_denied",
        "expired_token",
        "invalid_grant",
        "invalid_request",
        "unsupported_grant_type",
    ] {
        assert!(token.contains(word), "{word} is in the description of the exchange");
    }
}
