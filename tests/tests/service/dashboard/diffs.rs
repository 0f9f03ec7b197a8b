//! What a release's page says about its diffs.

use serde_json::json;
use tests::{Bundle, Client, TestApp};

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";
const HOUR: i64 = 60 * 60 * 1_000;
const HEADING: &str = "<h2 id=\"diffs\">";

async fn prepared() -> (TestApp, Client) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    (app, ada)
}

/// A bundle of a bit more than `length` bytes.
fn bundle(content: u8, length: usize) -> Vec<u8> {
    let mut random = tests::random::Random::new(u64::from(content));
    let noise: Vec<u8> = std::iter::repeat_with(|| u8::try_from(random.below(256)).unwrap()).take(length).collect();
    Bundle::of(&[("CodePush/main.jsbundle", &noise)]).0
}

/// Uploads a release, and returns its size.
async fn release(ada: &Client, bytes: &[u8]) -> i64 {
    ada.upload("demo", "Production", bytes, json!({ "appVersion": "1.0.0" })).await.assert(201)["package"]["size"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_what_devices_with_each_earlier_release_download() {
    let (app, ada) = prepared().await;
    let mut reader = app.signed_in_reader("ada").await;
    let mut size = release(&ada, &bundle(1, 99_000)).await;
    let first = reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows(HEADING);
    first.shows("There is no release before v1 to make a diff from: devices download the whole bundle.");
    for content in [2, 1, 4] {
        size = release(&ada, &bundle(content, 99_000)).await;
    }
    let size = format!("{}.{} kB", size / 1_000, size % 1_000 / 100);
    let first = reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows(HEADING);
    first.shows("v1 was replaced by v4: no device can be offered it, so no diffs are made for it.");

    app.attach_diff("Production", (2, 4), 4_000).await;
    let page = reader.open(&format!("{PRODUCTION}/releases/v4")).await.shows(HEADING).shows(&format!("4.0 kB instead of {size} (4%)"));
    let page = page.shows(&format!("{size}: no diffs are made")).shows(&format!("All others download the whole bundle, {size}."));
    let html = page.shows("This service makes no diffs (UPDRAFT_DIFFS is off)").html();
    let row = html.split(": no diffs are made").next().unwrap().rsplit("<tr").next().unwrap();
    assert!(row.contains(">v3</a>, <a href=") && row.contains("releases/v1\">v1</a>"), "{row}");
    assert!(!html.contains("notice bad"), "{html}");

    app.refuse_diff("Production", (3, 4), "too_large").await;
    let html = reader
        .open(&format!("{PRODUCTION}/releases/v4"))
        .await
        .shows(&format!("{size}: the diff would be larger than 80 % of the bundle"))
        .html();
    assert!(!html.contains("notice bad") && !html.contains("UPDRAFT_DIFFS"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_to_be_repaired_is_a_notice_that_says_what_to_do() {
    let (app, ada) = prepared().await;
    for content in [1, 2, 3] {
        release(&ada, &bundle(content, 2_000)).await;
    }
    let mut reader = app.signed_in_reader("ada").await;
    for (problem, texts) in [
        ("target_damaged", ["The stored bundle of v3 is missing or damaged, so no diffs can be made.", "storage verify"]),
        ("base_damaged", ["There is no diff from v2: the stored bundle is missing or damaged.", "storage verify"]),
        ("not_applicable", ["There is no diff from v2: applying it did not give the files of v3", "Report it to your administrator"]),
        (
            "unfinished",
            ["There is no diff from v2: the server stopped again and again while it made the diff, or it took too long.", "enough memory"],
        ),
    ] {
        app.refuse_diff("Production", (2, 3), problem).await;
        let page = reader.open(&format!("{PRODUCTION}/releases/v3")).await.shows(texts[0]).shows(texts[1]);
        let page = page.shows("Found <time").shows(">just now</time>.");
        assert_eq!(page.html().contains("It is looked at again"), problem != "not_applicable", "{}", page.html());
        assert_eq!(page.html().matches("notice bad").count(), 1, "{}", page.html());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_says_when_it_was_found_and_when_it_is_looked_at_again() {
    let (app, ada) = prepared().await;
    for content in [1, 2] {
        release(&ada, &bundle(content, 2_000)).await;
    }
    app.refuse_diff("Production", (1, 2), "base_damaged").await;
    let (mut reader, page) = (app.signed_in_reader("ada").await, format!("{PRODUCTION}/releases/v2"));
    app.clock.advance(2 * HOUR);
    let html = reader.open(&page).await.shows("missing or damaged. Found <time").shows(">2 hours ago</time>.").html();
    assert!(html.contains("It is looked at again <time"), "{html}");
    assert!(html.contains(">in 4 hours</time>."), "{html}");
    app.clock.advance(5 * HOUR);
    let page = reader.open(&page).await.shows(">7 hours ago</time>.");
    page.shows("It is looked at again soon.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_an_unsafe_name_is_named() {
    let (app, ada) = prepared().await;
    release(&ada, &bundle(1, 2_000)).await;
    let files: &[(&str, &[u8])] = &[("CodePush/main.jsbundle", b"two"), ("CodePush/<b>ü\u{202e}.png", b"x")];
    release(&ada, &Bundle::of(files).0).await;
    app.refuse_diff("Production", (1, 2), "unsafe_names").await;
    let html = app.signed_in_reader("ada").await.open(&format!("{PRODUCTION}/releases/v2")).await.html();
    let row = html.split("because of the name of a file in one of the packages: in this release, ").nth(1).unwrap();
    let text = "b&#62;ü\\u{202e}.png has a character in its name that is not printable ASCII";
    assert!(row.starts_with("CodePush/&#60;") && row.split("</td>").next().unwrap().contains(text), "{row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_file_and_a_release_that_nobody_is_offered_have_a_line() {
    let (app, ada) = prepared().await;
    release(&ada, b"one").await;
    release(&ada, b"two").await;
    release(&ada, &bundle(3, 2_000)).await;
    let mut reader = app.signed_in_reader("ada").await;
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("v1 is a single file, which has no diffs");
    let html = reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows("v2 is a single file, which has no diffs").html();
    assert!(!html.contains("Device has"), "{html}");
    reader.open(&format!("{PRODUCTION}/releases/v3")).await.shows("the earlier package is a single file");
    release(&ada, &bundle(4, 2_000)).await;
    app.attach_diff("Production", (2, 3), 500).await;
    let page = reader.open(&format!("{PRODUCTION}/releases/v3")).await;
    let page = page.shows("v3 was replaced by v4: no device can be offered it, so no diffs are made for it.");
    let html = page.shows("These diffs were made before. They are deleted after a week").html();
    assert!(html.contains("500 bytes instead of") && !html.contains("What devices with these releases download"), "{html}");
    assert!(html.contains("v3 was replaced: no device gets it now.") && !html.contains("Just released"), "{html}");
    reader.open(&format!("{PRODUCTION}/releases/v4")).await.shows("Just released: devices get it within a minute.");
}
