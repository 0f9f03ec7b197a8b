//! GET …/explain: the answer to an update check with its reason and what became of each release, equal to what the device gets.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use shared::rollout::bucket;
use tests::random::Random;
use tests::{Answer, Client, Options, TestApp};

use crate::v1::apps::deployments::{below, history, patch, patch_of, prepared, prepared_with, promote, release, roll_back};

/// Explains a check of a device of Production.
async fn explain(client: &Client, query: &[(&str, &str)]) -> Answer {
    client.send(client.request(Method::GET, &below("Production", "explain")).query(query)).await
}

/// The labels, each with its verdict.
fn verdicts(explained: &Value) -> Vec<(&str, &str)> {
    let considered = explained["considered"].as_array().unwrap();
    assert!(considered.iter().all(|release| release["text"].as_str().is_some_and(|text| text.ends_with('.'))), "{explained}");
    considered.iter().map(|release| (release["label"].as_str().unwrap(), release["verdict"].as_str().unwrap())).collect()
}

/// A client ID that is, or is not, among the first `percent` for this release.
fn client_id(label: &str, percent: u8, is_in: bool) -> String {
    (0..10_000).map(|number| format!("device-{number}")).find(|id| (bucket(&format!("{id}-{label}")) < percent) == is_in).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_reason_and_verdict_is_explained() {
    let (_app, ada) = prepared().await;
    let code = |explained: &Value| explained["reason"]["code"].as_str().unwrap().to_owned();
    let answer = explain(&ada, &[("appVersion", "1.0.0")]).await.assert(200);
    let nothing = json!({
        "downloadURL": "", "description": "", "isAvailable": false, "isMandatory": false, "appVersion": "", "packageHash": "", "label": "",
        "packageSize": 0, "updateAppVersion": false, "shouldRunBinaryVersion": true, "target_binary_range": "",
    });
    let reason = json!({ "code": "no_releases", "text": "The deployment has no releases." });
    assert_eq!(answer, json!({ "updateInfo": nothing, "reason": reason, "bucket": null, "considered": [] }));

    // v1 to v3: for everybody, disabled, for another version.
    let first = release(&ada, "Production", "one", json!({ "description": "first" })).await;
    let answer = explain(&ada, &[("app_version", "1.0.0")]).await.assert(200);
    assert_eq!((code(&answer), verdicts(&answer)), ("update".to_owned(), vec![("v1", "chosen")]));
    patch(&ada, "Production", json!({ "isDisabled": true })).await.assert(200);
    let answer = explain(&ada, &[("appVersion", "1.0.0")]).await.assert(200);
    assert_eq!((code(&answer), verdicts(&answer)), ("nothing_enabled".to_owned(), vec![("v1", "disabled")]));
    patch(&ada, "Production", json!({ "isDisabled": false })).await.assert(200);
    release(&ada, "Production", "two", json!({ "isDisabled": true })).await;
    release(&ada, "Production", "three", json!({ "appVersion": "^2.0.0" })).await;
    let answer = explain(&ada, &[("appVersion", "3.0.0")]).await.assert(200);
    assert_eq!(code(&answer), "no_release_for_version");
    assert_eq!(answer["reason"]["text"], "No enabled release is for app version 3.0.0.");
    assert_eq!(verdicts(&answer), [("v3", "version"), ("v2", "disabled"), ("v1", "version")]);
    assert_eq!(answer["considered"][0]["text"], "It is for app version ^2.0.0, and the device has 3.0.0.");
    let hash = first["packageHash"].as_str().unwrap();
    let up_to_date = [("appVersion", "1.0.0"), ("packageHash", hash), ("label", "v1")];
    let answer = explain(&ada, &up_to_date).await.assert(200);
    assert_eq!(code(&answer), "up_to_date");
    assert_eq!(verdicts(&answer), [("v3", "version"), ("v2", "disabled"), ("v1", "same_contents")]);
    assert_eq!((&answer["updateInfo"]["updateAppVersion"], &answer["updateInfo"]["appVersion"]), (&json!(true), &json!("^2.0.0")));
    let companion = explain(&ada, &[("appVersion", "9.9.9"), ("isCompanion", "true")]).await.assert(200);
    assert_eq!(verdicts(&companion), [("v3", "chosen"), ("v2", "disabled"), ("v1", "older")]);

    // v4: a rollout, to devices inside and outside.
    release(&ada, "Production", "four", json!({ "rollout": 25, "isMandatory": true })).await;
    let (inside, outside) = (client_id("v4", 25, true), client_id("v4", 25, false));
    let answer = explain(&ada, &[("appVersion", "1.0.0"), ("clientUniqueId", &inside)]).await.assert(200);
    assert_eq!(code(&answer), "in_rollout");
    assert_eq!(answer["bucket"], bucket(&format!("{inside}-v4")));
    assert_eq!(verdicts(&answer), [("v4", "chosen"), ("v3", "version"), ("v2", "disabled"), ("v1", "older")]);
    let members = (&answer["updateInfo"]["isMandatory"], &answer["updateInfo"]["label"], &answer["updateInfo"]["description"]);
    assert_eq!(members, (&json!(true), &json!("v4"), &Value::Null), "a release without notes has no description");
    let answer = explain(&ada, &[("appVersion", "1.0.0"), ("client_unique_id", &outside)]).await.assert(200);
    assert_eq!((code(&answer), &answer["bucket"]), ("rollout_held_back".to_owned(), &json!(bucket(&format!("{outside}-v4")))));
    assert_eq!(verdicts(&answer), [("v4", "rollout"), ("v3", "version"), ("v2", "disabled"), ("v1", "chosen")]);
    let text = answer["considered"][0]["text"].as_str().unwrap();
    assert!(text.contains("25%") && text.contains(&format!("bucket {}.", answer["bucket"])), "{text}");
    let answer = explain(&ada, &up_to_date).await.assert(200);
    assert_eq!((code(&answer), &answer["bucket"]), ("no_client_id".to_owned(), &Value::Null));
    assert_eq!(verdicts(&answer), [("v4", "rollout"), ("v3", "version"), ("v2", "disabled"), ("v1", "same_contents")]);

    // The answer follows each change at once.
    patch(&ada, "Production", json!({ "rollout": 100 })).await.assert(200);
    let answer = explain(&ada, &[("appVersion", "1.0.0"), ("clientUniqueId", &outside)]).await.assert(200);
    assert_eq!((code(&answer), &answer["bucket"]), ("update".to_owned(), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_may_see_deployment_keys_gets_the_download_url() {
    let (app, ada) = prepared().await;
    release(&ada, "Production", "one", json!({})).await;
    let key = ada.deployment_key("demo", "Production").await;
    let mut clients = vec![(ada.clone(), true)];
    for (name, role, is_shown) in [("bob", "Developer", true), ("eve", "Viewer", false)] {
        let client = app.sign_up(name).await;
        app.share("ada", "demo", name, role, app.clock.now().0 + 1).await;
        clients.push((client, is_shown));
    }
    for (scopes, is_shown) in [(["read"], false), (["deploy"], true), (["apps"], true)] {
        clients.push((app.api_key("ada", &scopes).await, is_shown));
    }
    let check = app.anonymous().get(&format!("/updateCheck?deploymentKey={key}&appVersion=1.0.0")).await.assert(200);
    for (client, is_shown) in clients {
        let mut expected = check["updateInfo"].clone();
        if !is_shown {
            expected["downloadURL"] = json!("(hidden)");
        }
        let answer = explain(&client, &[("appVersion", "1.0.0")]).await;
        assert_eq!(answer.assert(200)["updateInfo"], expected);
        assert!(!answer.text().contains(&key), "{}", answer.text());
        // Without an update there is nothing to hide.
        let answer = explain(&client, &[("appVersion", "2.0.0")]).await.assert(200);
        assert_eq!(answer["updateInfo"]["downloadURL"], "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_query_is_refused_with_every_error_and_an_unknown_deployment_is_404() {
    let (app, ada) = prepared().await;
    let key = ada.deployment_key("demo", "Production").await;
    let version = "app_version: must be a semantic version, such as 1.0.0";
    let named = "deployment_key: must not be given: the path names the deployment";
    for (query, expected) in [
        (vec![], "app_version: is required".to_owned()),
        (vec![("appVersion", "")], "app_version: is required".to_owned()),
        (vec![("appVersion", "one")], version.to_owned()),
        (vec![("appVersion", "1.0.0"), ("deploymentKey", key.as_str())], named.to_owned()),
        (vec![("app_version", "1.0.0"), ("deployment_key", "wrong")], named.to_owned()),
        (
            vec![("appVersion", "one"), ("deployment_key", &key), ("label", "v1"), ("label", "v1")],
            format!("label: must be given only once; {named}; {version}"),
        ),
    ] {
        assert_eq!(explain(&ada, &query).await.refused(400), expected, "{query:?}");
    }
    // An empty key is absent, and unknown parameters are ignored, as in a check.
    explain(&ada, &[("appVersion", "1.0.0"), ("deploymentKey", ""), ("more", "x")]).await.assert(200);

    let refused = async |deployment: &str| {
        let text = ada.get(&format!("{}?appVersion=1.0.0", below(deployment, "explain"))).await.refused(404);
        assert!(text.contains("deployment"), "{text}");
    };
    refused("Absent").await;
    ada.delete("/v1/apps/demo/deployments/Staging").await.assert(204);
    refused("Staging").await;
    let stranger = app.sign_up("mallory").await;
    explain(&stranger, &[("appVersion", "1.0.0")]).await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn head_and_a_trailing_slash_work() {
    let (_app, ada) = prepared().await;
    release(&ada, "Production", "one", json!({})).await;
    let path = below("Production", "explain");
    let get = ada.get(&format!("{path}?appVersion=1.0.0")).await;
    assert_eq!(ada.get(&format!("{path}/?appVersion=1.0.0")).await.assert(200), get.assert(200));
    let head = ada.send(ada.request(Method::HEAD, &format!("{path}?appVersion=1.0.0"))).await;
    head.assert_status(200);
    assert!(head.body.is_empty());
    assert_eq!(head.header("content-length"), get.header("content-length"));
}

const RANGES: [&str; 6] = ["1.0.0", "^1.0.0", "1.x || 2.x", "2.0.0", "*", ">=1.2.3 <1.2.7"];
const VERSIONS: [&str; 9] = ["1.0.0", "1", "1.2.5", "v1.0.0", "2.0.0", "3.0.0", "1.0.0-beta", "0.9.0", "1.2.3.4"];

/// Changes the releases of Production at random, as their owner would. What the rules refuse is left undone.
struct Releases<'c> {
    ada: &'c Client,
    random: Random,
    uploads: u32,
}

impl Releases<'_> {
    /// A new release, copied or uploaded.
    async fn add(&mut self) {
        let all = history(self.ada, "Production").await;
        let newest = all.last();
        if newest.is_some_and(|newest| newest["rollout"].is_number() && newest["isDisabled"] == false) && self.random.chance(60) {
            let end = if self.random.chance(50) { json!({ "rollout": 100 }) } else { json!({ "isDisabled": true }) };
            patch(self.ada, "Production", end).await.assert(200);
        }
        if self.random.chance(25) && all.len() > 1 {
            let same = |release: &&Value| Some(&release["appVersion"]) == newest.map(|newest| &newest["appVersion"]);
            let targets: Vec<&Value> = all[..all.len() - 1].iter().filter(same).collect();
            if !targets.is_empty() {
                let target = self.random.one_of(&targets)["label"].clone();
                roll_back(self.ada, "Production", target).await.assert(201);
            }
            return;
        }
        let mut info = json!({ "appVersion": self.random.one_of(&RANGES) });
        for (member, value, percent) in [
            ("isMandatory", json!(true), 25),
            ("isDisabled", json!(true), 20),
            ("rollout", json!(1 + self.random.below(99)), 35),
            ("description", json!("what is new: \"ü\" </script>"), 60),
        ] {
            if self.random.chance(percent) {
                info[member] = value;
            }
        }
        self.uploads += 1;
        let content = format!("content {}", self.uploads);
        let answer = if self.random.chance(30) {
            release(self.ada, "Staging", &content, json!({})).await;
            promote(self.ada, info).await
        } else {
            self.ada.upload("demo", "Production", content.as_bytes(), info).await
        };
        assert!([201, 409].contains(&answer.status.as_u16()), "{}", answer.text());
    }

    /// Disables or enables an earlier release.
    async fn edit(&mut self) {
        let all = history(self.ada, "Production").await;
        if all.is_empty() {
            return;
        }
        let release = self.random.one_of(&all).clone();
        let info = json!({ "isDisabled": release["isDisabled"] != true });
        let answer = patch_of(self.ada, "Production", release["label"].as_str().unwrap(), info).await;
        assert!([200, 409].contains(&answer.status.as_u16()), "{}", answer.text());
    }

    /// The check of any device, without the key.
    fn query(&mut self, all: &[Value]) -> Vec<(&'static str, String)> {
        let random = &mut self.random;
        let is_camel = random.chance(50);
        let name = |snake, camel| if is_camel { camel } else { snake };
        let mut query = vec![(name("app_version", "appVersion"), (*random.one_of(&VERSIONS)).to_owned())];
        if random.chance(80) {
            query.push((name("client_unique_id", "clientUniqueId"), format!("device-ü{}", random.below(60))));
        }
        if !all.is_empty() && random.chance(75) {
            let running = random.one_of(all).clone();
            if random.chance(85) {
                query.push((name("package_hash", "packageHash"), running["packageHash"].as_str().unwrap().to_owned()));
            }
            if random.chance(70) {
                query.push(("label", running["label"].as_str().unwrap().to_owned()));
            }
        }
        if random.chance(10) {
            query.push((name("is_companion", "isCompanion"), "true".to_owned()));
        }
        query
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_explanations_equal_the_checks() {
    let options = Options::default().with("LIMIT_MANAGEMENT_API", "9000/1m").with("LIMIT_ACCOUNT_MANAGEMENT_API", "9000/1m");
    let (app, ada): (TestApp, Client) =
        prepared_with(options.with("LIMIT_UPLOADS", "900/15m").with("LIMIT_ACCOUNT_UPLOADS", "900/15m")).await;
    let key = ada.deployment_key("demo", "Production").await;
    let device = app.anonymous();
    let mut releases = Releases { ada: &ada, random: Random::new(4), uploads: 0 };
    let (mut seen, mut refused) = (BTreeSet::new(), 0);
    for _ in 0..10 {
        for _ in 0..4 {
            releases.add().await;
        }
        releases.edit().await;
        let all = history(&ada, "Production").await;
        for _ in 0..100 {
            let query = releases.query(&all);
            let pairs: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let explained = explain(&ada, &pairs).await;
            let check = device.send(device.request(Method::GET, "/updateCheck").query(&[("deploymentKey", &key)]).query(&pairs)).await;
            assert_eq!(explained.status, check.status, "{pairs:?}");
            if check.status != 200 {
                assert_eq!(explained.refused(400), check.refused(400));
                refused += 1;
                continue;
            }
            // The same bytes, with more members behind them.
            let same = check.text().strip_suffix('}').unwrap().to_owned();
            assert!(explained.text().starts_with(&format!("{same},\"reason\":")), "{pairs:?}: {} {}", same, explained.text());
            let explained = explained.json();
            let verdicts = verdicts(&explained);
            let chosen = verdicts.iter().filter(|(_, verdict)| *verdict == "chosen").map(|(label, _)| *label).collect::<Vec<_>>();
            let given = explained["updateInfo"]["label"].as_str().filter(|label| !label.is_empty());
            assert_eq!(chosen, given.into_iter().collect::<Vec<_>>(), "{explained}");
            let newest_first: Vec<_> = all.iter().rev().map(|release| release["label"].as_str().unwrap()).collect();
            assert_eq!(verdicts.iter().map(|(label, _)| *label).collect::<Vec<_>>(), newest_first);
            seen.extend(verdicts.iter().map(|(_, verdict)| format!("verdict {verdict}")));
            seen.insert(format!("reason {}", explained["reason"]["code"].as_str().unwrap()));
        }
    }
    let all = history(&ada, "Production").await;
    let methods: BTreeSet<&str> = all.iter().map(|release| release["releaseMethod"].as_str().unwrap()).collect();
    assert_eq!(methods, BTreeSet::from(["Promote", "Rollback", "Upload"]));
    let expected = [
        "reason in_rollout",
        "reason no_client_id",
        "reason no_release_for_version",
        "reason rollout_held_back",
        "reason up_to_date",
        "reason update",
        "verdict chosen",
        "verdict disabled",
        "verdict older",
        "verdict rollout",
        "verdict same_contents",
        "verdict version",
    ];
    let missing: Vec<_> = expected.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty() && refused > 0 && refused < 200, "{missing:?}, {refused} refused");
}
