//! What the pages of deployments and releases say about what devices get, and about releases that fail.

use serde_json::{Value, json};
use shared::ids::ReportId;
use tests::reports::report;
use tests::{Client, Reader, TestApp};

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";

/// An app with these releases in Production, oldest first, and its key.
async fn with_releases(app: &TestApp, releases: &[Value]) -> (Client, Reader, String) {
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    for (number, info) in releases.iter().enumerate() {
        ada.upload("demo", "Production", format!("contents {number}").as_bytes(), info.clone()).await.assert(201);
    }
    (ada, app.signed_in_reader("ada").await, key)
}

/// Delivers reports of devices: what happened, and at which label or app version.
async fn deliver(app: &TestApp, key: &str, events: &[(&str, &str)]) {
    let now = app.clock.now();
    let reports = events.iter().zip(1_u8..).map(|((event, place), number)| {
        report(ReportId::v7(now, [number; 10]).as_ref(), now.0, key, Some(&format!("device-{number}")), event, place)
    });
    app.deliver(&reports.collect::<Vec<_>>()).await;
}

async fn change(ada: &Client, label: &str, info: Value) {
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "label": label, "packageInfo": info })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_release_to_roll_back_to_the_current_one_can_be_disabled() {
    let app = TestApp::spawn().await;
    let (_, mut reader, _) = with_releases(&app, &[json!({ "appVersion": "^1.0.0" })]).await;
    assert!(!reader.open(PRODUCTION).await.html().contains("/rollback"), "there is nothing to roll back to");
    let rollback = format!("{PRODUCTION}/rollback");
    let text = "If you disable v1, devices with app version ^1.0.0 get no update. Those that run it keep it.";
    reader.open(&rollback).await.shows("There is no earlier release for the same target version.").shows(text);
    let ada = app.log_in("ada").await;
    ada.upload("demo", "Production", b"two", json!({ "appVersion": "1.2.0" })).await.assert(201);
    reader.open(PRODUCTION).await.shows("/rollback");
    let text = "If you disable v2, devices with app version 1.2.0 get v1, also those that run v2 now.";
    let page = reader.open(&rollback).await.shows("There is no earlier release").shows(text);
    let edit = format!("{PRODUCTION}/releases/v2/edit");
    page.shows(&format!("{edit}?isDisabled=on"));
    // The link changes nothing.
    reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows(&format!("{edit}?isDisabled=on\">Disable</a>"));
    let asked = reader.open(&format!("{edit}?isDisabled=on")).await.shows("<h1>Disable v2</h1>").shows(text);
    assert!(!asked.html().contains("name=\"appVersion\""), "it asks about one thing: {}", asked.html());
    reader.open(PRODUCTION).await.shows("v2 goes to all devices with app version 1.2.0.");
    let disabled = "v2 is disabled: no device gets it. Devices with app version 1.2.0 get v1.";
    reader.send(&asked.form_to(&edit)).await.shows(disabled);
    let asked = reader.open(&format!("{edit}?isDisabled=off")).await.shows("<h1>Enable v2</h1>");
    reader.send(&asked.form_to(&edit)).await.shows("v2 goes to all devices with app version 1.2.0.");
    let form = reader.open(&format!("{edit}?isDisabled=on")).await.form_to(&edit);
    reader.send(&form).await.shows(disabled);
    reader.open(&rollback).await.shows("v2 is disabled.");
    // v1 is what all of them get now.
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows("v1 goes to all devices with app version ^1.0.0.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staged_release_that_comes_back_is_named() {
    let app = TestApp::spawn().await;
    let all = [json!({ "appVersion": "^1.0.0" }), json!({ "appVersion": "^1.0.0", "rollout": 25 })];
    let (ada, mut reader, _) = with_releases(&app, &all).await;
    ada.post("/v1/apps/demo/deployments/Production/rollbacks", json!({ "targetRelease": "v1" })).await.assert(201);
    let then = "devices with app version ^1.0.0 get v2 if its rollout includes them, otherwise v1";
    reader.open(&format!("{PRODUCTION}/releases/v3/edit")).await.shows(&format!("If you disable v3, {then}, also those that run v3 now."));
    change(&ada, "v3", json!({ "isDisabled": true })).await;
    let now = "v3 is disabled: no device gets it. Devices with app version ^1.0.0 get v2 if its rollout includes them, otherwise v1.";
    reader.open(PRODUCTION).await.shows(now);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_release_says_so() {
    let app = TestApp::spawn().await;
    let one = json!({ "appVersion": "1.0.0" });
    let all = [one.clone(), json!({ "appVersion": "^1.0.0" }), json!({ "appVersion": "2.0.0" }), one];
    let (ada, mut reader, _) = with_releases(&app, &all).await;
    for (label, text) in [
        ("v1", "v1 was replaced: no device gets it now. Devices with app version 1.0.0 get v4."),
        ("v2", "v2 goes to all devices with app version ^1.0.0, except those that get v4."),
        ("v3", "v3 goes to all devices with app version 2.0.0."),
        ("v4", "v4 goes to all devices with app version 1.0.0."),
    ] {
        reader.open(&format!("{PRODUCTION}/releases/{label}")).await.shows(text);
    }
    let page = reader.open(PRODUCTION).await.html();
    assert_eq!((page.matches("Live</span>").count(), page.matches("Replaced</span>").count()), (3, 1), "{page}");
    assert_eq!(page.matches("<meter").count(), 3, "{page}");
    change(&ada, "v4", json!({ "isDisabled": true })).await;
    reader
        .open(&format!("{PRODUCTION}/releases/v1"))
        .await
        .shows("v1 was replaced: no device gets it now. Devices with app version 1.0.0 get v2.");
    let rollout = json!({ "appVersion": "2.0.0", "rollout": 10 });
    ada.upload("demo", "Production", b"rollout", rollout).await.assert(201);
    reader
        .open(&format!("{PRODUCTION}/releases/v3"))
        .await
        .shows("v3 goes to all devices with app version 2.0.0, except those that get v5.");
    reader.open(PRODUCTION).await.shows("v5 goes to 10% of the devices with app version 2.0.0. The others get v3.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_release_is_shown_where_one_acts() {
    let app = TestApp::spawn().await;
    let one = json!({ "appVersion": "1.0.0" });
    let (ada, mut reader, key) = with_releases(&app, &[one.clone(), one]).await;
    let release = format!("{PRODUCTION}/releases/v2");
    let pages = ["/dashboard", PRODUCTION, &release];
    deliver(&app, &key, &[("installed", "v2"), ("failed", "v2"), ("failed", "v2"), ("installed", "v1")]).await;
    for page in pages {
        assert!(!reader.open(page).await.html().contains("v2 fails"), "{page}: two devices");
    }
    reader.open(PRODUCTION).await.shows("1 device runs v2 now.").shows("data-label=\"Failure rate\">66.7%</td>");
    app.clock.advance(1_000);
    deliver(&app, &key, &[("installed", "v2"), ("failed", "v2"), ("failed", "v2"), ("installed", "v1"), ("failed", "v2")]).await;
    for page in pages {
        reader.open(page).await.shows("v2 fails: 3 of 4 devices that tried it went back to what they ran before (75%).");
    }
    for page in [PRODUCTION, &release] {
        reader.open(page).await.shows(&format!("{PRODUCTION}/rollback\">Roll back")).shows(&format!("{release}/edit?isDisabled=on"));
    }
    reader.open("/dashboard/apps/demo").await.shows("Failing<");
    reader.open(&format!("{PRODUCTION}/metrics")).await.shows("75% <span class=\"tag bad\">Failing");
    reader.open(PRODUCTION).await.shows("data-label=\"Failure rate\">75% <span class=\"tag bad\">Failing");
    // Also where it would get more devices.
    for page in ["edit", "edit?isDisabled=off", "promote"] {
        reader.open(&format!("{release}/{page}")).await.shows("v2 fails: 3 of 4 devices");
    }
    assert!(!reader.open(&format!("{release}/edit?isDisabled=on")).await.html().contains("v2 fails"));
    change(&ada, "v2", json!({ "isDisabled": true })).await;
    for page in ["/dashboard", PRODUCTION] {
        assert!(!reader.open(page).await.html().contains("v2 fails"), "{page}: no device gets it");
    }
    let page = reader.open(&release).await.shows("v2 fails").html();
    assert!(!page.contains("Disable v2"), "{page}");
    let enabling = reader.open(&format!("{release}/edit?isDisabled=off")).await.shows("v2 fails");
    enabling.shows("If you enable it: v2 goes to all devices with app version 1.0.0.");
    // What devices get now is shown, and it fails as well.
    let all = [("failed", "v1"), ("failed", "v1"), ("failed", "v1"), ("failed", "v1"), ("failed", "v1")];
    app.clock.advance(1_000);
    deliver(&app, &key, &all).await;
    let text = "v1 fails: 5 of 6 devices that tried it went back to what they ran before (83.3%).";
    reader.open("/dashboard").await.shows(text).shows("releases/v1\">v1</a> for").shows("Newest: <a href=");
    let page = reader.open("/dashboard/apps/demo").await.shows("Failing<").shows("releases/v1\">v1</a> for").shows("83.3%");
    page.shows("releases/v2\">v2</a></span> <span class=\"tag bad\">Disabled</span>");
    let page = reader.open(PRODUCTION).await.shows(text).shows(&format!("{PRODUCTION}/releases/v1/edit?isDisabled=on\">Disable v1"));
    assert!(!page.html().contains("/rollback\">Roll back</a> ·"), "v1 is what a rollback would go back to: {}", page.html());
    change(&ada, "v1", json!({ "isDisabled": true })).await;
    let page = reader.open("/dashboard").await.shows("Devices get no release").html();
    assert!(!page.contains(" fails: ") && !page.contains("<meter"), "{page}");
    let page = reader.open("/dashboard/apps/demo").await.shows("data-label=\"Current release\">None<br>").html();
    assert!(!page.contains("Failing<") && !page.contains("<meter"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_diffs_have_saved_is_shown_as_an_estimate() {
    let app = TestApp::spawn().await;
    let one = json!({ "appVersion": "1.0.0" });
    let (_, mut reader, key) = with_releases(&app, &[one.clone(), one]).await;
    app.change("UPDATE releases SET size = 1300000000", &[]).await;
    app.add_diff(&key, ("v1", "v2"), 50_000_000).await;
    deliver(&app, &key, &[("installed", "v1")]).await;
    let (metrics, release) = (format!("{PRODUCTION}/metrics"), format!("{PRODUCTION}/releases/v2"));
    for page in [&metrics, &release] {
        assert!(!reader.open(page).await.html().to_lowercase().contains("saved by diffs"), "{page}: nothing");
    }
    app.clock.advance(1_000);
    deliver(&app, &key, &[("downloaded", "v2")]).await;
    for page in [&metrics, &format!("{metrics}/live")] {
        reader.open(page).await.shows("About 1.2 GB saved by diffs.").shows("This is an estimate");
    }
    reader.open(&release).await.shows("<dt>Saved by diffs</dt>").shows("<summary>About 1.2 GB ").shows("An estimate of what");
    let other = reader.open(&format!("{PRODUCTION}/releases/v1")).await.html();
    assert!(!other.contains("Saved by diffs"), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_raised_to_the_next_step() {
    let app = TestApp::spawn().await;
    let (ada, mut reader, _) = with_releases(&app, &[json!({ "appVersion": "1.0.0", "rollout": 7 })]).await;
    let edit = format!("{PRODUCTION}/releases/v1/edit");
    for (from, to) in [(7, 10), (10, 25), (25, 50), (50, 100)] {
        for page in [PRODUCTION, &format!("{PRODUCTION}/releases/v1")] {
            reader.open(page).await.shows(&format!("{edit}?rollout={to}\">Raise to {to}%"));
        }
        let asked = reader.open(&format!("{edit}?rollout={to}")).await.shows("<h1>Raise the rollout of v1</h1>");
        assert!(!asked.html().contains("name=\"appVersion\""), "it asks about one thing: {}", asked.html());
        let form = asked.shows(&format!("v1 goes to {from}% of the devices with app version 1.0.0.")).form_to(&edit);
        assert_eq!(form.fields["rollout"], to.to_string());
        // What is not higher is not taken over.
        for other in ["1", "101", "x", &format!("{to}&rollout={to}")] {
            assert_eq!(reader.open(&format!("{edit}?rollout={other}")).await.form_to(&edit).fields["rollout"], from.to_string());
        }
        reader.send(&form).await.shows("v1 was changed.");
    }
    assert!(!reader.open(PRODUCTION).await.html().contains("Raise to"));
    // What is mandatory stays so, and a refusal shows the whole form with its values.
    ada.upload("demo", "Production", b"two", json!({ "appVersion": "1.0.0", "rollout": 7, "isMandatory": true })).await.assert(201);
    let edit = format!("{PRODUCTION}/releases/v2/edit");
    let form = reader.open(&format!("{edit}?rollout=10")).await.form_to(&edit);
    let refused = reader.send(&form.clone().with(&[("rollout", "x")])).await.has_status(400).form_to(&edit);
    assert_eq!((refused.fields["appVersion"].as_str(), refused.fields["rollout"].as_str()), ("1.0.0", "x"));
    reader.send(&form).await.shows("v2 was changed.").shows("Mandatory").shows("rollout: <bdi>7% → 10%</bdi>");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_can_differ_from_the_release() {
    let app = TestApp::spawn().await;
    let (ada, mut reader, _) = with_releases(&app, &[]).await;
    let info = json!({ "appVersion": "1.0.0", "description": "first", "isMandatory": true });
    ada.upload("demo", "Staging", b"one", info).await.assert(201);
    let promote = "/dashboard/apps/demo/deployments/Staging/releases/v1/promote";
    reader.open("/dashboard/apps/demo/deployments/Staging").await.shows(&format!("{promote}?destination=Production\">Promote v1"));
    let form = reader.open(&format!("{promote}?destination=Production")).await.form_to(promote);
    let text = |name: &str| form.fields[name].as_str();
    assert_eq!((text("appVersion"), text("description"), text("isMandatory")), ("1.0.0", "first", "on"));
    assert!(!form.fields.contains_key("isDisabled"));
    let refused = reader.send(&form.clone().with(&[("appVersion", "one"), ("description", "kept")])).await.has_status(400);
    assert_eq!(refused.form_to(promote).fields["description"], "kept");
    let mut changed = form.with(&[("appVersion", "^1.0.0"), ("description", "second"), ("rollout", "10")]);
    changed.fields.remove("isMandatory");
    changed.fields.insert("isDisabled".to_owned(), "on".to_owned());
    reader.send(&changed).await.is_at(PRODUCTION);
    let promoted = ada.get("/v1/apps/demo/deployments/Production/releases/v1").await.assert(200)["package"].clone();
    for (member, value) in [
        ("appVersion", json!("^1.0.0")),
        ("description", json!("second")),
        ("rollout", json!(10)),
        ("isMandatory", json!(false)),
        ("isDisabled", json!(true)),
    ] {
        assert_eq!(promoted[member], value, "{member}");
    }
    let again =
        reader.open(promote).await.form_to(promote).with(&[("appVersion", "^1.0.0"), ("destination", &changed.fields["destination"])]);
    let text = "identical to v1, the current release for this target version";
    change(&ada, "v1", json!({ "rollout": 100 })).await;
    change(&ada, "v1", json!({ "isDisabled": false })).await;
    reader.send(&again).await.has_status(409).shows(text);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_long_texts_are_shown_for_people() {
    let app = TestApp::spawn().await;
    let long = "long ".repeat(80);
    let (_, mut reader, key) = with_releases(&app, &[json!({ "appVersion": "1.0.0", "description": long })]).await;
    let short = format!("{}…", "long ".repeat(20).trim_end());
    let page = reader.open(PRODUCTION).await.shows("No device runs v1 now.").shows(&short).html();
    assert!(!page.contains(long.trim_end()), "{page}");
    reader.open(&format!("{PRODUCTION}/releases/v1")).await.shows(long.trim_end());
    let upload = format!("{PRODUCTION}/upload");
    let page = reader.open(&upload).await.shows("No active devices.").html();
    assert!(!page.contains("run a release"), "{page}");
    deliver(&app, &key, &[("binary", "1.0.0"), ("binary", "1.0.0"), ("binary", "1.0.0"), ("installed", "v1"), ("installed", "v1")]).await;
    let page = reader.open(&upload).await.shows("5 active devices.").shows("report <bdi>1.0.0</bdi> (3).");
    page.shows("2 devices run a release: their app version is not counted.");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_target_version_is_forgotten_however_many_there_are() {
    let app = TestApp::spawn().await;
    let others =
        (0..41).map(|minor| json!({ "appVersion": (0..9).map(|patch| format!("2.{minor}.{patch}")).collect::<Vec<_>>().join("||") }));
    let releases: Vec<_> =
        [json!({ "appVersion": "1.0.7" })].into_iter().chain(others).chain([json!({ "appVersion": "^1.0.0" })]).collect();
    let (ada, mut reader, _) = with_releases(&app, &releases).await;
    let edit = format!("{PRODUCTION}/releases/v43/edit?isDisabled=on");
    reader
        .open(&edit)
        .await
        .shows("If you disable v43, devices with app version ^1.0.0 get v1 or no update, depending on their app version");
    reader
        .open(&format!("{PRODUCTION}/releases/v1"))
        .await
        .shows("v1 was replaced: no device gets it now. Devices with app version 1.0.7 get v43.");
    let page = reader.open(PRODUCTION).await.html();
    assert_eq!((page.matches("Live</span>").count(), page.matches("<meter").count()), (25, 25), "all of the first page: {page}");
    ada.upload("demo", "Production", b"all", json!({ "appVersion": "*" })).await.assert(201);
    let page = reader.open(PRODUCTION).await.html();
    assert_eq!((page.matches("Live</span>").count(), page.matches("Replaced</span>").count()), (1, 24), "{page}");
    // A pre-release as a bound.
    ada.upload("demo", "Production", b"beta", json!({ "appVersion": ">1.2.3-beta.1 <1.2.4" })).await.assert(201);
    reader.open(PRODUCTION).await.shows("v45 goes to all devices with app version");
}
