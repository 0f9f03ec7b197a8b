//! The operations that `updraft import codepush` calls, as a client that plays by no rules calls them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use shared::hash::Sha256Hex;
use tests::{Answer, Bundle, Client, Options, TestApp};

use super::history;

const SOURCE: &str = "https://old.example";

/// An app to import, with one deployment.
fn app_of(name: &str, key: &str) -> Value {
    let deployment = json!({ "sourceName": "Production", "name": "Production", "key": key });
    json!({ "source": SOURCE, "app": { "sourceName": name, "name": name, "deployments": [deployment] } })
}

/// Ada, with an imported app.
async fn ada() -> (TestApp, Client) {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.post("/v1/imports/apps", app_of("Weather", "key-of-weather-0123")).await.assert(200);
    (app, ada)
}

async fn send(client: &Client, bytes: &[u8]) -> Answer {
    let request = client.request(Method::POST, "/v1/apps/Weather/imports/packages").header("content-type", "application/octet-stream");
    client.send(request.body(bytes.to_vec())).await
}

async fn import(client: &Client, releases: Value) -> Answer {
    client.post("/v1/apps/Weather/deployments/Production/imports", json!({ "releases": releases })).await
}

fn release(label: &str, bytes: &[u8]) -> Value {
    json!({ "label": label, "appVersion": "1.0.0", "package": Sha256Hex::of(bytes).to_string() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_needs_its_packages_and_is_imported_at_once() {
    let (app, ada) = ada().await;
    let archive = Bundle::script("three").0;
    let releases = json!([release("v3", b"one"), release("v5", &archive), release("v6", b"one")]);
    let missing = import(&ada, releases.clone()).await.assert(200);
    assert_eq!(missing["result"], "packagesMissing");
    assert_eq!(missing["missingPackages"], json!([Sha256Hex::of(b"one").to_string(), Sha256Hex::of(&archive).to_string()]));
    send(&ada, b"one").await.assert(200);
    let missing = import(&ada, releases.clone()).await.assert(200);
    assert_eq!(missing["missingPackages"], json!([Sha256Hex::of(&archive).to_string()]));
    assert_eq!(history(&ada, "Weather", "Production").await, Vec::<Value>::new());
    let sent = send(&ada, &archive).await.assert(200);
    assert_eq!((&sent["package"]["size"], &sent["package"]["sha256"]), (&json!(archive.len()), &missing["missingPackages"][0]));
    let done = import(&ada, releases.clone()).await.assert(200);
    assert_eq!((&done["result"], &done["added"], &done["updated"]), (&json!("imported"), &json!(3), &json!(0)));
    let here = history(&ada, "Weather", "Production").await;
    let labels: Vec<_> = here.iter().map(|release| release["label"].clone()).collect();
    assert_eq!(labels, ["v3", "v5", "v6"].map(Value::from));
    assert_eq!(here[1]["packageHash"], sent["package"]["packageHash"]);
    assert_eq!(here[0]["releasedBy"], "unknown");
    assert_eq!(
        app.number("SELECT COUNT(*) FROM blobs WHERE file_sizes IS NOT NULL AND file_sizes <> '[]'").await,
        1,
        "those of the archive"
    );
    // What is here needs no package again, also after those that were sent are forgotten.
    app.change("DELETE FROM imported_packages", &[]).await;
    let mut changed = releases;
    changed[1]["isDisabled"] = json!(true);
    let done = import(&ada, changed).await.assert(200);
    assert_eq!((&done["result"], &done["added"], &done["updated"]), (&json!("imported"), &json!(0), &json!(1)));
    assert_eq!(history(&ada, "Weather", "Production").await[1]["isDisabled"], true);
    // A label that stands for another package: the history there is another one.
    for other in [json!({ "label": "v3", "appVersion": "2.0.0", "packageHash": "0".repeat(64) }), release("v3", b"two")] {
        let done = import(&ada, json!([other])).await.assert(200);
        assert_eq!((&done["result"], &done["differingReleases"]), (&json!("otherPackages"), &json!(["v3"])));
    }
    assert_eq!(history(&ada, "Weather", "Production").await[0]["appVersion"], "1.0.0");
    import(&ada, json!([{ "label": "v9", "appVersion": "1.0.0" }])).await.refused(400);
    let checked =
        ada.post("/v1/imports/check", json!({ "source": SOURCE, "apps": [app_of("Weather", "key-of-weather-0123")["app"]] })).await;
    let known = json!([{ "sourceName": "Production", "name": "Production", "newestLabel": "v6", "hasOwnReleases": false }]);
    assert_eq!(checked.assert(200)["knownApps"][0]["deployments"], known);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_for_releases_and_packages_hold() {
    let (_app, ada) = ada().await;
    send(&ada, b"one").await.assert(200);
    let one = |changes: Value| {
        let mut release = release("v1", b"one");
        release.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        json!([release])
    };
    let of_version = |number: u32| {
        let mut release = release(&format!("v{number}"), b"one");
        release["appVersion"] = json!(format!("{number}.0.0"));
        release
    };
    for (releases, why) in [
        (one(json!({ "appVersion": "1.2.3.4" })), "releases: v1: its app version"),
        (one(json!({ "rollout": 101 })), "releases: v1: its rollout is more than 100 %"),
        (one(json!({ "description": "x".repeat(10_001) })), "releases: v1: its description has more than 10000"),
        (one(json!({ "packageHash": "0".repeat(64) })), "releases: v1: its packageHash is not that of the package's contents"),
        (one(json!({ "label": "v0" })), "releases: number 1 must be an object with label"),
        (json!([release("v2", b"one"), release("v1", b"one")]), "releases: the release v1 comes after v2 in the history"),
        (json!("v1"), "releases: must be a list"),
        (
            json!((1..=1_001).map(|number| release(&format!("v{number}"), b"one")).collect::<Vec<_>>()),
            "releases: has 1001 releases; at most 1000",
        ),
        (json!((1..=501).map(of_version).collect::<Vec<_>>()), "releases: its releases have 501 different app versions"),
    ] {
        let answer = import(&ada, releases).await;
        let text = answer.refused(400);
        assert!(text.contains(why), "{why} in {text}");
    }
    assert_eq!(history(&ada, "Weather", "Production").await, Vec::<Value>::new());
    send(&ada, b"PK\x03\x04 is no archive").await.refused(400);
    send(&ada, b"").await.refused(400);
    // Only what was imported has a history to import.
    ada.create_app("Own").await;
    ada.post("/v1/apps/Own/deployments/Production/imports", json!({ "releases": [] })).await.refused(409);
    let request = ada.request(Method::POST, "/v1/apps/Own/imports/packages").body("one");
    ada.send(request).await.refused(409);
    ada.post("/v1/apps/Weather/deployments", json!({ "name": "Beta" })).await.assert(201);
    ada.post("/v1/apps/Weather/deployments/Beta/imports", json!({ "releases": [] })).await.refused(409);
    ada.post("/v1/apps/Weather/deployments/Absent/imports", json!({ "releases": [] })).await.refused(404);
    for (body, why) in [
        (json!({ "source": "ftp://old.example", "apps": [] }), "source: the address is invalid"),
        (json!({ "source": "https://ada:secret@old.example", "apps": [] }), "source: the address is invalid"),
        (json!({ "source": format!("https://{}.example", "x".repeat(500)), "apps": [] }), "source: must have at most 500"),
        (json!({ "source": SOURCE, "apps": [{ "sourceName": "a\nb", "name": "a", "deployments": [] }] }), "apps: a sourceName"),
        (json!({ "source": SOURCE, "apps": [{ "sourceName": "a", "name": "a/b", "deployments": [] }] }), "apps: the name of a"),
        (json!({ "source": SOURCE, "apps": [app_of("a", "short")["app"]] }), "apps: the key of Production"),
        (
            json!({ "source": SOURCE, "apps": [app_of("a", "key-of-a-01234567")["app"], app_of("a", "key-of-b-01234567")["app"]] }),
            "apps: a appears twice",
        ),
        (json!({ "source": SOURCE, "apps": [], "storedBytes": "many" }), "storedBytes: "),
        (json!({}), "source: is required; apps: is required"),
    ] {
        let answer = ada.post("/v1/imports/check", body).await;
        let text = answer.refused(400);
        assert!(text.contains(why), "{why} in {text}");
    }
    let large = vec![b' '; (8 << 20) + 1];
    let request = ada.request(Method::POST, "/v1/imports/check").header("content-type", "application/json").body(large);
    ada.send(request).await.refused(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_of_one_app_are_nothing_to_another_and_keys_are_not_captured() {
    let (app, ada) = ada().await;
    let bob = app.sign_up("bob").await;
    bob.post("/v1/imports/apps", app_of("Weather", "key-of-weather-0123")).await.refused(409);
    assert_eq!(bob.get("/v1/apps").await.assert(200)["apps"], json!([]), "nothing is left of the refused app");
    bob.post("/v1/imports/apps", app_of("Weather", "key-of-bob-01234567")).await.assert(200);
    send(&ada, b"of ada").await.assert(200);
    let missing = import(&bob, json!([release("v1", b"of ada")])).await.assert(200);
    assert_eq!(missing["result"], "packagesMissing", "knowing a hash gives nobody the package");
    // A collaborator, even an Admin, cannot import into the app.
    ada.post("/v1/apps/Weather/collaborators/bob@example.com", json!({ "permission": "Developer" })).await.assert(201);
    let path = "/v1/apps/ada@example.com:Weather/deployments/Production/imports";
    bob.post(path, json!({ "releases": [release("v1", b"of ada")] })).await.refused(403);
    // Ada's own key of a deleted deployment can come back.
    ada.delete("/v1/apps/Weather").await.assert_status(204);
    bob.post("/v1/imports/apps", app_of("Taken", "key-of-weather-0123")).await.refused(409);
    ada.post("/v1/imports/apps", app_of("Weather", "key-of-weather-0123")).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_imported_once_however_often_it_is_asked_for() {
    let (app, ada) = ada().await;
    let mut both = app_of("Weather", "key-of-weather-0123");
    let beta = json!({ "sourceName": "Beta", "name": "Beta", "key": "key-of-beta-0123" });
    both["app"]["deployments"].as_array_mut().unwrap().push(beta);
    let answers = futures_util::future::join_all((0..8).map(|_| ada.post("/v1/imports/apps", both.clone()))).await;
    for answer in answers {
        // Another one may have the database at that moment.
        assert!(answer.status == 200 || answer.status == 429, "{}", answer.text());
    }
    assert_eq!(ada.get("/v1/apps").await.assert(200)["apps"].as_array().unwrap().len(), 1);
    assert_eq!(ada.get("/v1/apps/Weather/deployments").await.assert(200)["deployments"].as_array().unwrap().len(), 2);
    // Renamed here, it is still the same app.
    ada.patch("/v1/apps/Weather", json!({ "name": "Climate" })).await.assert(200);
    ada.patch("/v1/apps/Climate/deployments/Beta", json!({ "name": "Canary" })).await.assert(200);
    let again = ada.post("/v1/imports/apps", both).await.assert(200);
    assert_eq!(again["app"]["name"], "Climate");
    let deployments = json!([{ "sourceName": "Production", "name": "Production" }, { "sourceName": "Beta", "name": "Canary" }]);
    assert_eq!(again["app"]["deployments"], deployments);
    drop(app);
}

#[tokio::test(flavor = "multi_thread")]
async fn collaborators_count_toward_the_limit_for_adding_them() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "3/1h")).await;
    let ada = app.sign_up("ada").await;
    app.sign_up("bob").await;
    let with = |name: &str, people: &[&str]| {
        let mut new = app_of(name, &format!("key-of-{name}-0123456789"));
        new["app"]["collaborators"] = json!(people);
        new
    };
    let answer = ada.post("/v1/imports/apps", with("one", &["bob@example.com", "Eve@example.com", "no address", "ada@example.com"])).await;
    let states = json!([
        { "email": "bob@example.com", "state": "added" },
        { "email": "Eve@example.com", "state": "awaited" },
        { "email": "no address", "state": "noAddress" },
    ]);
    assert_eq!(answer.assert(200)["app"]["collaborators"], states);
    // Each tells whether an address has an account, so nobody can ask for many at once.
    let people: Vec<_> = (0..1_000).map(|number| format!("c{number}@example.com")).collect();
    let many = with("many", &people.iter().map(String::as_str).collect::<Vec<_>>());
    let answer = ada.post("/v1/imports/apps", many.clone()).await;
    let text = answer.refused(400);
    assert!(text.contains("app: it has 1000 collaborators; at most 3 can be imported at once"), "{text}");
    let checked = ada.post("/v1/imports/check", json!({ "source": SOURCE, "apps": [many["app"]] })).await.assert(200);
    assert!(checked["problems"][0]["message"].as_str().unwrap().starts_with("it has 1000 collaborators;"), "{checked}");
    assert_eq!(app.number("SELECT COUNT(*) FROM awaited_collaborators").await, 1);
    // Two are too many now, and nothing of the app is created.
    let refused = ada.post("/v1/imports/apps", with("two", &["bob@example.com", "eve@example.com"])).await;
    refused.refused(429);
    assert_eq!(ada.get("/v1/apps").await.assert(200)["apps"].as_array().unwrap().len(), 1);
    ada.post("/v1/imports/apps", with("two", &["bob@example.com"])).await.assert(200);
    // A repeated call adds nobody, so it counts nobody.
    ada.delete("/v1/apps/one/collaborators/bob@example.com").await.assert_status(204);
    let again = ada.post("/v1/imports/apps", with("one", &["bob@example.com", "eve@example.com"])).await.assert(200);
    let states = json!([{ "email": "bob@example.com", "state": "notAdded" }, { "email": "eve@example.com", "state": "awaited" }]);
    assert_eq!(again["app"]["collaborators"], states);
    assert!(ada.get("/v1/apps/one/collaborators").await.assert(200)["collaborators"]["bob@example.com"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_packages_count_as_uploads() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_UPLOADS", "2/15m")).await;
    let ada = app.sign_up("ada").await;
    let new = app_of("Weather", "key-of-weather-0123");
    for _ in 0..4 {
        ada.post("/v1/imports/check", json!({ "source": SOURCE, "apps": [new["app"]] })).await.assert(200);
        ada.post("/v1/imports/apps", new.clone()).await.assert(200);
        import(&ada, json!([])).await.assert(200);
    }
    send(&ada, b"one").await.assert(200);
    send(&ada, b"two").await.assert(200);
    send(&ada, b"three").await.refused(429);
    let done = import(&ada, json!([release("v1", b"one"), release("v2", b"two")])).await.assert(200);
    assert_eq!(done["added"], 2);
    ada.upload("Weather", "Production", b"three", json!({ "appVersion": "1.0.0" })).await.refused(429);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_are_told_by_the_check_and_hold_in_any_case() {
    let options = Options::default().with("LIMIT_APPS", "2").with("LIMIT_DEPLOYMENTS", "1").with("LIMIT_STORED_BYTES", "10");
    let app = TestApp::spawn_with(options).await;
    let ada = app.sign_up("ada").await;
    let mut first = app_of("one", "key-of-one-0123456789");
    first["app"]["deployments"].as_array_mut().unwrap().push(json!({ "sourceName": "B", "name": "B", "key": "key-of-b-0123456" }));
    let apps = json!([first["app"], app_of("two", "key-of-two-0123456789")["app"], app_of("three", "key-of-three-01234567")["app"]]);
    let checked = ada.post("/v1/imports/check", json!({ "source": SOURCE, "apps": apps, "storedBytes": 11 })).await.assert(200);
    let told: Vec<_> = checked["problems"].as_array().unwrap().iter().map(|one| (one["app"].clone(), one["message"].clone())).collect();
    assert_eq!(
        told,
        [
            (json!("one"), json!("it has 2 deployments; the quota is 1")),
            (Value::Null, json!("would have 3 apps; the quota is 2")),
            (Value::Null, json!("would have 11 bytes of packages; the quota is 10")),
        ]
    );
    assert_eq!(checked["limits"]["maxReleases"], 1_000);
    ada.post("/v1/imports/apps", first).await.refused(409);
    ada.post("/v1/imports/apps", app_of("Weather", "key-of-weather-0123")).await.assert(200);
    send(&ada, b"12345678901").await.refused(409);
    send(&ada, b"1234567890").await.assert(200);
    send(&ada, b"1").await.refused(409);
    // What was sent already is not counted twice.
    let again = json!({ "source": SOURCE, "apps": [app_of("Weather", "key-of-weather-0123")["app"]], "storedBytes": 10 });
    let checked = ada.post("/v1/imports/check", again).await.assert(200);
    assert_eq!((&checked["problems"], &checked["limits"]["storedBytesLeft"]), (&json!([]), &json!(10)));
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 1, "a refused package leaves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_that_name_each_other_do_not_wait_for_each_other() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1000/1h")).await;
    let mut clients = Vec::new();
    for name in ["ada", "bob", "carol"] {
        clients.push(app.sign_up(name).await);
    }
    for round in 0..10 {
        let import = async |client: &Client, name: &str| {
            let mut new = app_of(&format!("App-{round}"), &format!("key-of-{name}-{round:010}"));
            new["app"]["collaborators"] = json!(["carol@example.com", "bob@example.com", "ada@example.com"]);
            client.post("/v1/imports/apps", new).await
        };
        let (one, two, three) = tokio::join!(import(&clients[0], "ada"), import(&clients[1], "bob"), import(&clients[2], "carol"));
        for answer in [one, two, three] {
            let people = answer.assert(200)["app"]["collaborators"].take();
            assert!(people.as_array().unwrap().iter().all(|person| person["state"] == "added"), "{people}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_upload_of_the_same_bytes_leaves_the_package() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_SNAPSHOT_BYTES", "64KiB")).await;
    let ada = app.sign_up("ada").await;
    let mut both = app_of("Weather", "key-of-weather-0123");
    let beta = json!({ "sourceName": "Beta", "name": "Beta", "key": "key-of-beta-0123" });
    both["app"]["deployments"].as_array_mut().unwrap().push(beta);
    ada.post("/v1/imports/apps", both).await.assert(200);
    let archive = Bundle::script("same").0;
    let sent = send(&ada, &archive).await.assert(200);
    // There is no room for its description, which only the last step finds.
    let long = |number: u32| json!({ "appVersion": format!("{number}.0.0"), "description": "x".repeat(10_000) });
    for number in 0..6 {
        ada.upload("Weather", "Production", format!("content {number}").as_bytes(), long(number)).await.assert(201);
    }
    ada.upload("Weather", "Production", &archive, long(6)).await.refused(409);
    let release = json!({ "label": "v1", "appVersion": "1.0.0", "package": sent["package"]["sha256"] });
    let path = "/v1/apps/Weather/deployments/Beta/imports";
    assert_eq!(ada.post(path, json!({ "releases": [release] })).await.assert(200)["result"], "imported");
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_take_little_room() {
    let (app, ada) = ada().await;
    let counts = json!({ "active": 1, "downloaded": 2, "installed": 3, "failed": 4 });
    let mut all: serde_json::Map<_, _> = (0..12_000).map(|number| (format!("{number:0>255}"), counts.clone())).collect();
    all.insert("v3".to_owned(), counts.clone());
    all.insert("1.0.0".to_owned(), counts);
    let path = "/v1/apps/Weather/deployments/Production/imports";
    ada.post(path, json!({ "releases": [], "counts": all })).await.assert(200);
    let kept = ada.get("/v1/apps/Weather/deployments/Production/metrics/imported").await.assert(200);
    assert_eq!(kept["metrics"].as_object().unwrap().keys().collect::<Vec<_>>(), ["1.0.0", "v3"]);
    assert!(app.number("SELECT CAST(LENGTH(counts) AS BIGINT) FROM imported_deployments").await < 200);
}

/// Advances the time that jobs sleep by, until one has done something. The service's clock goes along: a step that ran into its time limit because of this
/// is taken up again later.
async fn until_a_round(app: &TestApp, mut is_done: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(1)).await;
        tokio::time::resume();
        app.clock.advance(60_000);
        for _ in 0..50 {
            if is_done().await {
                return;
            }
        }
    }
    panic!("no round");
}

// On one thread, where that time can be advanced.
#[tokio::test]
async fn packages_without_a_history_are_deleted_after_three_days() {
    const DAY: i64 = 86_400_000;
    let (app, ada) = ada().await;
    let archive = Bundle::script("unused").0;
    send(&ada, &archive).await.assert(200);
    send(&ada, b"used").await.assert(200);
    send(&ada, b"released").await.assert(200);
    import(&ada, json!([release("v1", b"used")])).await.assert(200);
    ada.upload("Weather", "Production", b"released", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let rows = async || app.number("SELECT COUNT(*) FROM imported_packages").await;
    assert_eq!((rows().await, app.number("SELECT COUNT(*) FROM blobs").await), (3, 4));
    app.clock.advance(3 * DAY - 1);
    // Sent again, it waits three more days.
    send(&ada, &archive).await.assert(200);
    app.clock.advance(1);
    until_a_round(&app, async || rows().await == 1).await;
    assert_eq!(app.number("SELECT COUNT(*) FROM blobs").await, 4, "two are used, and one waits, with its manifest");
    app.clock.advance(3 * DAY);
    // The archive and its manifest, which were sent twice, are left to the deletion of unused bundles.
    until_a_round(&app, async || rows().await == 0 && app.number("SELECT COUNT(*) FROM blobs").await == 2).await;
    for label in ["v1", "v2"] {
        let url =
            ada.get(&format!("/v1/apps/Weather/deployments/Production/releases/{label}")).await.assert(200)["package"]["blobUrl"].take();
        let bytes = reqwest::get(url.as_str().unwrap()).await.unwrap();
        assert_eq!(bytes.status(), 200, "{label}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_imports_are_limited_per_account() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_IMPORTS", "2/15m")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let other = app.named_key("ada", "other").await;
    let check = json!({ "source": SOURCE, "apps": [] });
    for client in [&ada, &other] {
        client.post("/v1/imports/check", check.clone()).await.assert(200);
    }
    for path in ["/v1/imports/check", "/v1/imports/apps"] {
        let answer = other.post(path, check.clone()).await;
        answer.refused(429);
        assert_eq!(answer.header("retry-after"), "900", "{path}");
    }
    bob.post("/v1/imports/check", check).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_whose_keys_are_in_several_apps_here_is_refused() {
    let (_app, ada) = ada().await;
    ada.post("/v1/imports/apps", app_of("Sky", "key-of-sky-012345678")).await.assert(200);
    let mut both = app_of("Weather", "key-of-weather-0123");
    let moved = json!({ "sourceName": "Beta", "name": "Beta", "key": "key-of-sky-012345678" });
    both["app"]["deployments"].as_array_mut().unwrap().push(moved);
    let checked = ada.post("/v1/imports/check", json!({ "source": SOURCE, "apps": [both["app"]] })).await.assert(200);
    let problems = checked["problems"].to_string();
    assert!(problems.contains("its deployment keys are in several apps here: Weather, Sky. Move them into one"), "{problems}");
    ada.post("/v1/imports/apps", both).await.refused(400);
}
