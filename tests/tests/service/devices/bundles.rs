//! Bundles by their signed URLs.

use reqwest::Method;
use serde_json::json;
use shared::hash::Sha256Hex;
use shared::signature::{DownloadUrls, download_url};
use shared::time::UnixMillis;
use tests::{Answer, Client, Options, TestApp};

const HOUR: i64 = 3_600_000;

/// A server with a release of these bytes, and the path of its signed URL.
async fn released(bytes: &[u8]) -> (TestApp, Client, String) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = ada.upload("demo", "Staging", bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    let path = package["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    let anonymous = app.anonymous();
    (app, anonymous, path)
}

async fn ask(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = headers.iter().fold(client.request(Method::GET, path), |request, (name, value)| request.header(*name, *value));
    client.send(request).await
}

#[track_caller]
fn has_bundle_headers(answer: &Answer) {
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("content-disposition", "attachment"),
        ("content-security-policy", "sandbox"),
        ("cache-control", "public, max-age=86400, immutable, no-transform"),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", "X-Request-Id"),
        ("access-control-max-age", "86400"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    assert_eq!(answer.optional_header("content-encoding"), None);
    assert!(!answer.header("x-request-id").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_served_with_its_length_and_never_compressed() {
    let bytes = b"console.log('hello');".repeat(10_000);
    let (_app, client, path) = released(&bytes).await;
    for accepted in ["identity", "gzip", "gzip, br, zstd, *"] {
        let answer = ask(&client, &path, &[("accept-encoding", accepted)]).await;
        answer.assert_status(200);
        assert_eq!(answer.body, bytes);
        assert_eq!(answer.header("content-length"), bytes.len().to_string());
        assert_eq!(answer.header("etag"), format!("\"{}\"", Sha256Hex::of(&bytes)));
        assert_eq!(answer.optional_header("transfer-encoding"), None);
        has_bundle_headers(&answer);
    }
    let head = client.send(client.request(Method::HEAD, &path)).await;
    head.assert_status(200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("content-length"), bytes.len().to_string());
    assert_eq!(head.header("etag"), format!("\"{}\"", Sha256Hex::of(&bytes)));
    has_bundle_headers(&head);
    // A trailing slash or a credential makes no difference.
    let (blob, query) = path.split_once('?').unwrap();
    ask(&client, &format!("{blob}/?{query}"), &[("authorization", "Bearer nonsense")]).await.assert_status(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_served_as_in_the_rfc() {
    let bytes: Vec<u8> = (0..1_000_u32).map(|index| u8::try_from(index % 251).unwrap()).collect();
    let (_app, client, path) = released(&bytes).await;
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=100-199", 100, 200),
        ("bytes=999-999", 999, 1_000),
        ("bytes=990-5000", 990, 1_000),
        ("bytes=500-", 500, 1_000),
        ("bytes=-1", 999, 1_000),
        ("bytes=-100", 900, 1_000),
    ] {
        let answer = ask(&client, &path, &[("range", range)]).await;
        answer.assert_status(206);
        assert_eq!(answer.body, bytes[from..to], "{range}");
        assert_eq!(answer.header("content-range"), format!("bytes {from}-{}/1000", to - 1), "{range}");
        assert_eq!(answer.header("content-length"), (to - from).to_string(), "{range}");
        assert_eq!(answer.header("etag"), format!("\"{}\"", Sha256Hex::of(&bytes)));
        has_bundle_headers(&answer);
    }
    // All of it is not a part, and is verified.
    for range in ["bytes=0-", "bytes=-5000", "bytes=0-18446744073709551615"] {
        let answer = ask(&client, &path, &[("range", range)]).await;
        answer.assert_status(200);
        assert_eq!(answer.body, bytes, "{range}");
    }
    for range in ["bytes=1000-", "bytes=1000-1001", "bytes=5000-6000", "bytes=-0"] {
        let answer = ask(&client, &path, &[("range", range)]).await;
        answer.refused(416);
        assert_eq!(answer.header("content-range"), "bytes */1000", "{range}");
        assert_eq!(answer.header("cache-control"), "no-store", "refusals are not cached");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    // Malformed ranges, other units and multiple ranges get the whole bundle, as the RFC allows.
    for range in [
        "bytes=5-4",
        "bytes=a-b",
        "bytes",
        "bytes=",
        "bytes=-",
        "lines=0-1",
        "0-1",
        "bytes=0-1,5-6",
        "bytes=0-0,-1",
        "bytes=+0-+1",
        "bytes=0x0-1",
        "",
    ] {
        let answer = ask(&client, &path, &[("range", range)]).await;
        answer.assert_status(200);
        assert_eq!(answer.body, bytes, "{range}");
        assert_eq!(answer.optional_header("content-range"), None, "{range}");
    }
    // HEAD ignores ranges.
    let head = client.send(client.request(Method::HEAD, &path).header("range", "bytes=0-0")).await;
    head.assert_status(200);
    assert_eq!(head.header("content-length"), "1000");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_bundle_is_answered_304() {
    let bytes = b"script".repeat(100);
    let (_app, client, path) = released(&bytes).await;
    let tag = format!("\"{}\"", Sha256Hex::of(&bytes));
    let (weak, listed) = (format!("W/{tag}"), format!("\"other\", {tag}"));
    for named in [tag.as_str(), weak.as_str(), listed.as_str(), "*"] {
        let answer = ask(&client, &path, &[("if-none-match", named)]).await;
        answer.assert_status(304);
        assert!(answer.body.is_empty());
        assert_eq!(answer.header("etag"), tag);
        assert_eq!(answer.header("cache-control"), "public, max-age=86400, immutable, no-transform");
        // Even for a range request.
        ask(&client, &path, &[("if-none-match", named), ("range", "bytes=0-0")]).await.assert_status(304);
    }
    for named in ["\"other\"", "other", "", tag.trim_matches('"')] {
        let answer = ask(&client, &path, &[("if-none-match", named)]).await;
        answer.assert_status(200);
        assert_eq!(answer.body, bytes, "{named}");
    }
    // A range is sent only if the client has the rest of the same bytes.
    let answer = ask(&client, &path, &[("if-range", &tag), ("range", "bytes=1-2")]).await;
    answer.assert_status(206);
    assert_eq!(answer.body, bytes[1..3]);
    for held in ["\"other\"", weak.as_str(), "Wed, 21 Oct 2015 07:28:00 GMT"] {
        let answer = ask(&client, &path, &[("if-range", held), ("range", "bytes=1-2")]).await;
        answer.assert_status(200);
        assert_eq!(answer.body, bytes, "{held}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_url_is_valid_for_24_to_25_hours_and_stable_within_an_hour() {
    let (app, client, path) = released(b"script").await;
    // To the start of an hour.
    app.clock.advance(HOUR - app.clock.now().0.rem_euclid(HOUR));
    let ada = app.anonymous().with_token(Some(app.access_key("bob", 100 * HOUR).await));
    app.share("ada", "demo", "bob", "Viewer", 5).await;
    let address = async || {
        let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
        history["history"][0]["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned()
    };
    let early = address().await;
    app.clock.advance(HOUR - 1);
    let late = address().await;
    assert_eq!(early, late, "one URL for the hour");
    app.clock.advance(1);
    assert_ne!(address().await, late);
    // `late` was signed a millisecond before, so it stays valid for another 24 hours minus that.
    app.clock.advance(24 * HOUR - 1);
    client.get(&late).await.assert_status(200);
    app.clock.advance(HOUR);
    client.get(&late).await.refused(403);
    client.get(&path).await.refused(403);
    assert_eq!(client.get(&address().await).await.body, b"script");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modified_download_url_is_refused() {
    let (app, client, path) = released(b"script").await;
    let (blob, query) = path.split_once('?').unwrap();
    let (expires, signature) = query.split_once('&').unwrap();
    let time: i64 = expires.strip_prefix("expires=").unwrap().parse().unwrap();
    let flipped: String = signature.strip_prefix("signature=").unwrap().chars().rev().collect();
    let key = shared::hash::BlobKey::from_encoded(blob.rsplit('/').next().unwrap()).unwrap();
    let other = shared::hash::BlobKey { app: key.app.clone(), sha256: Sha256Hex::of(b"another") };
    let folder = blob.rsplit_once('/').unwrap().0;
    for wrong in [
        blob.to_owned(),
        format!("{blob}?{expires}"),
        format!("{blob}?{signature}"),
        format!("{blob}?expires=&signature="),
        format!("{blob}?expires={}&{signature}", time + 1),
        format!("{blob}?expires={}&{signature}", time + HOUR),
        format!("{blob}?expires=0{time}&{signature}"),
        format!("{blob}?expires=%2B{time}&{signature}"),
        format!("{blob}?expires=9223372036854775808&{signature}"),
        format!("{blob}?{expires}&signature={flipped}"),
        format!("{blob}?{expires}&{signature}="),
        format!("{blob}?{expires}&{signature}A"),
        format!("{blob}?{expires}&signature=%00"),
        format!("{folder}/{}?{query}", other.encoded()),
        format!("{blob}A?{query}"),
        format!("{folder}/x?{query}"),
        format!("{folder}/%FF?{query}"),
        format!("{folder}/..%2F..%2Fupdraft.db?{query}"),
    ] {
        let answer = client.get(&wrong).await;
        assert!([403, 404].contains(&answer.status.as_u16()), "{wrong}: {}", answer.text());
        if !wrong.contains("%FF") && !wrong.contains("%2F") {
            answer.refused(403);
        }
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{wrong}");
    }
    // Signed with another secret, and signed for bytes that do not exist.
    let now = app.clock.now();
    let forged = download_url(&DownloadUrls { base_url: "", secret: b"another-secret-of-32-characters-or-more", now }, &key);
    client.get(&forged).await.refused(403);
    let absent = download_url(&DownloadUrls { base_url: "", secret: tests::app::DOWNLOAD_SECRET.as_bytes(), now }, &other);
    client.get(&absent).await.refused(404);
    let stranger = shared::hash::BlobKey { app: shared::ids::AppId::v7(UnixMillis(1), [7; 10]), sha256: key.sha256 };
    let elsewhere = download_url(&DownloadUrls { base_url: "", secret: tests::app::DOWNLOAD_SECRET.as_bytes(), now }, &stranger);
    client.get(&elsewhere).await.refused(404);
    assert_eq!(client.get(&format!("{path}&expires=1")).await.refused(400), "expires: must be given only once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signing_secret_can_be_rotated_without_downtime() {
    let old = tests::app::DOWNLOAD_SECRET;
    let new = "a-new-download-secret-of-the-tests-0123456789";
    let app = TestApp::spawn_with(Options::default().with("DOWNLOAD_SECRET", format!("{new},{old}"))).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    let path = package["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    let blob = path.split_once('?').unwrap().0.rsplit('/').next().unwrap().to_owned();
    let key = shared::hash::BlobKey::from_encoded(&blob).unwrap();
    let signed = |secret: &str| download_url(&DownloadUrls { base_url: "", secret: secret.as_bytes(), now: app.clock.now() }, &key);
    assert_eq!(path, signed(new), "the first secret signs");
    for secret in [new, old] {
        app.anonymous().get(&signed(secret)).await.assert_status(200);
    }
    app.anonymous().get(&signed(&format!("{new},{old}"))).await.refused(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_origins_are_allowed_and_other_methods_are_not() {
    let (_app, client, path) = released(b"script").await;
    let preflight = client.send(client.request(Method::OPTIONS, &path).header("origin", "https://example.com")).await;
    preflight.assert_status(204);
    assert_eq!(preflight.header("access-control-allow-origin"), "*");
    assert_eq!(preflight.header("access-control-allow-methods"), "GET, HEAD, OPTIONS");
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = client.send(client.request(method, &path)).await;
        answer.refused(405);
        assert_eq!(answer.header("allow"), "GET, HEAD, OPTIONS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_client_gets_the_whole_of_an_altered_bundle() {
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(|number| number.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
    let (app, client, path) = released(&bytes).await;
    let blob = path.split_once('?').unwrap().0.rsplit('/').next().unwrap().to_owned();
    let key = shared::hash::BlobKey::from_encoded(&blob).unwrap();
    let altered = |at: usize| {
        let mut altered = bytes.clone();
        altered[at] ^= 1;
        altered
    };
    assert_eq!(client.get("/v1/health").await.assert(200)["checks"]["edge"], "off");
    for (what, content) in [
        ("the first byte", altered(0)),
        ("the last byte", altered(bytes.len() - 1)),
        ("cut off", bytes[..bytes.len() - 1].to_vec()),
        ("one byte", b"x".to_vec()),
    ] {
        app.alter_object(&key, &content);
        for range in [None, Some("bytes=0-")] {
            let request = range.into_iter().fold(client.request(Method::GET, &path), |request, range| request.header("range", range));
            // Of a small one, the connection may break before the client has seen the head of the response.
            let Ok(answer) = request.send().await else { continue };
            assert!(answer.status().is_success(), "{what}: {}", answer.status());
            assert_eq!(answer.content_length(), Some(content.len() as u64), "{what}");
            let received = answer.bytes().await;
            assert!(received.is_err(), "{what}: the download ended like a whole one, after {} bytes", received.unwrap().len());
        }
        // Ranges are not verified, unless they are the whole.
        if content.len() > 1 {
            assert_eq!(ask(&client, &path, &[("range", "bytes=0-0")]).await.body, content[..1], "{what}");
        }
    }
    app.alter_object(&key, b"");
    ask(&client, &path, &[]).await.refused(503);
    app.alter_object(&key, &bytes);
    assert!(ask(&client, &path, &[]).await.body == bytes);
    app.clock.advance(5_001);
    assert_eq!(client.get("/v1/health").await.assert(200)["checks"]["edge"], "degraded");
}

#[tokio::test(flavor = "multi_thread")]
async fn bundles_are_not_verified_where_that_is_turned_off() {
    let app = TestApp::spawn_with(Options::default().with("VERIFY_BUNDLES", "off")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let package = ada.upload("demo", "Staging", b"script", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"].clone();
    let path = package["blobUrl"].as_str().unwrap().strip_prefix(&app.base).unwrap().to_owned();
    let blob = path.split_once('?').unwrap().0.rsplit('/').next().unwrap().to_owned();
    app.alter_object(&shared::hash::BlobKey::from_encoded(&blob).unwrap(), b"anything");
    let answer = ask(&app.anonymous(), &path, &[]).await;
    let body = match answer.optional_header("location") {
        // From a bucket, it is not even sent through here.
        Some(url) => reqwest::get(&url).await.unwrap().bytes().await.unwrap().to_vec(),
        None => answer.body,
    };
    assert_eq!(body, b"anything");
}
