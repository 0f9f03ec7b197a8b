//! `updraft import codepush`: the same import by somebody who is not the operator, with the real CLI, within their own rights and quotas.

use reqwest::Method;
use serde_json::{Value, json};
use tests::cli::Cli;
use tests::old_server::{OldServer, Trouble};
use tests::{Client, TestApp};

use super::second_updraft::{compare, fill};
use super::{apps, deployments, entry, history, target, with_directory};

const KEY: &str = "AbC-old_key0123456789xyz";

/// A CLI that is signed in as this client, and has the key of the other server in a file.
fn cli(app: &TestApp, client: &Client, key: &str) -> Cli {
    let cli = Cli::with_token(&app.base, client.token());
    cli.write("old-key", key);
    cli
}

fn arguments<'a>(from: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["import", "codepush", "--from", from, "--key-file", "old-key"], more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_another_updraft_is_the_same_and_stays_in_step() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    fill(&source, &grace).await;
    grace.create_app("Empty").await;
    for name in ["ada", "bob", "eve"] {
        source.sign_up(name).await;
        grace.post(&format!("/v1/apps/Weather/collaborators/{name}@example.com"), json!({})).await.assert(201);
    }
    let (app, ada) = target().await;
    app.sign_up("bob").await;
    let cli = cli(&app, &ada, grace.token());

    let dry = cli.expect(0, &arguments(&source.base, &["--dry-run"])).await;
    for part in
        ["The import is possible.", "Weather / Beta: no releases", "Weather: collaborators ", "The packages are kept for the import in /"]
    {
        assert!(dry.out.contains(part), "{part} in {dry:?}");
    }
    assert_eq!(apps(&ada).await, Vec::<String>::new(), "a dry run changes nothing");

    let ended = cli.expect(0, &arguments(&source.base, &[])).await;
    for part in ["Weather / Production: ", "Weather / Beta: no releases", "Collaborators without an account here: "] {
        assert!(ended.out.contains(part), "{part} in\n{}", ended.out);
    }
    assert!(ended.err.contains("Imported."), "{ended:?}");
    assert_eq!(apps(&ada).await, ["Empty", "Weather"]);
    let keys = deployments(&ada, "Weather").await;
    assert_eq!(keys, deployments(&grace, "Weather").await);
    compare(&source, &app, &keys).await;
    let people = ada.get("/v1/apps/Weather/collaborators").await.assert(200)["collaborators"].take();
    let people: Vec<_> = people.as_object().unwrap().keys().cloned().collect();
    assert_eq!(people, ["ada@example.com", "bob@example.com"]);
    for deployment in ["Production", "Staging"] {
        assert_eq!(history(&ada, "Weather", deployment).await, history(&grace, "Weather", deployment).await, "{deployment}");
    }
    let level = ada.get("/v1/apps/Weather/deployments/Production/metrics/imported").await.assert(200);
    assert_eq!(level["metrics"]["v2"]["active"], 1, "{level}");
    // Who confirms the address later has access.
    app.register("eve").await;
    let people = ada.get("/v1/apps/Weather/collaborators").await.assert(200);
    assert_eq!(people["collaborators"]["eve@example.com"]["permission"], "Developer", "{people}");

    // Repeated: nothing twice, and what is new comes too.
    let again = cli.expect(0, &arguments(&source.base, &[])).await;
    assert_eq!(again.out.matches("; nothing new").count(), 5, "{}", again.out);
    grace.upload("Weather", "Staging", b"six", json!({ "appVersion": "3.0.0" })).await.assert(201);
    let again = cli.json(&arguments(&source.base, &["--app", "Weather"])).await;
    let staging = again["imported"][0]["deployments"].as_array().unwrap().iter().find(|one| one["name"] == "Staging").unwrap();
    assert_eq!((&staging["result"], &staging["added"]), (&json!("imported"), &json!(1)), "{again}");
    compare(&source, &app, &keys).await;
    // Once somebody has released here, the history stays.
    ada.upload("Weather", "Staging", b"seven", json!({ "appVersion": "3.0.0" })).await.assert(201);
    let own = history(&ada, "Weather", "Staging").await;
    let again = cli.expect(0, &arguments(&source.base, &[])).await;
    assert!(
        again.out.contains("Weather / Staging: ") && again.out.contains("left alone, because somebody has released here"),
        "{}",
        again.out
    );
    assert_eq!(history(&ada, "Weather", "Staging").await, own);
}

#[tokio::test(flavor = "multi_thread")]
async fn troubles_of_the_other_server_and_old_hashes_are_carried_over() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let mut releases: Vec<_> = (12..16).map(|number| entry(&old, &format!("v{number}"), &format!("content {number}"))).collect();
    old.put("/blobs/v15", with_directory());
    releases[3]["packageHash"] = json!("d5ef8952ee87a0193387b40cd963ec97f5171e2698268e561766b07155941dbc");
    old.trouble("/blobs/v12", &[Trouble::Cut, Trouble::Broken]);
    old.trouble("/apps", &[Trouble::Busy, Trouble::Fails]);
    releases[1]["label"] = Value::Null;
    releases[2]["rollout"] = json!(0);
    // A clock that is ahead.
    releases[2]["uploadTime"] = json!(9_000_000_000_000_i64);
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!(releases))])]);
    let ended = cli(&app, &ada, "key").expect(0, &arguments(&old.base, &[])).await;
    assert!(ended.out.contains("The package hash of v15 covers the archive's directory entries"), "{ended:?}");
    assert!(!ended.out.contains("secret") && !ended.err.contains("secret"), "{ended:?}");
    assert_eq!(old.left(), [].into(), "every trouble happened");
    let here = history(&ada, "Weather", "Production").await;
    let told = |name: &str| here.iter().map(|release| release[name].clone()).collect::<Vec<_>>();
    assert_eq!(told("label"), ["v12", "v13", "v14", "v15"].map(|label| json!(label)));
    assert_eq!(told("packageHash"), releases.iter().map(|release| release["packageHash"].clone()).collect::<Vec<_>>());
    assert_eq!(told("releasedBy"), vec![json!("grace@example.com"); 4]);
    let times = told("uploadTime").iter().map(|time| time.as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!([times[0], times[1], times[3]], [1_700_000_000_000; 3]);
    assert!(times[2] < 9_000_000_000_000, "nothing was released in the future: {times:?}");
    assert!(old.asked().iter().all(|(method, _)| method == Method::GET), "the other server is only read");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_against_it_is_named_and_nothing_is_imported() {
    let (app, ada) = target().await;
    let bob = app.sign_up("bob").await;
    bob.post("/v1/apps", json!({ "name": "Other" })).await.assert(201);
    bob.post("/v1/apps/Other/deployments", json!({ "name": "Beta", "key": KEY })).await.assert(201);
    ada.post("/v1/apps", json!({ "name": "Mine" })).await.assert(201);
    let old = OldServer::start().await;
    let release = entry(&old, "v1", "content");
    old.put_apps(&[("Weather", json!({}), &[("Production", KEY, json!([release]))]), ("Mine", json!({}), &[])]);
    let cli = cli(&app, &ada, "key");
    let ended = cli.expect(5, &arguments(&old.base, &[])).await;
    for line in [
        "Weather / Production: its key belongs to a deployment of another account here. Ask your administrator",
        "Mine: the account has an app of this name",
        "Nothing was imported.",
    ] {
        assert!(ended.out.contains(line), "{line} in\n{}", ended.out);
    }
    assert!(ended.err.contains("nothing was imported"), "{ended:?}");
    assert_eq!(apps(&ada).await, ["Mine"]);
    let json = cli.run(&[&arguments(&old.base, &[])[..], &["--output", "json"]].concat()).await;
    assert_eq!(json.code, Some(5));
    let document: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["problems"].as_array().unwrap().len(), 2, "{document}");
    // The API decides, whatever a client has checked before.
    let deployment = json!({ "sourceName": "Production", "name": "Production", "key": KEY });
    let taken = json!({ "source": old.base, "app": { "sourceName": "Weather", "name": "Weather", "deployments": [deployment] } });
    ada.post("/v1/imports/apps", taken).await.refused(409);
    assert_eq!(apps(&ada).await, ["Mine"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_and_wrong_arguments_are_refused_with_advice() {
    let (app, ada) = target().await;
    let old = OldServer::start().await;
    let key = app.api_key("ada", &["read", "deploy", "apps"]).await;
    let ended = cli(&app, &key, "key").expect(1, &arguments(&old.base, &[])).await;
    assert!(ended.err.contains("API keys cannot do this"), "{ended:?}");
    assert!(old.asked().is_empty(), "nothing was read");
    let cli = cli(&app, &ada, "key");
    let ended = cli.expect(2, &arguments(&app.base, &[])).await;
    assert!(ended.err.contains("the server that the apps would be moved to"), "{ended:?}");
    let ended = cli.expect(2, &["import", "codepush", "--from", &old.base, "--key-file", "absent"]).await;
    assert!(ended.err.contains("cannot read absent"), "{ended:?}");
    let ended = cli.expect(2, &["import", "codepush", "--from", &old.base]).await;
    assert!(ended.err.contains("--key-file FILE"), "{ended:?}");
    old.put_apps(&[("Weather", json!({}), &[])]);
    let ended = cli.expect(4, &arguments(&old.base, &["--app", "Wether"])).await;
    assert!(ended.err.contains("Wether. It sees: Weather"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_both_servers_are_compared_by_the_cli() {
    let source = TestApp::spawn().await;
    let grace = source.sign_up("grace").await;
    fill(&source, &grace).await;
    let (app, ada) = target().await;
    let cli = cli(&app, &ada, grace.token());
    cli.expect(0, &arguments(&source.base, &["--app", "Weather"])).await;

    let compare = |more: &[&str]| -> Vec<String> {
        let all = [&["import", "compare", "--from", &source.base, "--checks", "300", "--rate", "1000/s"], more].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let run = async |code: i32, more: &[&str]| {
        let arguments = compare(more);
        cli.expect(code, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    let ended = run(0, &["--app", "Weather"]).await;
    assert!(ended.out.contains("Deployments: 3.") && ended.out.contains("Checks: 300. Equal: 300."), "{ended:?}");
    assert!(ended.err.contains("Both servers answered every check"), "{ended:?}");

    // What is released there afterwards is found, and has its reason.
    grace.upload("Weather", "Staging", b"later", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let ended = run(0, &["-a", "Weather", "-d", "Staging", "--key-file", "old-key"]).await;
    assert!(ended.out.contains("Weather/Staging") && ended.out.contains("v4 was released on the old server after the import"), "{ended:?}");
    // A server that does not know the deployments was not compared.
    let empty = TestApp::spawn().await;
    let other = ["import", "compare", "--from", &empty.base, "-a", "Weather", "--checks", "30", "--rate", "1000/s"];
    let ended = cli.run(&[&other[..], &["--output", "json"]].concat()).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    assert!(document["failed"].as_u64().unwrap() > 0 && document["objection"].is_string(), "{document}");

    // A log instead of generated checks.
    let key = ada.deployment_key("Weather", "Staging").await;
    cli.write("access.log", format!("/updateCheck?deploymentKey={key}&appVersion=1.2.3&clientUniqueId=a\nnoise\n"));
    let ended = run(0, &["-a", "Weather", "-d", "Staging", "--log", "access.log"]).await;
    assert!(ended.err.contains("Log lines: 2. Checks of these deployments: 1"), "{ended:?}");
    assert!(!ended.out.contains(&key) && !ended.err.contains(&key), "{ended:?}");
    let ended = run(1, &["-a", "Weather", "--log", "access.log"]).await;
    for part in ["the log has no check of Weather/Beta, Weather/Production: it was not compared", "Give --deployment for those"] {
        assert!(ended.err.contains(part) && !ended.err.contains("See the reasons"), "{part} in {ended:?}");
    }
    run(2, &["-a", "Weather", "--log", "absent.log"]).await;
    run(4, &["-a", "Weather", "-d", "Absent"]).await;
    run(4, &["-a", "Wether"]).await;

    // Without the right to see keys, nothing can be asked.
    let reader = app.api_key("ada", &["read"]).await;
    let cli = self::cli(&app, &reader, "key");
    let ended = cli.expect(1, &["import", "compare", "--from", &source.base, "-a", "Weather"]).await;
    assert!(ended.err.contains("does not show the key of"), "{ended:?}");
}
