//! The pages of apps, deployments and releases.

use control::testing::jobs;
use serde_json::json;
use shared::ids::ReportId;
use tests::reader::Form;
use tests::reports::report;
use tests::{TestApp, encode_segment};

use super::escaping::{ATTEMPTS, stays_text};

const PRODUCTION: &str = "/dashboard/apps/demo/deployments/Production";

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_account_is_led_to_its_first_release_and_can_create_an_app() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let login = format!("updraft login --server {}", app.state().settings.base_url);
    let page = reader.open("/dashboard").await.shows("You have no apps yet").shows(&login);
    let page = page.shows("updraft init --app MyApp-iOS --deployment Staging").html();
    assert!(!page.contains("data-copies"), "an example is not to be copied: {page}");
    let refused = reader.fill("/dashboard/new-app", &[("name", "a/b")]).await.has_status(400).shows("must not contain");
    stays_text(&refused.html(), "a/b");
    let created = reader.fill("/dashboard/new-app", &[("name", "demo")]).await;
    created.is_at("/dashboard/apps/demo").shows("Created the app demo.").shows("Production").shows("Staging");
    reader.fill("/dashboard/new-app", &[("name", "demo")]).await.has_status(409);
    reader.open("/dashboard").await.shows("demo");
    reader.open(PRODUCTION).await.shows("No release yet").shows("updraft release create");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_show_what_runs_where_and_how_it_does() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (production, _) = ada.create_app("demo").await;
    for (content, info) in [
        ("one", json!({ "appVersion": "1.0.0", "description": "first" })),
        ("two", json!({ "appVersion": "^1.2.0", "description": "second", "isMandatory": true, "rollout": 25 })),
    ] {
        ada.upload("demo", "Production", content.as_bytes(), info).await.assert(201);
    }
    let now = app.clock.now();
    let events =
        [("a", "installed", "v1"), ("b", "installed", "v2"), ("c", "installed", "v2"), ("d", "failed", "v2"), ("e", "binary", "1.0.0")];
    let reports = events.iter().zip(1_u8..).map(|((client, event, place), number)| {
        report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &production, Some(client), event, place)
    });
    app.deliver(&reports.collect::<Vec<_>>()).await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/apps/demo").await.shows("v2").shows("^1.2.0").shows("Mandatory").shows("25%").shows("33.3%");
    assert!(!page.html().contains("Disabled"));
    reader.open(PRODUCTION).await.shows("v2 goes to 25% of the devices with app version ^1.2.0.").shows("first").shows(&production);
    let release = reader.open(&format!("{PRODUCTION}/releases/v2")).await.shows("second").shows("33.3%");
    let download = release.html().split("href=\"").find(|part| part.contains("/bundles/")).unwrap().split('"').next().unwrap().to_owned();
    let download = tests::reader::unescape(&download);
    assert_eq!(app.anonymous().get(&download[download.find("/v1/").unwrap()..]).await.text(), "two");
    // v1 is for other app versions.
    reader.open(PRODUCTION).await.shows("The others get no update.");
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "label": "v1", "packageInfo": { "appVersion": "^1.2.0" } }))
        .await
        .assert(200);
    reader.open(PRODUCTION).await.shows("v2 goes to 25% of the devices with app version ^1.2.0. The others get v1.");
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "isDisabled": true } })).await.assert(200);
    reader.open(PRODUCTION).await.shows("v2 is disabled: no device gets it. Devices with app version ^1.2.0 get v1.");
    reader.open(&format!("{PRODUCTION}/releases/v3")).await.has_status(404);
    reader.open(&format!("{PRODUCTION}/releases/two")).await.has_status(404);
    let found = reader.open(&format!("{PRODUCTION}?search=FIRST")).await.html();
    assert!(found.contains("releases/v1\"") && !found.contains("releases/v2\""), "{found}");
    reader.open(&format!("{PRODUCTION}?search=nowhere")).await.shows("No releases found.");
    reader.open("/dashboard/apps/demo/activity").await.shows("ada@example.com");
    let csv = reader.open(&format!("{PRODUCTION}/metrics/days.csv")).await.has_status(200).html();
    assert!(csv.starts_with("date"), "{csv}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_shows_how_devices_adopt_its_releases() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    let (production, _) = ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    assert!(!reader.open(PRODUCTION).await.html().contains("Adoption"), "there is no release");
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let page = reader.open(PRODUCTION).await.shows("There is no history in this range.").html();
    assert!(!page.contains("charts-") && !page.contains("uplot"), "{page}");
    let now = app.clock.now();
    let reports = ["a", "b"]
        .iter()
        .zip(1_u8..)
        .map(|(client, number)| report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &production, Some(client), "installed", "v1"));
    app.deliver(&reports.collect::<Vec<_>>()).await;
    jobs::history_round(&app.state()).await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    for (reader, page) in [(&mut reader, PRODUCTION.to_owned()), (&mut bob, PRODUCTION.replace("demo", "ada@example.com:demo"))] {
        // Other numbers of days than those of the links, and anything that is not a number, are the default.
        for (query, range) in [
            ("", "30 days"),
            ("?days=7", "7 days"),
            ("?days=365", "1 year"),
            ("?days=8", "30 days"),
            ("?days=x", "30 days"),
            ("?days=-1", "30 days"),
        ] {
            let page = reader.open(&format!("{page}{query}")).await.has_status(200).html();
            assert!(
                page.contains("data-chart=\"stacked\" data-of=\"adoption-table\"") && page.contains("data-number=\"2\""),
                "{query}: {page}"
            );
            assert!(page.contains(&format!("aria-current=\"true\">{range}</a>")), "{query}: {page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_releases_has_pages() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    for number in 1..=27 {
        let content = number.to_string();
        ada.upload("demo", "Production", content.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
    }
    let mut reader = app.signed_in_reader("ada").await;
    let first = reader.open(PRODUCTION).await.shows("Older releases").html();
    assert!(first.contains("releases/v27\"") && first.contains("releases/v3\"") && !first.contains("releases/v2\""));
    let second = reader.open(&format!("{PRODUCTION}?search=&before=3")).await.shows("Newest releases").html();
    assert!(second.contains("releases/v1\"") && second.contains("releases/v2\"") && !second.contains("releases/v3\""));
    assert!(!second.contains("Older releases"));
    // What is not a number starts at the newest release.
    let odd = reader.open(&format!("{PRODUCTION}?before=%00")).await.html();
    assert!(odd.contains("releases/v27\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_no_key_and_a_stranger_sees_nothing() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob", "eve"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    let (key, _) = ada.create_app("demo").await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    let page = bob.open(&PRODUCTION.replace("demo", "ada@example.com:demo")).await.has_status(200);
    assert!(!page.html().contains(&key));
    assert!(!page.html().contains("/activity"), "no link to a page that he may not see");
    assert!(!page.html().contains("updraft release create"));
    for page in ["", "/deployments/Staging"] {
        let page = bob.open(&format!("/dashboard/apps/ada@example.com:demo{page}")).await.shows("You are a Viewer of this app");
        page.shows("demo/collaborators#roles\">What each role can do");
    }
    bob.open("/dashboard/apps/ada@example.com:demo/activity").await.has_status(403);
    bob.open("/dashboard/apps/ada@example.com:demo/collaborators").await.shows("bob@example.com").shows("Viewer");
    let mut eve = app.signed_in_reader("eve").await;
    for page in [
        "",
        "/collaborators",
        "/activity",
        "/deployments/Production",
        "/deployments/Production/releases/v1",
        "/deployments/Production/metrics",
    ] {
        for name in ["demo", "ada@example.com:demo"] {
            eve.open(&format!("/dashboard/apps/{name}{page}")).await.has_status(404);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_descriptions_are_escaped() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    for (number, text) in (1..).zip(ATTEMPTS) {
        let info = json!({ "appVersion": "1.0.0", "description": text });
        ada.upload("demo", "Production", text.as_bytes(), info).await.assert(201);
        let mut reader = app.signed_in_reader("ada").await;
        stays_text(&reader.open(PRODUCTION).await.html(), text);
        stays_text(&reader.open(&format!("{PRODUCTION}/releases/v{number}")).await.html(), text);
        stays_text(&reader.fill("/dashboard/new-app", &[("name", text)]).await.html(), text);
        let search = encode_segment(text);
        stays_text(&reader.open(&format!("{PRODUCTION}?search={search}")).await.html(), text);
    }
}

/// The form with this checkbox checked.
fn ticked(mut form: Form, name: &str) -> Form {
    form.fields.insert(name.to_owned(), "on".to_owned());
    form
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_edited_and_a_second_tab_is_told_about_it() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let info = json!({ "appVersion": "1.0.0", "description": "first", "rollout": 10 });
    ada.upload("demo", "Production", b"one", info).await.assert(201);
    let edit = format!("{PRODUCTION}/releases/v1/edit");
    let mut reader = app.signed_in_reader("ada").await;
    let (first, second) = (reader.open(&edit).await.form_to(&edit), reader.open(&edit).await.form_to(&edit));
    reader.send(&ticked(first.with(&[("rollout", "25"), ("description", "better")]), "isMandatory")).await.shows("v1 was changed.");
    let release = async || ada.get("/v1/apps/demo/deployments/Production/releases/v1").await.assert(200)["package"].clone();
    let now = release().await;
    assert_eq!((&now["rollout"], &now["isMandatory"], &now["description"]), (&json!(25), &json!(true), &json!("better")));
    // The other tab shows 10 % and the old description: nothing is lost.
    let refused = reader.send(&second.with(&[("rollout", "50")])).await.has_status(409).shows("was changed meanwhile");
    assert_eq!(release().await, now);
    // Its form now has the new values. Only the description is what was typed.
    let again = refused.form_to(&edit);
    assert_eq!((again.fields["rollout"].as_str(), again.fields["description"].as_str()), ("25", "first"));
    reader.send(&again.with(&[("rollout", "50")])).await.shows("v1 was changed.");
    assert_eq!(release().await["rollout"], 50);
    // A release that somebody disabled meanwhile is not enabled by trying again.
    let stale = reader.open(&edit).await.form_to(&edit);
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "isDisabled": true } })).await.assert(200);
    let refused = reader.send(&stale.with(&[("description", "mine")])).await.has_status(409);
    reader.send(&refused.form_to(&edit)).await.shows("v1 was changed.");
    let now = release().await;
    assert_eq!((&now["isDisabled"], &now["description"]), (&json!(true), &json!("mine")));
    ada.patch("/v1/apps/demo/deployments/Production/release", json!({ "packageInfo": { "isDisabled": false } })).await.assert(200);
    for (field, value, text) in [
        ("rollout", "20", "must not be lower"),
        ("rollout", "101", "whole number from 1 to 100"),
        ("appVersion", "one", "semantic version"),
        ("seen", "x", "is not valid"),
    ] {
        let form = reader.open(&edit).await.form_to(&edit);
        reader.send(&form.with(&[(field, value)])).await.shows(text);
    }
    let form = reader.open(&edit).await.form_to(&edit);
    reader.send(&ticked(form.with(&[("rollout", "100")]), "isDisabled")).await.shows("v1 was changed.").shows("is disabled");
    let complete = reader.open(&edit).await;
    assert!(!complete.html().contains("name=\"rollout\""), "a complete rollout cannot change");
    reader.send(&complete.form_to(&edit)).await.shows("Nothing was changed.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_rolled_back() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let rollback = format!("{PRODUCTION}/rollback");
    let mut reader = app.signed_in_reader("ada").await;
    reader.open(&rollback).await.shows("There is no earlier release");
    for (content, version) in [("one", "1.0.0"), ("two", "2.0.0"), ("three", "1.0.0")] {
        ada.upload("demo", "Production", content.as_bytes(), json!({ "appVersion": version })).await.assert(201);
    }
    let page = reader.open(&rollback).await.shows("v1,");
    assert!(!page.html().contains("v2,"), "v2 is for other app versions");
    let form = page.form_to(&rollback);
    reader.send(&form.clone().with(&[("targetRelease", "v2")])).await.has_status(409);
    reader.send(&form.clone().with(&[("targetRelease", "x")])).await.has_status(400);
    reader.send(&form.clone().with(&[("targetRelease", "v1"), ("seen", "x")])).await.has_status(400);
    let form = form.with(&[("targetRelease", "v1")]);
    reader.send(&form).await.is_at(PRODUCTION).shows("Rolled back to v1. The new release is v4.");
    // A second click rolls back once.
    reader.send(&form).await.is_at(PRODUCTION).shows("The new release is v4.");
    // A second tab still shows v3 as the newest release: it must not replace one that it has not shown.
    let stale = page.form_to(&rollback).with(&[("targetRelease", "v1"), ("once", "")]);
    let refused = reader.send(&stale).await.has_status(409).shows("v4 was released meanwhile: check it, and try again.");
    // What has the same contents as v4 is no way back from it.
    refused.shows("the same contents as v4").shows("value=\"v3\" checked");
    assert_eq!(ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200)["history"].as_array().unwrap().len(), 4);
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(201);
    let mut bob = app.signed_in_reader("bob").await;
    for page in [format!("{PRODUCTION}/rollback"), format!("{PRODUCTION}/releases/v1/edit")] {
        let refused = bob.open(&page.replace("demo", "ada@example.com:demo")).await.has_status(403);
        let refused = refused.shows("does not include this permission: Release, promote and roll back.");
        refused.shows("See what each role can do").shows("demo/collaborators#roles");
    }
    let page = bob.open(&PRODUCTION.replace("demo", "ada@example.com:demo")).await.html();
    assert!(!page.contains("/rollback"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_would_not_help_leads_to_what_does() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("demo").await;
    let rollback = format!("{PRODUCTION}/rollback");
    for version in ["1.0.0", "1.0.0", "1.0.0", "2.0.0"] {
        ada.upload("demo", "Production", format!("for {version}, {}", rollback.len()).as_bytes(), json!({ "appVersion": version })).await;
    }
    for (content, version) in [("one", "1.0.0"), ("two", "1.0.0"), ("three", "1.0.0")] {
        ada.upload("demo", "Production", content.as_bytes(), json!({ "appVersion": version })).await.assert(201);
    }
    let history = ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200);
    let newest = history["history"].as_array().unwrap().len();
    // The release before the newest one failed.
    let now = app.clock.now();
    let reports = (1_u8..=3).map(|number| {
        let bad = format!("v{}", newest - 1);
        report(ReportId::v7(now, [number; 10]).as_ref(), now.0, &key, Some(&format!("device {number}")), "failed", &bad)
    });
    app.deliver(&reports.collect::<Vec<_>>()).await;
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(&rollback).await.shows("failed on 3 of 3 devices that tried it (100%)");
    page.shows(&format!("value=\"v{}\" checked", newest - 2));
    // The newest one is disabled, and for other app versions: what devices get can only be disabled.
    ada.upload("demo", "Production", b"four", json!({ "appVersion": "3.0.0", "isDisabled": true })).await.assert(201);
    let page = reader.open(&rollback).await.shows("There is no earlier release for the same target version.");
    page.shows(&format!("releases/v{newest}/edit?isDisabled=on\">Disable v{newest}</a>")).shows(&format!("If you disable v{newest}, "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_promoted_once() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0", "description": "first" })).await.assert(201);
    let promote = "/dashboard/apps/demo/deployments/Staging/releases/v1/promote";
    let mut reader = app.signed_in_reader("ada").await;
    let form = reader.open(promote).await.shows("no release yet, no active devices").form_to(promote);
    let form = form.with(&[("rollout", "25")]);
    // Twice, as by a second click.
    for _ in 0..2 {
        reader.send(&form).await.is_at(PRODUCTION).shows("The new release of Production is v1: devices get it within a minute.");
    }
    let history = ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200);
    assert_eq!(history["history"].as_array().unwrap().len(), 1);
    assert_eq!(history["history"][0]["rollout"], 25);
    let again = reader.open(promote).await.shows("now v1 for").form_to(promote);
    reader.send(&again.clone().with(&[("rollout", "x")])).await.has_status(400).shows("whole number from 1 to 100");
    reader.send(&again).await.has_status(409);
    // The page says so before anyone fills it in.
    let said = reader.open(promote).await.shows("The rollout of v1 is unfinished: it goes to 25% of devices.");
    said.shows(&format!("{PRODUCTION}/releases/v1/edit\">Set it to 100% or disable v1</a>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_goes_to_the_deployment_that_the_page_showed_or_nowhere() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Staging", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let promote = "/dashboard/apps/demo/deployments/Staging/releases/v1/promote";
    let mut reader = app.signed_in_reader("ada").await;
    let rename = async |from: &str, to: &str| {
        ada.patch(&format!("/v1/apps/demo/deployments/{from}"), json!({ "name": to })).await.assert(200);
    };
    let form = reader.open(promote).await.form_to(promote);
    for bad in ["", "Production", "/Production", "Production/Production"] {
        assert!([400, 404].contains(&reader.send(&form.clone().with(&[("destination", bad)])).await.answer.status.as_u16()), "{bad}");
    }
    reader.send(&form.clone().with(&[("release", "")])).await.has_status(404);
    // The destination was renamed, and another one has its name.
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Other" })).await.assert(201);
    rename("Production", "Old").await;
    rename("Other", "Production").await;
    let text = "A deployment was renamed, deleted or created since you opened this page.";
    let again = reader.send(&form).await.has_status(404).shows(text);
    for name in ["Old", "Production"] {
        let history = ada.get(&format!("/v1/apps/demo/deployments/{name}/history")).await.assert(200);
        assert_eq!(history["history"], json!([]), "{name}");
    }
    // So was the source, whose v1 is another release now.
    ada.upload("demo", "Old", b"two", json!({ "appVersion": "1.0.0" })).await.assert(201);
    rename("Staging", "Before").await;
    rename("Old", "Staging").await;
    reader.send(&again.form_to(promote)).await.has_status(404).shows(text);
    let history = ada.get("/v1/apps/demo/deployments/Production/history").await.assert(200);
    assert_eq!(history["history"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_device_gets_is_explained() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let check = format!("{PRODUCTION}/check");
    reader.open(&format!("{check}?appVersion=1.0.0")).await.shows("No update").shows("The deployment has no releases.");
    for (content, info) in [("one", json!({ "appVersion": "1.0.0" })), ("two", json!({ "appVersion": "1.0.0", "rollout": 10 }))] {
        ada.upload("demo", "Production", content.as_bytes(), info).await.assert(201);
    }
    let page = reader.open(&format!("{check}?appVersion=1.0.0&label=&packageHash=&clientUniqueId=phone")).await.html();
    let explained = ada.get("/v1/apps/demo/deployments/Production/explain?appVersion=1.0.0&clientUniqueId=phone").await.assert(200);
    stays_text(&page, explained["reason"]["text"].as_str().unwrap());
    assert!(page.contains(&format!("rollout bucket {} of", explained["bucket"])), "{page}");
    for considered in explained["considered"].as_array().unwrap() {
        stays_text(&page, considered["text"].as_str().unwrap());
    }
    // The label is enough to say what the device runs.
    reader.open(&format!("{check}?appVersion=1.0.0&label=v1&packageHash=&clientUniqueId=")).await.has_status(200).shows(">No update<");
    let unknown = reader.open(&format!("{check}?appVersion=1.0.0&label=v9")).await;
    unknown.has_status(404).shows("Production has no release of this label.");
    reader.open(&format!("{check}?appVersion=")).await.has_status(400);
    let refused = reader.open(&format!("{check}?appVersion=one")).await.has_status(400).html();
    assert!(refused.contains("value=\"one\""), "{refused}");
    assert!(refused.contains("\"appVersion-error\">App version must be a semantic version, such as 1.0.0.<"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_created_renamed_cleared_and_deleted() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let new = "/dashboard/apps/demo/new-deployment";
    reader.fill(new, &[("name", "Beta"), ("key", "short")]).await.has_status(400);
    let beta = "/dashboard/apps/demo/deployments/Beta";
    reader.fill(new, &[("name", "Beta"), ("key", "key-of-installed-apps")]).await.is_at(beta).shows("key-of-installed-apps");
    reader.fill(new, &[("name", "Beta")]).await.has_status(409);
    ada.upload("demo", "Beta", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);

    let form_of = |page: &tests::reader::Page, field: &str| page.forms().into_iter().find(|form| form.fields.contains_key(field)).unwrap();
    let settings = format!("{beta}/settings");
    let page = reader.open(&settings).await;
    reader.send(&form_of(&page, "name").with(&[("name", "Production")])).await.has_status(409);
    let renamed = "/dashboard/apps/demo/deployments/Gamma";
    reader.send(&form_of(&page, "name").with(&[("name", "Gamma")])).await.is_at(renamed);
    let settings = format!("{renamed}/settings");
    for field in ["clearName", "deleteName"] {
        let page = reader.open(&settings).await;
        let refused = reader.send(&form_of(&page, field).with(&[(field, "Beta")])).await.has_status(400).shows("No changes were made.");
        assert_eq!(form_of(&refused, field).fields[field], "Beta", "what was typed stays");
    }
    assert_eq!(ada.get("/v1/apps/demo/deployments/Gamma/history").await.assert(200)["history"].as_array().unwrap().len(), 1);
    let page = reader.open(&settings).await;
    reader.send(&form_of(&page, "clearName").with(&[("clearName", "Gamma")])).await.is_at(renamed).shows("Cleared the history");
    // Devices may still run what was released.
    let page = reader.open(renamed).await.shows("No release: the history was cleared. Devices keep what they run.").html();
    assert!(!page.contains("First steps"), "{page}");
    assert_eq!(ada.get("/v1/apps/demo/deployments/Gamma/history").await.assert(200)["history"], json!([]));
    let page = reader.open(&settings).await;
    reader.send(&form_of(&page, "deleteName").with(&[("deleteName", "Gamma")])).await.is_at("/dashboard/apps/demo");
    ada.get("/v1/apps/demo/deployments/Gamma").await.refused(404);
}
