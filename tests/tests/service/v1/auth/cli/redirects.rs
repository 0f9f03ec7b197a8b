//! Allowed redirects: the loopback interface by literal IP address with a port, and nothing else (RFC 8252, section 7.3).

use serde_json::{Value, json};
use tests::Answer;

use super::participants::{Ceremony, CliFlow, ProofKey, ada_with, deny, many, refused, start};

/// Accepted and returned unchanged.
const ACCEPTED: &[&str] = &[
    "http://127.0.0.1:1",
    "http://127.0.0.1:65535",
    "http://127.0.0.1:8080/",
    // URL parsers drop the default port of the scheme.
    "http://127.0.0.1:80",
    "http://127.0.0.1:80/callback",
    "http://127.0.0.1:443/callback",
    "http://127.0.0.1:49152/callback",
    "http://127.0.0.1:49152/callback/",
    "http://127.0.0.1:49152/a/deep/path",
    "http://127.0.0.1:49152//two//slashes",
    "http://127.0.0.1:49152/call%20back",
    "http://127.0.0.1:49152/%e2%82%ac",
    "http://127.0.0.1:49152/~user/a-b_c.d",
    "http://127.0.0.1:49152/a;b=c,d!$&'()*+:",
    "http://127.0.0.1:49152/user@example.com",
    "http://[::1]:1",
    "http://[::1]:65535/",
    "http://[::1]:80/callback",
    "http://[::1]:49152/callback",
];

/// Refused.
const REFUSED: &[&str] = &[
    // Not a URL, or only a part of one.
    "",
    " ",
    "/callback",
    "127.0.0.1:49152",
    "//127.0.0.1:49152/callback",
    "http:",
    "http://",
    "http:///callback",
    "http:127.0.0.1:49152",
    "http:/127.0.0.1:49152",
    "http:\\\\127.0.0.1:49152",
    "http://:49152/",
    // Other schemes.
    "https://127.0.0.1:49152/callback",
    "ftp://127.0.0.1:49152/",
    "ws://127.0.0.1:49152/",
    "file:///etc/passwd",
    "javascript:alert(1)//127.0.0.1:49152",
    "data:text/html,127.0.0.1:49152",
    "com.example.app:/callback",
    "blob:http://127.0.0.1:49152/",
    "view-source:http://127.0.0.1:49152/",
    // Hostnames, even if they resolve to loopback.
    "http://localhost:49152/callback",
    "http://LOCALHOST:49152/callback",
    "http://localhost.:49152/",
    "http://example.com:49152/callback",
    "http://127.0.0.1.example.com:49152/",
    "http://127.0.0.1.nip.io:49152/",
    "http://example.com/127.0.0.1:49152",
    "http://127.0.0.1.:49152/",
    "http://127.0.0.1%2eexample.com:49152/",
    "http://%31%32%37.0.0.1:49152/",
    // Other IP addresses, even loopback ones.
    "http://127.0.0.2:49152/",
    "http://0.0.0.0:49152/",
    "http://10.0.0.1:49152/",
    "http://192.168.0.1:49152/",
    "http://169.254.169.254:80/",
    "http://[::]:49152/",
    "http://[::2]:49152/",
    "http://[fe80::1]:49152/",
    "http://[::1%25lo]:49152/",
    "http://[::ffff:127.0.0.1]:49152/",
    "http://[::127.0.0.1]:49152/",
    // Other spellings of the same address.
    "http://127.1:49152/",
    "http://127.0.1:49152/",
    "http://2130706433:49152/",
    "http://0x7f000001:49152/",
    "http://0x7f.0.0.1:49152/",
    "http://0177.0.0.1:49152/",
    "http://127.000.000.001:49152/",
    "http://１２７.0.0.1:49152/",
    "http://127。0。0。1:49152/",
    "http://[0:0:0:0:0:0:0:1]:49152/",
    "http://[0000::1]:49152/",
    "http://[::0001]:49152/",
    "http://::1:49152/",
    "http://[::1:49152/",
    "http://::1]:49152/",
    "http://[::1]example.com:49152/",
    "http://[127.0.0.1]:49152/",
    // Ports.
    "http://127.0.0.1",
    "http://127.0.0.1/",
    "http://127.0.0.1:",
    "http://127.0.0.1:/callback",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:65536/",
    "http://127.0.0.1:99999999999999999999/",
    "http://127.0.0.1:-1/",
    "http://127.0.0.1:+80/",
    "http://127.0.0.1:8080x/",
    "http://127.0.0.1:80:80/",
    "http://127.0.0.1: 80/",
    "http://127.0.0.1:８０/",
    "http://[::1]/",
    "http://[::1]:/",
    "http://[::1]:0/",
    // Credentials, and characters that hide the host.
    "http://ada@127.0.0.1:49152/",
    "http://ada:secret@127.0.0.1:49152/",
    "http://@127.0.0.1:49152/",
    "http://:@127.0.0.1:49152/",
    "http://127.0.0.1:49152@example.com/",
    "http://127.0.0.1:49152@example.com:80/",
    "http://127.0.0.1:49152\\@example.com/",
    "http://127.0.0.1:49152%40example.com/",
    "http://example.com:49152\\@127.0.0.1:49152/",
    // Queries and fragments, even empty: the redirect adds its own query.
    "http://127.0.0.1:49152/?",
    "http://127.0.0.1:49152?",
    "http://127.0.0.1:49152/?x=y",
    "http://127.0.0.1:49152?x=y",
    "http://127.0.0.1:49152/#",
    "http://127.0.0.1:49152#",
    "http://127.0.0.1:49152/#fragment",
    "http://127.0.0.1:49152/callback?#",
    // Characters that parsers strip or normalize.
    " http://127.0.0.1:49152/",
    "http://127.0.0.1:49152/ ",
    "http://127.0.0.1:49152/a b",
    "http://127.0.0.1:49152/\t",
    "ht\ntp://127.0.0.1:49152/",
    "http://127.0.0.1:49152/\r\nLocation: http://example.com/",
    "http://127.0.0.1:49\t152/",
    "http://127.0.0.1:49152/\u{0}",
    "http://127.0.0.1:49152/\u{7f}",
    "http://127.0.0.1:49152/ü",
    "http://127.0.0.1:49152/\u{202e}",
    "http://127.0.0.1:49152\\callback",
    "http://127.0.0.1:49152/call\\back",
    "http://127.0.0.1:49152/\"><script>",
    "http://127.0.0.1:49152/%",
    "http://127.0.0.1:49152/%zz",
    "http://127.0.0.1:49152/%2",
];

async fn register(cli: &tests::Client, redirect: &Value) -> Answer {
    start(CliFlow::Browser, cli, &ProofKey::new(), &json!({ "redirectUri": redirect })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn loopback_redirects_are_accepted_and_returned_unchanged() {
    let (app, dashboard) = ada_with(many()).await;
    for redirect in ACCEPTED {
        let told = json!({ "redirectUri": redirect, "state": "xyz" });
        let denied = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &told).await;
        let decided = deny(&dashboard, denied.id()).await.assert(200);
        assert_eq!(decided["redirectUri"], format!("{redirect}?error=access_denied&state=xyz"));
        let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &told).await;
        ceremony.approve(&dashboard).await;
        ceremony.exchange().await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_other_redirects_are_refused_naming_the_member() {
    let (app, _) = ada_with(many()).await;
    assert!(ACCEPTED.len() + REFUSED.len() >= 40);
    for redirect in REFUSED {
        let refusal = register(&app.anonymous(), &json!(redirect)).await;
        let text = refusal.refused(400);
        assert!(text.starts_with("redirectUri: ") && !text.contains("; "), "{redirect:?}: {text}");
    }
    let text = register(&app.anonymous(), &json!("http://confidential.example:49152/")).await.refused(400);
    assert!(!text.contains("confidential"), "nothing of it is echoed: {text}");
    let long = format!("http://127.0.0.1:49152/{}", "a".repeat(9_000));
    for odd in [json!(null), json!(49_152), json!(true), json!(["http://127.0.0.1:49152/"]), json!({}), json!(long)] {
        let text = register(&app.anonymous(), &odd).await.refused(400);
        assert!(text.starts_with("redirectUri: "), "{text}");
    }
    assert_eq!(app.number("SELECT COUNT(*) FROM cli_authorizations").await, 0, "a refused request stores nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_equivalent_redirect_in_another_spelling_is_refused() {
    let (app, dashboard) = ada_with(many()).await;
    for (registered, shown) in [
        ("http://127.0.0.1:80", "http://127.0.0.1:80/"),
        ("http://127.0.0.1:80/a", "http://127.0.0.1/a"),
        ("http://127.0.0.1:8080/%7Euser", "http://127.0.0.1:8080/~user"),
        ("http://127.0.0.1:8080/%e2%82%ac", "http://127.0.0.1:8080/%E2%82%AC"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a?code=x"),
        ("http://[::1]:8080/a", "http://[0:0:0:0:0:0:0:1]:8080/a"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/A"),
    ] {
        let mut ceremony = Ceremony::begin_with(CliFlow::Browser, &app.anonymous(), &json!({ "redirectUri": registered })).await;
        ceremony.approve(&dashboard).await;
        refused(&ceremony.exchange_with("redirectUri", json!(shown)).await, "invalid_grant");
    }
}
