//! Logins through the Worker: limits apply to the client's address, not the Worker's.

use reqwest::Method;
use serde_json::json;
use tests::edge::EdgeApp;
use tests::people::{PASSWORD, login};

#[tokio::test(flavor = "multi_thread")]
async fn failures_from_one_address_do_not_limit_another() {
    let app = EdgeApp::spawn().await;
    for name in ["ada", "bob"] {
        app.sign_up(name).await;
    }
    let client = app.anonymous();
    // Cloudflare overwrites this header; its local runtime accepts it from the client, which simulates clients at several addresses.
    let log_in = async |address: &str, email: &str, password: &str| {
        let request = client.request(Method::POST, "/v1/auth/login").json(&login(email, password));
        client.send(request.header("cf-connecting-ip", address).header("x-forwarded-for", "192.0.2.1")).await
    };
    // Each guess is for another account, so that only the address is limited.
    for number in 0..5 {
        log_in("203.0.113.7", &format!("somebody{number}@example.com"), "a wrong password").await.refused(401);
        log_in(&format!("2001:db8:1:2::{number}"), &format!("somebody{number}@example.com"), "a wrong password").await.refused(401);
    }
    for address in ["203.0.113.7", "2001:db8:1:2:ffff::9"] {
        let refused = log_in(address, "ada@example.com", PASSWORD).await;
        refused.refused(429);
        let seconds = refused.header("retry-after").parse::<u64>().unwrap();
        assert!((1..=900).contains(&seconds), "{seconds}");
        assert_eq!(refused.json()["retryAfterSeconds"], json!(seconds));
    }
    for address in ["203.0.113.8", "2001:db8:1:3::1"] {
        let session = log_in(address, "ada@example.com", PASSWORD).await.assert(200);
        let ada = client.with_token(Some(session["accessKey"].as_str().unwrap().to_owned()));
        let sessions = ada.get("/v1/account/sessions").await.assert(200)["sessions"].as_array().unwrap().clone();
        let current = sessions.iter().find(|session| session["isCurrent"] == true).unwrap();
        assert_eq!(current["createdBy"], address, "the session has the client's address");
    }
    log_in("203.0.113.8", "bob@example.com", PASSWORD).await.assert(200);

    // All networks of a site together get ten times the limit of one: five and forty-five.
    for network in 0x10..0x10 + 45 {
        let address = format!("2001:db8:1:{network:x}::1");
        log_in(&address, &format!("nobody{network}@example.com"), "a wrong password").await.refused(401);
    }
    log_in("2001:db8:1:3::1", "bob@example.com", PASSWORD).await.refused(429);
    log_in("2001:db8:2::1", "bob@example.com", PASSWORD).await.assert(200);
}
