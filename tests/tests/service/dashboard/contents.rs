//! The contents of releases: their files, and what differs from the release before.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use shared::ids::ReportId;
use tests::archive::{archive, stored};
use tests::reports::report;
use tests::{Bundle, Client, TestApp};

use super::escaping::{ATTEMPTS, stays_text};

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";

async fn owner(app: &TestApp) -> Client {
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada
}

async fn release(ada: &Client, deployment: &str, bytes: &[u8]) {
    ada.upload("demo", deployment, bytes, json!({ "appVersion": "1.0.0" })).await.assert(201);
}

/// The rows of files in the page's tables: path, difference, size.
fn rows(html: &str) -> Vec<[String; 3]> {
    let row = |part: &str| {
        let path = part.split("</bdi>").next().unwrap().to_owned();
        let difference = part.split("data-label=\"Difference\">").nth(1).unwrap().split("</td>").next().unwrap();
        let difference = difference.replace("</span>", "");
        let difference = difference.rsplit('>').next().unwrap().to_owned();
        let size = part.split("data-label=\"Size\">").nth(1).unwrap().split("</td>").next().unwrap().to_owned();
        [path, difference, size]
    };
    html.split("<code><bdi>").skip(1).filter(|part| part.contains("data-label=\"Difference\"")).map(row).collect()
}

fn expected(rows: &[[&str; 3]]) -> Vec<[String; 3]> {
    rows.iter().map(|row| row.map(str::to_owned)).collect()
}

/// The stored object with this hash.
fn object(app: &TestApp, sha256: &str) -> PathBuf {
    let apps = fs::read_dir(app.folder().join("blobs")).unwrap().map(|entry| entry.unwrap().path());
    let found = apps.map(|of| of.join(&sha256[..2]).join(sha256)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no object {sha256}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_release_tells_what_was_added_changed_and_removed() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    release(&ada, "Production", &Bundle::of(&[("CodePush/a.js", b"one"), ("CodePush/b.js", b"two"), ("CodePush/c.png", &[0; 2_000])]).0)
        .await;
    release(&ada, "Production", &Bundle::of(&[("CodePush/a.js", b"one"), ("CodePush/b.js", b"three"), ("CodePush/d.png", &[0; 3_000])]).0)
        .await;
    let mut reader = app.signed_in_reader("ada").await;
    let first = reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("3 files, 2.0 kB.");
    assert!(!first.html().contains("Compared with"), "{}", first.html());

    let page = reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows("3 files, 3.0 kB.");
    let page = page.shows("1 added (3.0 kB), 1 changed (5 bytes), 1 removed (2.0 kB).").shows("releases/v1\">v1</a>");
    let differences =
        [["CodePush/b.js", "Changed", "3 bytes → 5 bytes"], ["CodePush/c.png", "Removed", "2.0 kB"], ["CodePush/d.png", "Added", "3.0 kB"]];
    let files = [["CodePush/a.js", "–", "3 bytes"], differences[0], differences[2]];
    assert_eq!(rows(&page.html()), expected(&[&differences[..], &files[..]].concat()));

    let whole = reader.open(&format!("{PRODUCTION}/releases/v2/contents")).await.html();
    assert_eq!(rows(&whole), expected(&[["CodePush/a.js", "–", "3 bytes"], differences[0], differences[1], differences[2]]));
    let only = reader.open(&format!("{PRODUCTION}/releases/v2/contents?only=changes")).await.html();
    assert_eq!(rows(&only), expected(&differences));
    reader.open(&format!("{PRODUCTION}/releases/v3/contents")).await.has_status(404);

    ada.post("/v1/apps/demo/deployments/Production/rollbacks", json!({ "targetRelease": "v1" })).await.assert(201);
    reader.open(&format!("{PRODUCTION}/releases/v3")).await.shows("1 added (2.0 kB), 1 changed (3 bytes), 1 removed (3.0 kB).");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_for_a_promotion_shows_what_changes_in_the_destination() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    release(&ada, "Staging", &Bundle::of(&[("a.js", b"new"), ("b.js", b"b")]).0).await;
    let promote = "/dashboard/apps/demo/deployments/Staging/releases/v1/promote";
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(promote).await.html();
    assert!(!page.contains("What changes in"), "{page}");
    release(&ada, "Production", &Bundle::of(&[("a.js", b"old")]).0).await;
    let page = reader.open(promote).await.shows("What changes in").shows("1 added (1 byte), 1 changed (3 bytes), 0 removed.");
    assert_eq!(rows(&page.html()), expected(&[["a.js", "Changed", "3 bytes"], ["b.js", "Added", "1 byte"]]));
    // With several destinations, only the chosen one's package is read.
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta & more" })).await.assert(201);
    let page = reader.open(promote).await;
    assert!(!page.html().contains("What changes in"), "{}", page.html());
    let page = page.shows("?destination=Production#differences");
    assert!(!page.html().contains("?destination=Beta"), "it has no release");
    reader.open(&format!("{promote}?destination=Production")).await.shows("1 added (1 byte)");
    for other in ["Beta%20%26%20more", "Staging", "nowhere", "%00", "Production&destination=Production"] {
        let page = reader.open(&format!("{promote}?destination={other}")).await.has_status(200).html();
        assert!(!page.contains("Compared with"), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_file_package_has_one_file() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    release(&ada, "Production", b"one").await;
    release(&ada, "Production", b"seven").await;
    release(&ada, "Production", &Bundle::of(&[("main.js", b"main")]).0).await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("1 file, 3 bytes.").shows("The package is a single file.");
    reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows("0 added, 1 changed (5 bytes), 0 removed.");
    reader.open(&format!("{PRODUCTION}/releases/v3")).await.shows("1 added (4 bytes), 0 changed, 1 removed (5 bytes).");
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_of_older_packages_are_read_from_the_archive_once() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    // The directory is longer than the end of the file that is read first.
    let names: Vec<String> = (0..1_200).map(|number| format!("CodePush/{}/{number:04}.png", "folder".repeat(10))).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"data".as_slice())).collect();
    let bundle = Bundle::of(&files).0;
    release(&ada, "Production", &bundle).await;
    let known = "SELECT COUNT(*) FROM blobs WHERE file_sizes IS NOT NULL";
    assert_eq!(app.number(known).await, 1, "the upload stores them");
    for text in ["[1,2]", "no list"] {
        app.change("UPDATE blobs SET file_sizes = $1 WHERE file_sizes IS NOT NULL", &[text]).await;
        let mut reader = app.signed_in_reader("ada").await;
        reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("1,200 files, 4.8 kB.");
    }
    app.change("UPDATE blobs SET file_sizes = NULL", &[]).await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("1,200 files, 4.8 kB.");
    assert_eq!(app.number(known).await, 1);
    fs::remove_file(object(&app, shared::hash::Sha256Hex::of(&bundle).as_str())).unwrap();
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("1,200 files, 4.8 kB.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_has_pages() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    let names: Vec<String> = (0..1_201).map(|number| format!("{number:04}.png")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"data".as_slice())).collect();
    release(&ada, "Production", &Bundle::of(&[("0000.png", b"data")]).0).await;
    release(&ada, "Production", &Bundle::of(&files).0).await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows("1,201 files").shows("1,200 added");
    let page = page.shows("All differences (1000 more)").shows("The whole list (1001 more)");
    assert_eq!(rows(&page.html()).len(), 400);
    let list = format!("{PRODUCTION}/releases/v2/contents");
    for (query, first, last, count) in [
        ("", "0000.png", "0499.png", 500),
        ("?page=2", "0500.png", "0999.png", 500),
        ("?page=3", "1000.png", "1200.png", 201),
        ("?page=99999999999999999999", "0000.png", "0499.png", 500),
        ("?page=4", "1000.png", "1200.png", 201),
        ("?page=0", "0000.png", "0499.png", 500),
        ("?page=-1", "0000.png", "0499.png", 500),
        ("?only=changes&page=3", "1001.png", "1200.png", 200),
    ] {
        let shown = rows(&reader.open(&format!("{list}{query}")).await.html());
        assert_eq!((shown[0][0].as_str(), shown[shown.len() - 1][0].as_str(), shown.len()), (first, last, count), "{query}");
    }
    let second = reader.open(&format!("{list}?only=changes&page=2")).await;
    second.shows("Files 501–1,000 of 1,200.").shows("contents?only=changes&#38;page=1\"").shows("contents?only=changes&#38;page=3\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_and_missing_objects_are_told_in_a_sentence() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    let bundles = [Bundle::of(&[("a.js", b"one")]).0, Bundle::of(&[("a.js", b"two")]).0];
    for bundle in &bundles {
        release(&ada, "Production", bundle).await;
    }
    let mut reader = app.signed_in_reader("ada").await;
    let (first, second) = (format!("{PRODUCTION}/releases/v1"), format!("{PRODUCTION}/releases/v2"));
    let manifests = app.texts("SELECT manifest_sha256 FROM releases ORDER BY label", &[]).await;

    // The bundle, from before sizes were stored.
    app.change("UPDATE blobs SET file_sizes = NULL", &[]).await;
    let bundle = object(&app, shared::hash::Sha256Hex::of(&bundles[1]).as_str());
    for damaged in [Some(&b""[..]), Some(b"PK\x05\x06 no archive"), Some(&bundles[1][10..]), None] {
        match damaged {
            Some(bytes) => fs::write(&bundle, bytes).unwrap(),
            None => fs::remove_file(&bundle).unwrap(),
        }
        let page = reader.open(&second).await.has_status(200).shows("1 file, sizes unknown: the package is missing or damaged.");
        assert_eq!(rows(&page.html())[0], ["a.js", "Changed", "3 bytes → unknown size"].map(str::to_owned));
    }

    // The earlier release's manifest: the later one's files are still shown.
    let manifest = object(&app, &manifests[0]);
    fs::write(&manifest, "{\"a.js\":\"x\"}").unwrap();
    let sentence = "The list of files of v1 is missing or damaged.";
    for page in [second.clone(), format!("{second}/contents")] {
        let page = reader.open(&page).await.has_status(200).shows(sentence).html();
        assert!(page.contains("a.js") && !page.contains("Compared with"), "{page}");
    }
    for page in [first.clone(), format!("{first}/contents"), format!("{first}/promote?destination=Staging")] {
        let page = reader.open(&page).await.has_status(200).html();
        assert!(page.contains(sentence) && !page.contains("a.js"), "{page}");
    }
    fs::remove_file(&manifest).unwrap();
    reader.open(&first).await.has_status(200).shows(sentence);
    // Too large to show.
    fs::write(&manifest, vec![b' '; (8 << 20) + 1]).unwrap();
    reader.open(&first).await.has_status(200).shows("v1 has too many files to list them.");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_of_files_are_escaped() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    release(&ada, "Staging", &Bundle::of(&[("main.js", b"main")]).0).await;
    // A slash would be a folder.
    let names: Vec<String> = ATTEMPTS.iter().map(|text| text.replace('/', "-")).collect();
    let files: Vec<_> = names.iter().map(|name| stored(name, b"data")).chain([stored("line\nend\u{202e}\u{1b}[0m.js", b"data")]).collect();
    release(&ada, "Production", &archive(&files)).await;
    let mut reader = app.signed_in_reader("ada").await;
    for page in ["", "/contents", "/promote?destination=Staging"] {
        let html = reader.open(&format!("{PRODUCTION}/releases/v1{page}")).await.has_status(200).html();
        for name in &names {
            stays_text(&html, name);
        }
        assert!(html.contains("line\\nend") && html.contains("\\u{1b}[0m.js</bdi>"), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_name_of_a_file_looks_like_another() {
    let app = TestApp::spawn().await;
    let ada = owner(&app).await;
    // Each would look like a.js.
    let spoofs = [
        "a\u{200b}.js",
        "a\u{fe0f}.js",
        "a\u{e0061}.js",
        "\u{202e}sj.a",
        "a\u{2066}.js\u{2069}",
        "a\u{3164}.js",
        "\u{feff}a.js",
        "a.js\u{a0}",
    ];
    let files: Vec<_> = ["a.js"].iter().chain(&spoofs).map(|name| stored(name, b"data")).collect();
    release(&ada, "Production", &archive(&files)).await;
    let mut reader = app.signed_in_reader("ada").await;
    for page in ["", "/contents"] {
        let html = reader.open(&format!("{PRODUCTION}/releases/v1{page}")).await.has_status(200).html();
        let mut shown: Vec<_> = rows(&html).into_iter().map(|[path, ..]| path).collect();
        shown.sort_unstable();
        let mut expected = [
            "a.js",
            "a\\u{200b}.js",
            "a\\u{fe0f}.js",
            "a\\u{e0061}.js",
            "\\u{202e}sj.a",
            "a\\u{2066}.js\\u{2069}",
            "a\\u{3164}.js",
            "\\u{feff}a.js",
            "a.js\\u{a0}",
        ];
        expected.sort_unstable();
        assert_eq!(shown, expected, "{html}");
        assert!(!html.contains('\u{200b}') && !html.contains('\u{202e}') && !html.contains('\u{e0061}'), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_contents_and_curves_but_no_activity() {
    let app = TestApp::spawn().await;
    for name in ["bob", "eve"] {
        app.register(name).await;
    }
    let ada = owner(&app).await;
    let key = ada.deployment_key("demo", "Production").await;
    release(&ada, "Production", &Bundle::of(&[("a.js", b"one")]).0).await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let now = app.clock.now();
    let events = [("a", "installed"), ("b", "installed"), ("c", "failed")];
    let reports = events
        .iter()
        .zip(1_u8..)
        .map(|((client, event), number)| report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &key, Some(client), event, "v1"));
    app.deliver(&reports.collect::<Vec<_>>()).await;
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "isMandatory": true } })).await.assert(200);

    let page = format!("{PRODUCTION}/releases/v1");
    let mut reader = app.signed_in_reader("ada").await;
    let shown = reader.open(&page).await.shows("33.3% (1 of 3)").shows("Devices that have rolled back from it, because it failed.");
    let shown =
        shown.shows(">Release uploaded<").shows(">Release edited<").shows("mandatory: <bdi>no → yes</bdi>").shows("(dashboard session)");
    assert!(shown.html().contains("data-number=\"2\">2</td>"), "two are active and installed: {}", shown.html());

    let page = page.replace("demo", "ada@example.com:demo");
    let mut bob = app.signed_in_reader("bob").await;
    let shown = bob.open(&page).await.shows("a.js").shows("33.3% (1 of 3)").shows("first-days-table").html();
    assert!(!shown.contains("Release uploaded") && !shown.contains("(dashboard session)"), "{shown}");
    bob.open(&format!("{page}/contents")).await.shows("a.js");
    app.signed_in_reader("eve").await.open(&format!("{page}/contents")).await.has_status(404);

    // The first minutes of the release are deleted.
    app.clock.advance(48 * 3_600_000);
    let mut bob = app.signed_in_reader("bob").await;
    let over = bob.open(&page).await.shows("They are over: minutes are kept for 48 hours.").html();
    assert!(!over.contains("first-days-table"), "{over}");
}
