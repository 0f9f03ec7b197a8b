//! A bare name in use never starts to mean another app, whatever others share, transfer, rename or create.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tests::{Client, Options, TestApp, encode_segment};

use crate::v1::apps::{accept, add, meaning, names, transfer};

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_app_captures_no_bare_name_of_its_collaborators() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("first").await;
    add(&ada, "first", "carol", "Developer").await;
    accept(&carol, "first", json!({})).await.assert(200);
    app.clock.advance(1_000);
    bob.create_app("demo").await;
    add(&bob, "demo", "carol", "Developer").await;
    accept(&carol, "demo", json!({})).await.assert(200);
    let (of_ada, of_bob) = (meaning(&carol, "first").await, meaning(&carol, "demo").await);
    app.clock.advance(1_000);
    // Carol accepted this app before Bob's, but not with this name.
    ada.patch("/v1/apps/first", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    assert_eq!(meaning(&carol, "ada@example.com:demo").await, of_ada);
    assert_eq!(names(&carol).await, ["demo", "ada@example.com:demo"]);
    assert_eq!(meaning(&ada, "demo").await, of_ada);
    // Renaming to the same name is not a new name: it stays what Carol uses from now on.
    bob.patch("/v1/apps/demo", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    // After the rename nobody has the name; the app gets it back when renamed back.
    bob.patch("/v1/apps/demo", json!({ "name": "other" })).await.assert(200);
    assert_eq!((meaning(&carol, "demo").await, meaning(&carol, "other").await), (None, of_bob.clone()));
    bob.patch("/v1/apps/other", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    // Only Carol herself can give it to another app.
    accept(&carol, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    bob.patch("/v1/apps/demo", json!({ "name": "other" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, None, "not even then by other users' changes");
    accept(&carol, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_ada);
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_the_clock_back_captures_no_name() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "carol", "Developer").await;
    accept(&carol, "demo", json!({})).await.assert(200);
    let of_ada = meaning(&carol, "demo").await;
    // And a clock that stands still.
    for step in [0, -3_600_000] {
        app.clock.advance(step);
        bob.create_app("demo").await;
        add(&bob, "demo", "carol", "Admin").await;
        accept(&carol, "bob@example.com:demo", json!({})).await.assert(200);
        assert_eq!(meaning(&carol, "demo").await, of_ada);
        bob.delete("/v1/apps/demo").await.assert(204);
        bob.create_app("later").await;
        add(&bob, "later", "carol", "Admin").await;
        accept(&carol, "bob@example.com:later", json!({})).await.assert(200);
        bob.patch("/v1/apps/later", json!({ "name": "demo" })).await.assert(200);
        assert_eq!(meaning(&carol, "demo").await, of_ada);
        bob.delete("/v1/apps/demo").await.assert(204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_names_of_the_accounts_own_apps_are_refused() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    ada.create_app("more").await;
    bob.create_app("shared").await;
    add(&bob, "shared", "ada", "Viewer").await;
    add(&ada, "more", "bob", "Admin").await;
    ada.post("/v1/apps", json!({ "name": "demo" })).await.refused(409);
    for admin in [&ada, &bob] {
        let refusal = admin.patch("/v1/apps/more", json!({ "name": "demo" })).await.refused(409);
        assert!(refusal.contains("demo"), "{refusal}");
    }
    // Apps shared with the owner or managed by an admin do not block the owner.
    let of_bob = meaning(&bob, "shared").await;
    ada.patch("/v1/apps/more", json!({ "name": "shared" })).await.assert(200);
    assert_eq!(names(&ada).await, ["demo", "shared", "bob@example.com:shared"]);
    assert_eq!(names(&bob).await, ["shared", "ada@example.com:shared"]);
    assert_eq!(meaning(&bob, "shared").await, of_bob);
    // Once accepted, the name is also taken by an own app.
    carol.create_app("demo").await;
    transfer(&ada, "demo", "carol").await.assert(201);
    accept(&carol, "ada@example.com:demo", json!({})).await.refused(409);
    assert_eq!(names(&ada).await, ["demo", "shared", "bob@example.com:shared"]);
    carol.patch("/v1/apps/demo", json!({ "name": "mine" })).await.assert(200);
    accept(&carol, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!(names(&carol).await, ["demo", "mine"]);
    assert_eq!(app.number("SELECT COUNT(*) FROM collaborators WHERE permission = 'Owner'").await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_app_wins_its_name_over_a_concurrent_share() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1000/1h")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for number in 0..12 {
        let name = format!("demo{number}");
        bob.create_app(&name).await;
        let path = format!("/v1/apps/{name}/collaborators/ada@example.com");
        let (shared, made) = tokio::join!(bob.post(&path, json!({})), ada.post("/v1/apps", json!({ "name": name })));
        shared.assert(201);
        made.assert(201);
        let of_bob = meaning(&bob, &name).await;
        assert_ne!(meaning(&ada, &name).await, of_bob);
        assert_eq!(meaning(&ada, &format!("bob@example.com:{name}")).await, of_bob);
    }
}

/// Every app resolves to the same app individually and in the list.
async fn are_as_listed(client: &Client) {
    let listed = client.get("/v1/apps").await.assert(200);
    for app in listed["apps"].as_array().unwrap() {
        let path = format!("/v1/apps/{}", encode_segment(app["name"].as_str().unwrap()));
        assert_eq!(client.get(&path).await.assert(200)["app"], *app);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_shown_by_the_same_name_as_in_the_list() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    // Names stored before normalization, of own and shared apps. The second is partly composed.
    let spellings =
        [("cafe\u{301}", "caf\u{e9}"), ("\u{ea}\u{323}", "\u{1ec7}"), ("K", "\u{212a}"), ("caf\u{e8}", "cafe\u{300}"), ("a", "a")];
    for (own, shared) in spellings {
        for (client, name) in [(&ada, own), (&bob, shared)] {
            client.post("/v1/apps", json!({ "name": "new" })).await.assert(201);
            assert_eq!(app.change("UPDATE apps SET name = $1 WHERE name = 'new'", &[name]).await, 1);
        }
        app.share("bob", shared, "ada", "Viewer", 1).await;
    }
    assert_eq!(names(&ada).await.iter().filter(|name| name.starts_with("bob@example.com:")).count(), spellings.len());
    // Both are accepted, with two spellings or one.
    for (name, since) in [("two\u{e9}", 1), ("twoe\u{301}", 2), ("one", 4), ("one", 3)] {
        let (owner, client) = if since % 2 == 0 { ("carol", &carol) } else { ("bob", &bob) };
        client.post("/v1/apps", json!({ "name": "new" })).await.assert(201);
        assert_eq!(app.change("UPDATE apps SET name = $1 WHERE name = 'new'", &[name]).await, 1);
        app.share(owner, name, "ada", "Admin", since).await;
    }
    for unaccepted in ["theirs", "two\u{e9}"] {
        carol.post("/v1/apps", json!({ "name": "new", "manuallyProvisionDeployments": true })).await.assert(201);
        assert_eq!(app.change("UPDATE apps SET name = $1 WHERE name = 'new'", &[unaccepted]).await, 1);
        add(&carol, &encode_segment(unaccepted), "ada", "Developer").await;
    }
    let listed = names(&ada).await;
    assert!(
        ["two\u{e9}", "twoe\u{301}", "one", "carol@example.com:one", "carol@example.com:theirs"]
            .iter()
            .all(|name| listed.contains(&(*name).to_owned()))
    );
    assert_eq!(listed.len(), 2 * spellings.len() + 6);
    for client in [&ada, &bob, &carol] {
        are_as_listed(client).await;
    }
}

/// A generator of numbers below a bound, determined by the seed.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

const PEOPLE: [&str; 3] = ["ada", "bob", "carol"];
const NAMES: [&str; 3] = ["red", "green", "blue"];

/// What every bare name means to every user.
async fn meanings(clients: &[Client]) -> BTreeMap<(usize, &'static str), String> {
    let mut all = BTreeMap::new();
    for (person, client) in clients.iter().enumerate() {
        for name in NAMES {
            all.extend(meaning(client, name).await.map(|app| ((person, name), app)));
        }
    }
    all
}

/// Whether the user still has access to the app, and the app still has the name.
async fn is_still(client: &Client, name: &str, app: &str) -> bool {
    for called in names(client).await {
        let bare = called.rsplit(':').next().unwrap();
        if bare == name && meaning(client, &called).await.as_deref() == Some(app) {
            return true;
        }
    }
    false
}

/// The bare names in every user's list: own and accepted apps.
async fn bare(clients: &[Client]) -> BTreeSet<(usize, String)> {
    let mut all = BTreeSet::new();
    for (person, client) in clients.iter().enumerate() {
        all.extend(names(client).await.into_iter().filter(|name| !name.contains(':')).map(|name| (person, name)));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_keeps_its_app_regardless_of_the_order_of_changes() {
    let options = Options::default().with("LIMIT_COLLABORATORS", "10000/1h").with("LIMIT_MANAGEMENT_API", "100000/1m");
    let app = TestApp::spawn_with(options.with("LIMIT_ACCOUNT_MANAGEMENT_API", "100000/1m")).await;
    let mut clients = Vec::new();
    for name in PEOPLE {
        clients.push(app.sign_up(name).await);
    }
    let mut numbers = RandomNumbers(20_261_121);
    let (mut done, mut kinds) = (0, BTreeMap::new());
    let (mut before, mut listed) = (meanings(&clients).await, bare(&clients).await);
    let mut used = listed.clone();
    for step in 0..300 {
        let actor = numbers.below(PEOPLE.len());
        let client = &clients[actor];
        let (name, other) = (NAMES[numbers.below(NAMES.len())], PEOPLE[numbers.below(PEOPLE.len())]);
        let mut reached = names(client).await;
        reached.push(name.to_owned());
        let path = format!("/v1/apps/{}", reached[numbers.below(reached.len())]);
        let kind = numbers.below(11);
        let answer = match kind {
            0 | 1 => client.post("/v1/apps", json!({ "name": name })).await,
            2 | 3 => client.post(&format!("{path}/collaborators/{other}@example.com"), json!({ "permission": "Admin" })).await,
            4 => client.send(client.request(reqwest::Method::POST, &format!("{path}/transfer/{other}@example.com"))).await,
            5 | 6 => client.patch(&path, json!({ "name": name })).await,
            7 => client.delete(&format!("{path}/collaborators/{other}@example.com")).await,
            8 => client.post(&format!("{path}/collaborators/me/accept"), json!({ "name": name })).await,
            _ => client.post(&format!("{path}/collaborators/me/accept"), json!({})).await,
        };
        let succeeded = answer.status.is_success();
        assert!(succeeded || [403, 404, 409].contains(&answer.status.as_u16()), "{}", answer.text());
        done += usize::from(succeeded);
        *kinds.entry(kind).or_insert(0) += usize::from(succeeded);
        if succeeded {
            for client in &clients {
                are_as_listed(client).await;
            }
        }
        let (after, listed_after) = (meanings(&clients).await, bare(&clients).await);
        for (person, name) in (0..PEOPLE.len()).flat_map(|person| NAMES.map(|name| (person, name))) {
            let (old, new) = (before.get(&(person, name)), after.get(&(person, name)));
            let said = format!("step {step}, {}: {name} of {}: {old:?}, now {new:?}", answer.asked, PEOPLE[person]);
            let key = (person, name.to_owned());
            // The acting user may change the meaning of their own names; all other apps keep their names while they exist.
            if let Some(old) = old
                && new != Some(old)
                && actor != person
                && is_still(&clients[person], name, old).await
            {
                assert!(new.is_none() && !listed.contains(&key), "{said}");
            }
            // An app that was not accepted never gets a name that was in use.
            assert!(new.is_none() || listed_after.contains(&key) || !used.contains(&key), "{said}");
        }
        used.extend(listed_after.iter().cloned());
        (before, listed) = (after, listed_after);
        // Mostly forward.
        app.clock.advance([0, 1, 1_000, -500][numbers.below(4)]);
    }
    assert!(done > 40 && kinds.values().filter(|count| **count > 0).count() == 11, "{done} of them had an effect: {kinds:?}");
}
