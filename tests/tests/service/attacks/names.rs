//! Capturing bare names: a stranger tries to make a victim's bare name resolve to the stranger's app, so that the victim's pipeline uploads into it,
//! or tries to fill an account with unwanted apps.

use reqwest::Method;
use serde_json::json;
use tests::people::PASSWORD;
use tests::{Answer, Client, Options, TestApp};

use crate::v1::apps::{accept, add, meaning, names, release, roles, transfer};

/// A pipeline that only knows a bare name: it uploads, and creates the app if it does not exist.
async fn pipeline(client: &Client, app: &str, content: &str) -> Answer {
    let uploaded = release(client, app, "Staging", content).await;
    if uploaded.status.as_u16() != 404 {
        return uploaded;
    }
    client.create_app(app).await;
    release(client, app, "Staging", content).await
}

/// The number of releases in an app's Staging.
async fn releases(client: &Client, app: &str) -> usize {
    let history = client.get(&format!("/v1/apps/{app}/deployments/Staging/history")).await.assert(200);
    history["history"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn being_added_to_an_app_neither_takes_nor_blocks_a_bare_name() {
    let app = TestApp::spawn().await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    eve.create_app("demo").await;
    add(&eve, "demo", "ada", "Developer").await;
    assert_eq!(names(&ada).await, ["eve@example.com:demo"]);
    let before = meaning(&eve, "demo").await;
    // The victim creates an app, which takes the name.
    ada.create_app("demo").await;
    release(&ada, "demo", "Staging", "secret").await.assert(201);
    assert_eq!((releases(&ada, "demo").await, releases(&eve, "demo").await), (1, 0));
    assert_eq!(names(&ada).await, ["demo", "eve@example.com:demo"]);
    // Accepting the stranger's app does not change this.
    accept(&ada, "eve@example.com:demo", json!({})).await.assert(200);
    release(&ada, "demo", "Staging", "more").await.assert(201);
    assert_eq!((releases(&ada, "demo").await, releases(&eve, "demo").await), (2, 0));
    assert_eq!(meaning(&ada, "eve@example.com:demo").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_freed_by_rename_or_deletion_is_not_captured() {
    let app = TestApp::spawn().await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    for name in ["renamed", "deleted"] {
        ada.create_app(name).await;
        release(&ada, name, "Staging", name).await.assert(201);
    }
    ada.patch("/v1/apps/renamed", json!({ "name": "other" })).await.assert(200);
    ada.delete("/v1/apps/deleted").await.assert_status(204);
    for name in ["renamed", "deleted"] {
        eve.create_app(name).await;
        add(&eve, name, "ada", "Developer").await;
        assert_eq!(meaning(&ada, name).await, None, "{name}");
        // A client that still uses the name finds no app, creates it again, and uploads there.
        pipeline(&ada, name, "secret").await.assert(201);
        assert_eq!((releases(&ada, name).await, releases(&eve, name).await), (1, 0), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_removed_accepted_app_is_not_captured() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    for name in ["renamed", "deleted", "left", "removed"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
        accept(&ada, name, json!({})).await.assert(200);
        eve.create_app(name).await;
        add(&eve, name, "ada", "Developer").await;
        assert_eq!(meaning(&ada, name).await, meaning(&bob, name).await, "{name}");
    }
    bob.patch("/v1/apps/renamed", json!({ "name": "first" })).await.assert(200);
    // A name acquired by a rename is also in use.
    assert_eq!(meaning(&ada, "first").await, meaning(&bob, "first").await);
    bob.patch("/v1/apps/first", json!({ "name": "second" })).await.assert(200);
    eve.create_app("first").await;
    add(&eve, "first", "ada", "Developer").await;
    bob.delete("/v1/apps/deleted").await.assert_status(204);
    ada.delete("/v1/apps/left/collaborators/ada@example.com").await.assert_status(204);
    bob.delete("/v1/apps/removed/collaborators/ada@example.com").await.assert_status(204);
    for name in ["renamed", "first", "deleted", "left", "removed"] {
        assert_eq!(meaning(&ada, name).await, None, "{name}");
        assert_eq!(meaning(&ada, &format!("eve@example.com:{name}")).await, meaning(&eve, name).await, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn renaming_an_accepted_app_captures_no_name() {
    let app = TestApp::spawn().await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    eve.create_app("tool").await;
    add(&eve, "tool", "ada", "Developer").await;
    accept(&ada, "tool", json!({})).await.assert(200);
    ada.create_app("demo").await;
    let own = meaning(&ada, "demo").await;
    eve.patch("/v1/apps/tool", json!({ "name": "demo" })).await.assert(200);
    assert_eq!(meaning(&ada, "demo").await, own);
    ada.delete("/v1/apps/demo").await.assert_status(204);
    assert_eq!(meaning(&ada, "demo").await, None, "it must be accepted under this name");
    assert_eq!(names(&ada).await, ["eve@example.com:demo"]);
    accept(&ada, "eve@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "demo").await, meaning(&eve, "demo").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_app_cannot_take_the_name_of_another_shared_app() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    // Ada never accepted Bob's app, since its bare name works: it is unambiguous.
    bob.create_app("shop").await;
    add(&bob, "shop", "ada", "Developer").await;
    let shop = meaning(&bob, "shop").await;
    assert_eq!(meaning(&ada, "shop").await, shop);
    eve.create_app("tool").await;
    add(&eve, "tool", "ada", "Developer").await;
    accept(&ada, "tool", json!({})).await.assert(200);
    eve.patch("/v1/apps/tool", json!({ "name": "shop" })).await.assert(200);
    let meant = meaning(&ada, "shop").await;
    assert!(meant != meaning(&eve, "shop").await, "a rename took a name that was in use");
    accept(&ada, "bob@example.com:shop", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "shop").await, shop);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_used_for_a_shared_app_is_not_captured() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    for name in ["renamed", "deleted", "removed"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
        release(&ada, name, "Staging", "before").await.assert(201);
        eve.create_app(name).await;
        add(&eve, name, "ada", "Developer").await;
    }
    add(&bob, "renamed", "eve", "Admin").await;
    eve.patch("/v1/apps/bob@example.com:renamed", json!({ "name": "away" })).await.assert(200);
    bob.delete("/v1/apps/deleted").await.assert_status(204);
    bob.delete("/v1/apps/removed/collaborators/ada@example.com").await.assert_status(204);
    for name in ["renamed", "deleted", "removed"] {
        release(&ada, name, "Staging", "secret").await.refused(404);
        assert_eq!(releases(&eve, &format!("eve@example.com:{name}")).await, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_app_does_not_give_its_name_to_another_app() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    ada.create_app("own").await;
    for name in ["renamed", "deleted", "removed"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
        accept(&ada, name, json!({})).await.assert(200);
    }
    for (owner, name) in [(&ada, "own"), (&bob, "renamed")] {
        add(owner, name, "eve", "Admin").await;
    }
    for name in ["own", "renamed", "deleted", "removed"] {
        eve.create_app(name).await;
        add(&eve, name, "ada", "Developer").await;
        accept(&ada, &format!("eve@example.com:{name}"), json!({})).await.assert(200);
    }
    eve.patch("/v1/apps/ada@example.com:own", json!({ "name": "own-2" })).await.assert(200);
    eve.patch("/v1/apps/bob@example.com:renamed", json!({ "name": "renamed-2" })).await.assert(200);
    bob.delete("/v1/apps/deleted").await.assert_status(204);
    bob.delete("/v1/apps/removed/collaborators/ada@example.com").await.assert_status(204);
    for name in ["own", "renamed", "deleted", "removed"] {
        release(&ada, name, "Staging", "secret").await.refused(404);
        // Ada can give it the name explicitly.
        let long = format!("eve@example.com:{name}");
        accept(&ada, &long, json!({})).await.assert(200);
        assert_eq!(meaning(&ada, name).await, meaning(&ada, &long).await, "{name}");
    }
    // Her own changes are her decision.
    ada.create_app("mine").await;
    eve.create_app("mine").await;
    add(&eve, "mine", "ada", "Developer").await;
    accept(&ada, "eve@example.com:mine", json!({})).await.assert(200);
    ada.patch("/v1/apps/mine", json!({ "name": "mine-2" })).await.assert(200);
    assert_eq!(meaning(&ada, "mine").await, meaning(&eve, "mine").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sender_can_cancel_a_transfer_with_any_role() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let (ada, eve) = (app.log_in("ada").await, app.sign_up("eve").await);
    ada.create_app("gift").await;
    transfer(&ada, "gift", "eve").await.assert(201);
    eve.patch("/v1/apps/ada@example.com:gift/collaborators/ada@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    // A user who cannot transfer it learns nothing about addresses.
    for address in ["ada2", "eve"] {
        assert!(transfer(&eve, "ada@example.com:gift", address).await.refused(409).contains("accept it before"));
    }
    ada.delete("/v1/apps/gift/collaborators/eve@example.com").await.assert_status(204);
    assert_eq!(roles(&ada, "gift").await, json!({ "ada": "Owner" }));
    ada.delete("/v1/apps/gift").await.assert_status(204);
    ada.delete_with("/v1/account", json!({ "password": PASSWORD })).await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_cannot_exhaust_another_users_daily_deployment_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "10000/1m").with("LIMIT_DEPLOYMENTS", "1000")).await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "eve", "Admin").await;
    for number in 0..200 {
        let new = json!({ "name": format!("d{number}") });
        eve.post("/v1/apps/ada@example.com:demo/deployments", new).await.assert_status(201);
    }
    eve.post("/v1/apps/ada@example.com:demo/deployments", json!({ "name": "more" })).await.refused(409);
    ada.create_app("new").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_neither_gives_nor_takes_a_bare_name() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    for name in ["shop", "fresh"] {
        eve.create_app(name).await;
    }
    bob.create_app("shop").await;
    bob.create_app("given").await;
    for name in ["shop", "given"] {
        add(&bob, name, "ada", "Developer").await;
    }
    let before = [meaning(&ada, "shop").await, meaning(&ada, "fresh").await, meaning(&ada, "given").await];
    assert_eq!((before[0].is_some(), &before[1], before[2].is_some()), (true, &None, true));
    for (sender, name) in [(&eve, "shop"), (&eve, "fresh"), (&bob, "given")] {
        transfer(sender, name, "ada").await.assert(201);
    }
    assert_eq!([meaning(&ada, "shop").await, meaning(&ada, "fresh").await, meaning(&ada, "given").await], before);
    // Once accepted, it has its name.
    accept(&ada, "eve@example.com:fresh", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "fresh").await, meaning(&eve, "fresh").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_keeps_an_owner_while_its_receiver_deletes_the_account() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1000/1h")).await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    for number in 0..6 {
        let (name, receiver) = (format!("app{number}"), format!("bob{number}"));
        app.register(&receiver).await;
        let bob = app.log_in(&receiver).await;
        ada.create_app(&name).await;
        add(&ada, &name, "eve", "Admin").await;
        transfer(&ada, &name, &receiver).await.assert(201);
        let long = format!("/v1/apps/ada@example.com:{name}");
        let (role, acceptance) = (format!("{long}/collaborators/ada@example.com"), format!("{long}/collaborators/me/accept"));
        let (deleted, changed, accepted) = tokio::join!(
            bob.delete_with("/v1/account", json!({ "password": PASSWORD })),
            eve.patch(&role, json!({ "permission": "Viewer" })),
            bob.post(&acceptance, json!({}))
        );
        // If it was accepted first, the app has the receiver's name.
        for (answer, statuses) in [(&deleted, &[204, 409][..]), (&changed, &[200, 404, 409]), (&accepted, &[200, 401, 404])] {
            assert!(statuses.contains(&answer.status.as_u16()), "{}", answer.text());
        }
    }
    let owners =
        "SELECT COUNT(*) FROM apps a WHERE (SELECT COUNT(*) FROM collaborators c WHERE c.app_id = a.id AND c.permission = 'Owner') <> 1";
    assert_eq!(app.number(owners).await, 0, "each app has one owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_cannot_rename_an_app_to_replace_another_app_of_its_owner() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    ada.create_app("harmless").await;
    add(&ada, "harmless", "eve", "Admin").await;
    bob.create_app("shared").await;
    bob.create_app("accepted").await;
    for name in ["shared", "accepted"] {
        add(&bob, name, "ada", "Developer").await;
    }
    accept(&ada, "accepted", json!({})).await.assert(200);
    ada.create_app("gone").await;
    ada.delete("/v1/apps/gone").await.assert_status(204);
    let before = [meaning(&ada, "shared").await, meaning(&ada, "accepted").await];
    for name in ["shared", "accepted", "gone"] {
        let said = eve.patch("/v1/apps/harmless", json!({ "name": name })).await.refused(409);
        assert!(said.contains("ask the owner"), "{said}");
    }
    assert_eq!([meaning(&ada, "shared").await, meaning(&ada, "accepted").await], before);
    // The owner can do so with their own apps.
    ada.patch("/v1/apps/harmless", json!({ "name": "gone" })).await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_name_shared_by_two_strangers_is_ambiguous() {
    let app = TestApp::spawn().await;
    let (ada, bob, eve) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("eve").await);
    for owner in [&bob, &eve] {
        owner.create_app("demo").await;
        add(owner, "demo", "ada", "Developer").await;
    }
    assert_eq!(meaning(&ada, "demo").await, None);
    assert_eq!(names(&ada).await, ["bob@example.com:demo", "eve@example.com:demo"]);
    accept(&ada, "demo", json!({})).await.refused(404);
    accept(&ada, "bob@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "demo").await, meaning(&bob, "demo").await);
    // The app accepted later comes second.
    accept(&ada, "eve@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "demo").await, meaning(&bob, "demo").await);
    assert_eq!(names(&ada).await, ["demo", "eve@example.com:demo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unwanted_transfer_does_not_block_deleting_the_account() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let (ada, eve) = (app.log_in("ada").await, app.sign_up("eve").await);
    for name in ["one", "two"] {
        eve.create_app(name).await;
        transfer(&eve, name, "ada").await.assert(201);
    }
    let rows = app.audit_rows().await;
    ada.delete_with("/v1/account", json!({ "password": PASSWORD })).await.assert_status(204);
    // One row for the deleted account, and one for each app with a new owner.
    assert_eq!(app.audit_rows().await, rows + 3);
    for name in ["one", "two"] {
        assert_eq!(roles(&eve, name).await, json!({ "eve": "Owner" }), "the sender is the owner again");
        eve.delete(&format!("/v1/apps/{name}")).await.assert_status(204);
    }
    let mails = app.mails_to("eve@example.com").await;
    assert_eq!(mails.iter().filter(|mail| mail.subject == "A transferred app was returned to you").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_cannot_abandon_an_app_in_a_pending_transfer() {
    let app = TestApp::spawn().await;
    app.register("eve").await;
    let (ada, eve) = (app.sign_up("ada").await, app.log_in("eve").await);
    eve.create_app("demo").await;
    transfer(&eve, "demo", "ada").await.assert(201);
    let said = eve.delete_with("/v1/account", json!({ "password": PASSWORD })).await.refused(409);
    assert!(said.contains("pending app transfers"), "{said}");
    for client in [&ada, &eve] {
        let said = client.delete("/v1/apps/eve@example.com:demo/collaborators/eve@example.com").await.refused(409);
        assert!(said.contains("until the receiver accepts"), "{said}");
    }
    assert_eq!(roles(&eve, "demo").await, json!({ "ada": "Owner", "eve": "Admin" }));
    accept(&ada, "eve@example.com:demo", json!({})).await.assert(200);
    eve.delete_with("/v1/account", json!({ "password": PASSWORD })).await.assert_status(204);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_transfer_takes_no_name_quota_or_key_of_the_receiver() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_APPS", "2")).await;
    let (ada, eve) = (app.sign_up("ada").await, app.sign_up("eve").await);
    for name in ["demo", "shop"] {
        eve.create_app(name).await;
        eve.delete(&format!("/v1/apps/{name}/deployments/Production")).await.assert_status(204);
        transfer(&eve, name, "ada").await.assert(201);
    }
    // They count toward the sender's quota, not the receiver's.
    assert!(eve.post("/v1/apps", json!({ "name": "third" })).await.refused(409).contains("2 apps per account"));
    pipeline(&ada, "own", "secret").await.assert(201);
    ada.create_app("demo").await;
    assert_eq!(names(&ada).await, ["demo", "eve@example.com:demo", "own", "eve@example.com:shop"]);
    let keys = "SELECT DISTINCT o.email FROM deployment_keys k JOIN apps a ON a.id = k.app_id JOIN accounts o ON o.id = k.account_id \
        JOIN collaborators c ON c.app_id = a.id JOIN accounts e ON e.id = c.account_id WHERE e.email = $1";
    assert_eq!(app.texts(keys, &["eve@example.com"]).await, ["eve@example.com"]);
    // The victim's own app with that name prevents it, and so does the quota.
    let said = accept(&ada, "eve@example.com:demo", json!({})).await.refused(409);
    assert!(said.contains("another name"), "{said}");
    assert!(accept(&ada, "eve@example.com:shop", json!({})).await.refused(409).contains("2 apps per account"));
    ada.delete("/v1/apps/own").await.assert_status(204);
    let before = meaning(&ada, "demo").await;
    accept(&ada, "eve@example.com:demo", json!({ "name": "demo" })).await.refused(409);
    let accepted = accept(&ada, "eve@example.com:demo", json!({ "name": "from eve" })).await.assert(200);
    assert_eq!(accepted["app"]["name"], "from eve");
    assert_eq!(meaning(&ada, "demo").await, before);
    eve.post("/v1/apps", json!({ "name": "third" })).await.assert(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_invitations_send_at_most_ten_mails_a_day() {
    let app = TestApp::spawn().await;
    app.sign_up("ada").await;
    let told = async || app.mails_to("ada@example.com").await.len();
    for number in 0..4 {
        let stranger = app.sign_up(&format!("stranger{number}")).await;
        for name in ["one", "two", "three", "four"] {
            stranger.create_app(name).await;
            // Every kind of invitation counts.
            if name == "four" {
                transfer(&stranger, name, "ada").await.assert(201);
            } else {
                add(&stranger, name, "ada", "Viewer").await;
                stranger.delete(&format!("/v1/apps/{name}/collaborators/ada@example.com")).await.assert_status(204);
            }
        }
    }
    assert_eq!(told().await, 10);
    app.clock.advance(86_400_000);
    let late = app.sign_up("late").await;
    late.create_app("app").await;
    add(&late, "app", "ada", "Viewer").await;
    assert_eq!(told().await, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_names_work_for_own_accepted_and_unambiguous_shared_apps() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("own").await;
    for name in ["accepted", "shared"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
    }
    let cli = app.open_session("ada", tests::SessionOrigin::CliBrowser).await;
    let api_key = app.api_key("ada", &["deploy", "read"]).await;
    accept(&cli, "accepted", json!({})).await.assert(200);
    for (number, client) in [&ada, &cli, &api_key].into_iter().enumerate() {
        for name in ["own", "accepted", "shared"] {
            let content = format!("{name} {number}");
            let uploaded = release(client, name, "Staging", &content).await;
            uploaded.assert(201);
            let location = uploaded.header("location");
            assert!(location.starts_with(&format!("/v1/apps/{name}/deployments/Staging/releases/")), "{location}");
            let promote = json!({ "destination": "Production" });
            client.post(&format!("/v1/apps/{name}/deployments/Staging/promotions"), promote).await.assert(201);
            client.metrics(name, "Staging").await;
        }
    }
    assert_eq!(names(&ada).await, ["accepted", "own", "bob@example.com:shared"]);
    // Every listed name resolves to its app.
    for name in names(&ada).await {
        assert_eq!(releases(&ada, &name).await, 3, "{name}");
    }
    // Reading it, using it and using its qualified name do not accept it.
    assert!(ada.send(ada.request(Method::GET, "/v1/apps/bob@example.com:shared")).await.status.is_success());
    assert_eq!(names(&ada).await[2], "bob@example.com:shared");
}
