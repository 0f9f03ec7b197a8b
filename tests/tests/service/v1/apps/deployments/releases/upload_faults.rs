//! Malformed uploads: each is refused with the standard envelope, names the error, and leaves nothing behind.

use reqwest::Method;
use serde_json::{Value, json};
use tests::archive::{Entry, archive, deflated, stored};
use tests::inside::Leftovers;
use tests::multipart::Multipart;
use tests::raw::{answer, connect};
use tests::wait::until;
use tests::{Answer, Bundle, Client, Options, TestApp};
use tokio::io::AsyncWriteExt;

const PATH: &str = "/v1/apps/demo/deployments/Staging/releases";
const INFO: &str = r#"{"appVersion":"1.0.0"}"#;

/// A server with an app, and its stored data before the first upload.
async fn prepared(options: Options) -> (TestApp, Client, Leftovers) {
    let app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let before = app.leftovers().await;
    assert_eq!(before.rows, [0, 0, 2]);
    (app, ada, before)
}

async fn send(client: &Client, content_type: &str, body: impl Into<reqwest::Body>) -> Answer {
    client.send(client.request(Method::POST, PATH).header("content-type", content_type).body(body)).await
}

async fn send_parts(client: &Client, parts: Multipart) -> Answer {
    send(client, &Multipart::content_type(), parts.end()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_member_of_the_package_info_is_named() {
    let (app, ada, before) = prepared(Options::default()).await;
    let all = json!({ "appVersion": 5, "description": [], "isMandatory": "confidential", "isDisabled": 1, "rollout": 0 });
    for (info, named) in [
        (json!({}), &["appVersion"][..]),
        (json!({ "appVersion": null }), &["appVersion"]),
        (json!({ "appVersion": 1 }), &["appVersion"]),
        (json!({ "appVersion": "not a range" }), &["appVersion"]),
        (json!({ "appVersion": "1.2.3.4" }), &["appVersion"]),
        (json!({ "appVersion": "01.2.3" }), &["appVersion"]),
        (json!({ "appVersion": ">=1.0.0 <" }), &["appVersion"]),
        (json!({ "appVersion": "1.0.0\u{0}" }), &["appVersion"]),
        (json!({ "appVersion": format!("{:<256}", "1.0.0") }), &["appVersion"]),
        (json!({ "appVersion": "1.0.0", "description": 5 }), &["description"]),
        (json!({ "appVersion": "1.0.0", "description": "x".repeat(10_001) }), &["description"]),
        (json!({ "appVersion": "1.0.0", "description": "😀".repeat(5_000) + "x" }), &["description"]),
        (json!({ "appVersion": "1.0.0", "description": "a\u{0}b" }), &["description"]),
        (json!({ "appVersion": "1.0.0", "isMandatory": "true" }), &["isMandatory"]),
        (json!({ "appVersion": "1.0.0", "isMandatory": 1 }), &["isMandatory"]),
        (json!({ "appVersion": "1.0.0", "isDisabled": "false" }), &["isDisabled"]),
        (json!({ "appVersion": "1.0.0", "rollout": 0 }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": 101 }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": -1 }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": 12.5 }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": "25" }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": true }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": 281 }), &["rollout"]),
        (json!({ "appVersion": "1.0.0", "rollout": 4_294_967_301_u64 }), &["rollout"]),
        (all, &["appVersion", "description", "isMandatory", "isDisabled", "rollout"]),
    ] {
        for body in [
            Multipart::default().file("package", b"script").text("packageInfo", info.to_string()),
            Multipart::default().text("packageInfo", info.to_string()).file("package", b"script"),
        ] {
            let refusal = send_parts(&ada, body).await.refused(400);
            for name in named {
                assert!(refusal.contains(&format!("{name}: ")), "{info}: {refusal}");
            }
            assert_eq!(refusal.matches(": ").count(), named.len(), "{info}: {refusal}");
            assert!(!refusal.contains("confidential"), "{refusal}");
        }
    }
    assert_eq!(app.leftovers().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_info_that_is_not_a_json_object_is_refused() {
    let (app, ada, before) = prepared(Options::default()).await;
    for info in [
        &b""[..],
        b" ",
        b"{",
        b"appVersion=1.0.0",
        b"[]",
        b"\"1.0.0\"",
        b"null",
        b"{\"appVersion\":\"1.0.0\"}x",
        b"\xff\xfe",
        b"{\"appVersion\":\"\\ud800\"}",
    ] {
        let refusal = send_parts(&ada, Multipart::default().file("package", b"script").text("packageInfo", info)).await.refused(400);
        assert!(refusal.contains("packageInfo: "), "{info:?}: {refusal}");
    }
    // Deep nesting is refused without a stack overflow; long texts are truncated.
    let deep = format!("{}{}", "[".repeat(60_000), "]".repeat(60_000));
    send_parts(&ada, Multipart::default().file("package", b"script").text("packageInfo", deep)).await.refused(400);
    let long = json!({ "appVersion": "1.0.0", "more": "x".repeat(200_000) }).to_string();
    send_parts(&ada, Multipart::default().file("package", b"script").text("packageInfo", long)).await.refused(413);
    assert_eq!(app.leftovers().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_duplicate_parts_are_named() {
    let (app, ada, before) = prepared(Options::default()).await;
    for (body, named) in [
        (Multipart::default(), &["package: ", "packageInfo: "][..]),
        (Multipart::default().text("other", "x"), &["package: ", "packageInfo: "]),
        (Multipart::default().text("Package", "x").text("packageinfo", INFO), &["package: ", "packageInfo: "]),
        (Multipart::default().text("packageInfo", INFO), &["package: "]),
        (Multipart::default().file("package", b"script"), &["packageInfo: "]),
        (Multipart::default().text("packageInfo", "{}"), &["package: ", "appVersion: "]),
        (Multipart::default().file("package", b"a").file("package", b"b").text("packageInfo", INFO), &["package: "]),
        (Multipart::default().file("package", b"a").text("packageInfo", INFO).text("packageInfo", INFO), &["packageInfo: "]),
        (Multipart::default().text("packageInfo", INFO).file("package", b"a").file("package", b"a"), &["package: "]),
    ] {
        let refusal = send_parts(&ada, body).await.refused(400);
        for name in named {
            assert!(refusal.contains(name), "{name}: {refusal}");
        }
        assert_eq!(app.leftovers().await, before, "{named:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_multipart_is_415_and_a_malformed_one_400() {
    let (app, ada, before) = prepared(Options::default().with("LIMIT_UPLOADS", "10000/1m")).await;
    let whole = Multipart::default().file("package", b"script").text("packageInfo", INFO).end();
    for content_type in
        ["application/json", "multipart/form-data", "multipart/mixed; boundary=x", "text/plain", "application/octet-stream", "x", ""]
    {
        send(&ada, content_type, whole.clone()).await.refused(415);
    }
    ada.send(ada.request(Method::POST, PATH).body(whole.clone())).await.refused(415);
    // An empty body is incomplete rather than of a wrong type.
    ada.send(ada.request(Method::POST, PATH)).await.refused(400);
    let kind = Multipart::content_type();
    send(&ada, &kind, Vec::new()).await.refused(400);
    send(&ada, &kind, &b"no parts here"[..]).await.refused(400);
    send(&ada, "multipart/form-data; boundary=another", whole.clone()).await.refused(400);
    // Truncated anywhere; the last two bytes end the line after the closing boundary.
    for length in (0..whole.len() - 2).step_by(7).chain(whole.len() - 12..whole.len() - 2) {
        send(&ada, &kind, whole[..length].to_vec()).await.refused(400);
    }
    assert_eq!(app.leftovers().await, before);
}

/// Archives that readers could interpret differently, with the entry to blame.
fn faulty() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let sound = || deflated("sound.js", b"sound");
    let with = |entry: Entry| archive(&[sound(), entry]);
    let bad = || deflated("bad.js", b"some bytes of the bad entry");
    let named = |name: &str| with(deflated(name, b"x"));
    let flags = |flags: u16| with(bad().both(|header| header.flags |= flags));
    let method = |method: u16| with(bad().both(|header| header.method = method));
    let local = |change: fn(&mut Entry)| with(bad().with(change));
    let whole = archive(&[sound(), bad()]);
    let before_directory = archive(&[sound(), bad().with(|entry| entry.after = b"gap".to_vec())]);
    let mut trailing = whole.clone();
    trailing.extend(b"trailing");
    vec![
        ("encrypted", flags(1), Some("bad.js")),
        ("strongly encrypted", flags(1 << 6 | 1), Some("bad.js")),
        ("bzip2", method(12), Some("bad.js")),
        ("deflate64", method(9), Some("bad.js")),
        ("zstd", method(93), Some("bad.js")),
        (
            "stored with a data descriptor",
            with(stored("bad.js", b"x").both(|header| header.flags |= 8).with(|entry| entry.after = vec![0; 12])),
            Some("bad.js"),
        ),
        ("absolute", named("/etc/passwd"), Some("/etc/passwd")),
        ("absolute, backslash", named("\\etc\\passwd"), Some("etc")),
        ("parent", named("../up.js"), Some("../up.js")),
        ("parent within", named("a/../../up.js"), Some("a/../../up.js")),
        ("parent, backslash", named("a\\..\\..\\up.js"), Some("up.js")),
        ("drive", named("C:/windows.js"), Some("C:/windows.js")),
        ("drive, relative", named("c:windows.js"), Some("c:windows.js")),
        ("NUL", named("nul\0.js"), Some("nul")),
        ("not verified, of macOS", named("__MACOSX/main.jsbundle"), Some("__MACOSX/main.jsbundle")),
        ("not verified, backslash", named("__MACOSX\\a.js"), Some("a.js")),
        ("not verified, in a folder", named("a/.DS_Store/a.js"), Some("a/.DS_Store/a.js")),
        ("not verified, in a signature", named(".codepushrelease/a.js"), Some(".codepushrelease/a.js")),
        ("symbolic link", with(bad().with(|entry| entry.attributes = 0o120_777 << 16)), Some("bad.js")),
        ("twice", archive(&[sound(), bad(), bad()]), Some("bad.js")),
        ("twice but for case", with(deflated("SOUND.js", b"x")), Some("SOUND.js")),
        ("twice but for the slash", archive(&[deflated("a/b.js", b"1"), deflated("a\\b.js", b"2")]), Some("b.js")),
        ("twice but for Unicode form", archive(&[deflated("\u{e9}.js", b"1"), deflated("e\u{301}.js", b"2")]), Some(".js")),
        ("twice but for Unicode case", archive(&[deflated("straße.js", b"1"), deflated("STRASSE.js", b"2")]), Some(".js")),
        ("other name in the local header", local(|entry| entry.local.name = b"bax.js".to_vec()), Some("bad.js")),
        ("other size in the local header", local(|entry| entry.local.uncompressed += 1), Some("bad.js")),
        ("other checksum in the local header", local(|entry| entry.local.crc32 ^= 1), Some("bad.js")),
        ("other method in the local header", local(|entry| entry.local.method = 0), Some("bad.js")),
        ("other flags in the local header", local(|entry| entry.local.flags |= 0x800), Some("bad.js")),
        ("wrong checksum in both", with(bad().both(|header| header.crc32 ^= 1)), Some("bad.js")),
        ("shorter than it says", with(bad().both(|header| header.uncompressed += 1)), Some("bad.js")),
        ("longer than it says", with(bad().both(|header| header.uncompressed -= 1)), Some("bad.js")),
        ("data cut off", with(bad().both(|header| header.compressed -= 1)), Some("bad.js")),
        ("overlap", with(bad().with(|entry| entry.shift = -5)), None),
        ("gap between entries", archive(&[sound().with(|entry| entry.after = b"gap".to_vec()), bad()]), None),
        ("gap before the directory", before_directory, Some("bad.js")),
        ("damaged data", with(bad().with(|entry| entry.body[0] ^= 0xff)), Some("bad.js")),
        ("bytes after the end", trailing, None),
        ("cut off", whole[..whole.len() - 10].to_vec(), None),
        ("cut off after its first four bytes", whole[..4].to_vec(), None),
        ("no files", archive(&[]), None),
        ("only a folder", archive(&[stored("folder/", b"").with(|entry| entry.attributes = 0o040_755 << 16 | 0x10)]), None),
        ("empty file", Vec::new(), None),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_archive_is_refused_naming_its_entry_and_leaves_nothing() {
    let (app, ada, before) = prepared(Options::default()).await;
    for (fault, bytes, entry) in faulty() {
        let answer = ada.upload("demo", "Staging", &bytes, json!({ "appVersion": "1.0.0" })).await;
        assert_eq!(answer.status.as_u16(), 400, "{fault}: {}", answer.text());
        let refusal = answer.refused(400);
        assert!(refusal.starts_with("package: "), "{fault}: {refusal}");
        if let Some(entry) = entry {
            assert!(refusal.contains(entry), "{fault} names {entry}: {refusal}");
        }
        assert_eq!(app.leftovers().await, before, "{fault}");
    }
    assert_eq!(ada.upload("demo", "Staging", b"fine", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_with_too_much_uncompressed_data_is_refused() {
    let (app, ada, before) = prepared(Options::default().with("LIMIT_ZIP_TOTAL", "1MiB").with("LIMIT_ZIP_ENTRIES", "3")).await;
    let info = json!({ "appVersion": "1.0.0" });
    let noise: Vec<u8> = (0..600_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let large = archive(&[stored("one.bin", &noise), stored("two.bin", &noise)]);
    let refusal = ada.upload("demo", "Staging", &large, info.clone()).await.refused(400);
    assert!(refusal.contains("two.bin"), "{refusal}");
    let bomb = archive(&[deflated("bomb.bin", &vec![0; 900_000])]);
    let refusal = ada.upload("demo", "Staging", &bomb, info.clone()).await.refused(400);
    assert!(refusal.contains("bomb.bin"), "{refusal}");
    // It declares a small size.
    let lying = archive(&[deflated("liar.bin", &vec![0; 900_000]).both(|header| header.uncompressed = 10)]);
    let refusal = ada.upload("demo", "Staging", &lying, info.clone()).await.refused(400);
    assert!(refusal.contains("liar.bin"), "{refusal}");
    let many = Bundle::of(&[("a", b"1"), ("b", b"2"), ("c", b"3"), ("d", b"4")]);
    ada.upload("demo", "Staging", &many.0, info.clone()).await.refused(400);
    assert_eq!(app.leftovers().await, before);
    ada.upload("demo", "Staging", &Bundle::of(&[("a", b"1"), ("b", b"2"), ("c", b"3")]).0, info).await.assert(201);
}

/// Data with the codes that deflate has for text: nine bits for each of these bytes.
fn nine_bits_each(data: &[u8]) -> Vec<u8> {
    let mut bits = vec![true, true, false];
    for byte in data {
        let code = 0b1_1001_0000 + u16::from(byte - 144);
        bits.extend((0..9).rev().map(|bit| code >> bit & 1 == 1));
    }
    bits.extend([false; 7]);
    bits.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_data_that_is_filled_up_is_refused() {
    let (app, ada, before) = prepared(Options::default()).await;
    let content = vec![200; 20_000];
    let with = |body: Vec<u8>| {
        let length = u32::try_from(body.len()).unwrap();
        archive(&[deflated("filled.bin", &content).both(|header| header.compressed = length).with(|entry| entry.body = body)])
    };
    let empty_blocks = |count: usize| [[0, 0, 0, 255, 255].repeat(count), nine_bits_each(&content)].concat();
    let info = json!({ "appVersion": "1.0.0" });
    let refusal = ada.upload("demo", "Staging", &with(empty_blocks(1_000)), info.clone()).await.refused(400);
    assert!(refusal.contains("filled.bin"), "{refusal}");
    assert_eq!(app.leftovers().await, before);
    // The least efficient compression is fine.
    assert!(nine_bits_each(&content).len() > 22_000);
    ada.upload("demo", "Staging", &with(empty_blocks(100)), info).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_over_the_limit_is_413_with_or_without_content_length() {
    let (app, ada, before) = prepared(Options::default().with("LIMIT_MAX_UPLOAD_BYTES", "64KiB")).await;
    let limit = 64 << 10;
    let parts = |size: usize| Multipart::default().text("packageInfo", INFO).file("package", &vec![7; size]);
    let chunked = |body: Vec<u8>| {
        let chunks: Vec<_> = body.chunks(10_000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
    };
    let kind = Multipart::content_type();
    for size in [limit + 1, limit * 2, 4 << 20] {
        let refusal = send(&ada, &kind, parts(size).end()).await.refused(413);
        assert!(refusal.contains("65536"), "{refusal}");
        assert_eq!(app.leftovers().await, before, "{size} announced");
        let refusal = send(&ada, &kind, chunked(parts(size).end())).await.refused(413);
        assert!(refusal.contains("65536"), "{refusal}");
        assert_eq!(app.leftovers().await, before, "{size} unannounced");
    }
    // Unknown parts count, too.
    let body = Multipart::default().text("other", vec![7; limit + 1]).text("packageInfo", INFO).file("package", b"x");
    send_parts(&ada, body).await.refused(413);
    assert_eq!(app.leftovers().await, before);
    send(&ada, &kind, parts(limit).end()).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_excessive_content_length_is_refused_before_the_body_is_sent() {
    let (app, ada, before) = prepared(Options::default()).await;
    let request = ada.request(Method::POST, PATH).build().unwrap();
    let authorization = request.headers()["authorization"].to_str().unwrap().to_owned();
    let head = |length: &str| {
        format!(
            "POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\nContent-Type: {}\r\nContent-Length: {length}\r\n\r\n",
            Multipart::content_type()
        )
    };
    for length in ["300000000", "99999999999999999"] {
        let answer = answer(&app.base, head(length).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("\"requestId\":"), "{answer}");
    }
    assert_eq!(app.leftovers().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_mid_upload_leaves_nothing() {
    let (app, ada, before) = prepared(Options::default()).await;
    let request = ada.request(Method::POST, PATH).build().unwrap();
    let authorization = request.headers()["authorization"].to_str().unwrap();
    let body = Multipart::default().text("packageInfo", INFO).file("package", &vec![7; 3 << 20]).end();
    for framing in [format!("Content-Length: {}", body.len()), "Transfer-Encoding: chunked".to_owned()] {
        let mut stream = connect(&app.base).await;
        let head = format!(
            "POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\nContent-Type: {}\r\n{framing}\r\n\r\n",
            Multipart::content_type()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        if framing.starts_with("Transfer") {
            stream.write_all(format!("{:x}\r\n", body.len()).as_bytes()).await.unwrap();
        }
        stream.write_all(&body[..body.len() / 2]).await.unwrap();
        let arrived = until("the first half to be on disk", async || {
            let now = app.leftovers().await;
            now.files.iter().any(|(path, size)| *size > 1 << 20 && !before.files.contains_key(path)).then_some(now)
        });
        arrived.await;
        drop(stream);
        until("the partial upload to be deleted", async || (app.leftovers().await == before).then_some(())).await;
    }
    // The server still works.
    assert_eq!(ada.upload("demo", "Staging", b"fine", json!({ "appVersion": "1.0.0" })).await.assert(201)["package"]["label"], "v1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_disconnects_before_the_response_leaves_a_complete_release_or_nothing() {
    let (app, ada, before) = prepared(Options::default()).await;
    let request = ada.request(Method::POST, PATH).build().unwrap();
    let authorization = request.headers()["authorization"].to_str().unwrap().to_owned();
    for attempt in 0..40_u32 {
        let content = format!("console.log({attempt});\n").repeat(200 * (attempt as usize % 7 + 1));
        let body = Multipart::default().text("packageInfo", INFO).file("package", &Bundle::script(&content).0).end();
        let mut message = format!(
            "POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
            Multipart::content_type(),
            body.len()
        )
        .into_bytes();
        message.extend(&body);
        let mut stream = connect(&app.base).await;
        stream.write_all(&message).await.unwrap();
        // Disconnects at a different moment each time: some at once, some while the upload is being stored.
        if attempt % 2 == 1 {
            until("the upload to be stored", async || (app.leftovers().await.rows[1] > 0).then_some(())).await;
        }
        drop(stream);
    }
    let settled = until("no upload to be in progress", async || {
        let now = app.leftovers().await;
        let under_way = now.files.keys().any(|path| path.starts_with("blobs/.tmp/") && path != "blobs/.tmp/");
        (!under_way && orphans(&app).await == 0 && now == app.leftovers().await).then_some(now)
    });
    let settled = settled.await;
    let objects = settled.files.keys().filter(|path| path.starts_with("blobs/") && !path.ends_with('/')).count();
    assert_eq!(i64::try_from(objects).unwrap(), settled.rows[1], "as many objects as rows");
    assert_eq!(settled.rows[2], before.rows[2]);
    let history = ada.get("/v1/apps/demo/deployments/Staging/history").await.assert(200);
    for release in history["history"].as_array().unwrap() {
        let url: &Value = &release["blobUrl"];
        app.anonymous().get(url.as_str().unwrap().strip_prefix(&app.base).unwrap()).await.assert_status(200);
    }
}

/// Blobs that no release refers to.
async fn orphans(app: &TestApp) -> i64 {
    app.number(
        "SELECT COUNT(*) FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM releases r \
         WHERE r.app_id = b.app_id AND (r.blob_sha256 = b.sha256 OR r.manifest_sha256 = b.sha256))",
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_part_header_is_not_buffered() {
    let (app, ada, before) = prepared(Options::default()).await;
    let opened = format!("--{}\r\nX-Endless: ", tests::multipart::BOUNDARY);
    let mut body = opened.into_bytes();
    body.resize(64 << 20, b'a');
    let answer = send(&ada, &Multipart::content_type(), body).await;
    assert!(answer.refused(400).contains("header"), "{answer:?}");
    assert_eq!(app.leftovers().await, before);

    // A large file after small parts is fine, however fast it arrives.
    let mut bytes = vec![0_u8; 32 << 20];
    bytes.iter_mut().enumerate().for_each(|(index, byte)| *byte = u8::try_from(index % 251).unwrap());
    let parts = Multipart::default().text("packageInfo", INFO).text("other", "x").file("package", &bytes);
    send_parts(&ada, parts).await.assert(201);
}
