//! A bare name that is in use never comes to mean another app, whatever others share, transfer, rename or create.

use std::collections::BTreeMap;

use serde_json::json;
use tests::{Client, Options, TestApp};

use crate::roles_and_names::{add, meaning, names, transfer};

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_app_captures_no_name_of_its_collaborators() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("first").await;
    add(&ada, "first", "carol", "Developer").await;
    app.clock.advance(1_000);
    bob.create_app("demo").await;
    add(&bob, "demo", "carol", "Developer").await;
    let (of_ada, of_bob) = (meaning(&carol, "first").await, meaning(&carol, "demo").await);
    app.clock.advance(1_000);
    // Carol has had access to this app for longer than to Bob's, but not under this name.
    ada.patch("/v1/apps/first", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    assert_eq!(meaning(&carol, "ada@example.com:demo").await, of_ada);
    assert_eq!(names(&carol).await, ["demo", "ada@example.com:demo"]);
    assert_eq!(meaning(&ada, "demo").await, of_ada);
    // The same name again is no new name: what Carol calls by it from now on stays so, too.
    bob.patch("/v1/apps/demo", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&carol, "demo").await, of_bob);
    // Only when it is no longer this app's name does the next one have it.
    bob.patch("/v1/apps/demo", json!({ "name": "other" })).await.assert(200);
    assert_eq!((meaning(&carol, "demo").await, meaning(&carol, "other").await), (of_ada.clone(), of_bob.clone()));
    bob.patch("/v1/apps/other", json!({ "name": "demo" })).await.assert(200);
    assert_eq!((meaning(&carol, "demo").await, meaning(&carol, "bob@example.com:demo").await), (of_ada, of_bob));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_set_back_captures_no_name() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "carol", "Developer").await;
    let of_ada = meaning(&carol, "demo").await;
    // And one that stands still.
    for step in [0, -3_600_000] {
        app.clock.advance(step);
        bob.create_app("demo").await;
        add(&bob, "demo", "carol", "Admin").await;
        assert_eq!(meaning(&carol, "demo").await, of_ada);
        bob.delete("/v1/apps/demo").await.assert(204);
        bob.create_app("later").await;
        add(&bob, "later", "carol", "Admin").await;
        bob.patch("/v1/apps/later", json!({ "name": "demo" })).await.assert(200);
        assert_eq!(meaning(&carol, "demo").await, of_ada);
        bob.delete("/v1/apps/demo").await.assert(204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_means_an_app_already_cannot_be_made_given_or_received() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    ada.create_app("more").await;
    bob.create_app("shared").await;
    bob.create_app("bobs").await;
    add(&bob, "shared", "ada", "Viewer").await;
    add(&ada, "more", "bob", "Admin").await;
    add(&ada, "more", "carol", "Admin").await;
    // Own, shared with the caller, and shared with the owner.
    for name in ["demo", "shared"] {
        ada.post("/v1/apps", json!({ "name": name })).await.refused(409);
        for admin in [&ada, &bob, &carol] {
            let refusal = admin.patch("/v1/apps/more", json!({ "name": name })).await.refused(409);
            assert!(refusal.contains(name), "{refusal}");
        }
    }
    bob.patch("/v1/apps/more", json!({ "name": "bobs" })).await.refused(409);
    assert_eq!(names(&ada).await, ["demo", "more", "shared"]);
    // What means nothing to those two is free, even when another Admin has an app of that name.
    carol.create_app("carols").await;
    let of_carol = meaning(&carol, "carols").await;
    ada.patch("/v1/apps/more", json!({ "name": "carols" })).await.assert(200);
    assert_eq!(meaning(&carol, "carols").await, of_carol);
    assert_eq!(names(&carol).await, ["carols", "ada@example.com:carols"]);
    // Received: the name means an own app to the one, a shared app to the other.
    transfer(&ada, "carols", "carol").await.refused(409);
    bob.create_app("demo").await;
    transfer(&ada, "demo", "bob").await.refused(409);
    add(&bob, "demo", "carol", "Viewer").await;
    transfer(&ada, "demo", "carol").await.refused(409);
    assert_eq!(app.number("SELECT COUNT(*) FROM collaborators WHERE permission = 'Owner'").await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_share_and_a_creation_at_once_the_first_keeps_the_name() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1000/1h")).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    for number in 0..12 {
        let name = format!("demo{number}");
        bob.create_app(&name).await;
        let path = format!("/v1/apps/{name}/collaborators/ada@example.com");
        let (shared, made) = tokio::join!(bob.post(&path, json!({})), ada.post("/v1/apps", json!({ "name": name })));
        shared.assert(201);
        let of_bob = meaning(&bob, &name).await;
        if made.status.as_u16() == 201 {
            assert_ne!(meaning(&ada, &name).await, of_bob, "her own app was there first");
            assert_eq!(meaning(&ada, &format!("bob@example.com:{name}")).await, of_bob);
        } else {
            made.refused(409);
            assert_eq!(meaning(&ada, &name).await, of_bob);
        }
    }
}

/// A generator of numbers below a bound; the same seed gives the same numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

const PEOPLE: [&str; 3] = ["ada", "bob", "carol"];
const NAMES: [&str; 3] = ["red", "green", "blue"];

/// What every bare name means to everybody.
async fn meanings(clients: &[Client]) -> BTreeMap<(usize, &'static str), String> {
    let mut all = BTreeMap::new();
    for (person, client) in clients.iter().enumerate() {
        for name in NAMES {
            all.extend(meaning(client, name).await.map(|app| ((person, name), app)));
        }
    }
    all
}

/// Whether the person still reaches the app, and the app has the name.
async fn is_still(client: &Client, name: &str, app: &str) -> bool {
    for called in names(client).await {
        let bare = called.rsplit(':').next().unwrap();
        if bare == name && meaning(client, &called).await.as_deref() == Some(app) {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn in_whatever_order_a_bare_name_goes_on_meaning_its_app() {
    let options = Options::default().with("LIMIT_COLLABORATORS", "10000/1h").with("LIMIT_MANAGEMENT_API", "100000/1m");
    let app = TestApp::spawn_with(options).await;
    let mut clients = Vec::new();
    for name in PEOPLE {
        clients.push(app.sign_up(name).await);
    }
    let mut numbers = Numbers(20_261_121);
    let (mut done, mut kinds) = (0, BTreeMap::new());
    let mut before = meanings(&clients).await;
    for step in 0..300 {
        let person = numbers.below(PEOPLE.len());
        let client = &clients[person];
        let (name, other) = (NAMES[numbers.below(NAMES.len())], PEOPLE[numbers.below(PEOPLE.len())]);
        let mut reached = names(client).await;
        reached.push(name.to_owned());
        let path = format!("/v1/apps/{}", reached[numbers.below(reached.len())]);
        let kind = numbers.below(8);
        let answer = match kind {
            0 | 1 => client.post("/v1/apps", json!({ "name": name })).await,
            2 | 3 => client.post(&format!("{path}/collaborators/{other}@example.com"), json!({ "permission": "Admin" })).await,
            4 => client.send(client.request(reqwest::Method::POST, &format!("{path}/transfer/{other}@example.com"))).await,
            5 | 6 => client.patch(&path, json!({ "name": name })).await,
            _ => client.delete(&format!("{path}/collaborators/{other}@example.com")).await,
        };
        let succeeded = answer.status.is_success();
        assert!(succeeded || [403, 404, 409].contains(&answer.status.as_u16()), "{}", answer.text());
        done += usize::from(succeeded);
        *kinds.entry(kind).or_insert(0) += usize::from(succeeded);
        let after = meanings(&clients).await;
        for ((person, name), app) in &before {
            if after.get(&(*person, *name)) != Some(app) {
                let lost = !is_still(&clients[*person], name, app).await;
                assert!(lost, "step {step}, {}: {} of {} means another app", answer.asked, name, PEOPLE[*person]);
            }
        }
        before = after;
        // Mostly forward.
        app.clock.advance([0, 1, 1_000, -500][numbers.below(4)]);
    }
    assert!(done > 40 && kinds.values().filter(|count| **count > 0).count() == 8, "{done} of them did something: {kinds:?}");
}
