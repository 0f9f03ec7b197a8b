//! Transfers: the app, its limits and its keys move to another account.

use serde_json::json;
use tests::TestApp;
use tests::people::PASSWORD;

use crate::v1::apps::{accept, add, check, meaning, names, release, roles, transfer};

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_app_belongs_to_the_receiver_and_the_old_owner_becomes_an_admin() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let (production, _) = ada.create_app("demo").await;
    release(&ada, "demo", "Production", "v1").await.assert(201);
    let id = meaning(&ada, "demo").await;
    let transferred = transfer(&ada, "demo", "BOB").await;
    let body = transferred.assert(201);
    assert_eq!(body["app"]["name"], "demo");
    let expected =
        json!({ "ada@example.com": { "permission": "Admin", "isCurrentAccount": true }, "bob@example.com": { "permission": "Owner" } });
    assert_eq!(body["app"]["collaborators"], expected);
    assert_eq!(transferred.header("location"), "/v1/apps/demo");
    assert_eq!(roles(&bob, "ada@example.com:demo").await, json!({ "ada": "Admin", "bob": "Owner" }));
    // Until accepted, qualified by the sender and bare only for the sender; then qualified by the new owner and bare for both.
    for (owner, other) in [("ada", "bob"), ("bob", "ada")] {
        assert_eq!(meaning(&bob, "demo").await, id.clone().filter(|_| owner == "bob"));
        assert_eq!(meaning(&ada, "demo").await, id);
        for client in [&ada, &bob] {
            assert_eq!(meaning(client, &format!("{owner}@example.com:demo")).await, id);
            assert_eq!(meaning(client, &format!("{other}@example.com:demo")).await, None);
        }
        accept(&bob, &format!("{owner}@example.com:demo"), json!({})).await.assert(200);
    }
    assert_eq!(check(&app, &production).await.assert(200)["update_info"]["label"], "v1", "devices are unaffected");
    // An admin can manage the app, but no longer delete or transfer it.
    ada.patch("/v1/apps/demo/deployments/Staging", json!({ "name": "Beta" })).await.assert(200);
    ada.delete("/v1/apps/demo").await.refused(403);
    transfer(&ada, "demo", "ada").await.refused(403);
    transfer(&bob, "demo", "ada").await.assert(201);
    assert_eq!(roles(&bob, "demo").await, json!({ "ada": "Owner", "bob": "Admin" }));
    assert_eq!(meaning(&ada, "bob@example.com:demo").await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_can_transfer_and_only_to_another_account() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for role in ["Admin", "Developer", "Viewer"] {
        let name = role.to_lowercase();
        let client = app.sign_up(&name).await;
        add(&ada, "demo", &name, role).await;
        transfer(&client, "demo", &name).await.refused(403);
    }
    transfer(&app.api_key("ada", &["apps", "deploy", "read"]).await, "demo", "admin").await.refused(403);
    transfer(&app.sign_up("eve").await, "demo", "eve").await.refused(404);
    transfer(&ada, "demo", "nobody").await.refused(404);
    transfer(&ada, "demo", "ada").await.refused(409);
    // A collaborator's row becomes that of the owner; an access key can do it.
    transfer(&app.named_key("ada", "more").await, "demo", "viewer").await.assert(201);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Admin", "admin": "Admin", "developer": "Developer", "viewer": "Owner" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_owners_are_notified_by_mail() {
    let app = TestApp::spawn().await;
    let (ada, _bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo <b>").await;
    transfer(&ada, "demo%20%3Cb%3E", "bob").await.assert(201);
    let (given, received) = (app.last_mail_to("ada@example.com").await, app.last_mail_to("bob@example.com").await);
    assert_eq!((given.subject.as_str(), received.subject.as_str()), ("Your app was transferred", "An app was transferred to you"));
    // Until accepted, the receiver has only the qualified name.
    for (mail, other, name) in [(&given, "bob@example.com", "demo <b>"), (&received, "ada@example.com", "ada@example.com:demo <b>")] {
        for part in [&mail.text, &mail.html] {
            assert!(part.contains(other), "{part}");
        }
        assert!(mail.text.contains(&format!("- {name}\n")), "{}", mail.text);
        assert!(!mail.html.contains("<b>"), "{}", mail.html);
    }
    assert!(
        given.text.contains("IP address: 127.0.0.1.") && !received.text.contains("IP address"),
        "the receiver does not learn the previous owner's address"
    );
    // A refused transfer sends no email.
    transfer(&ada, "demo%20%3Cb%3E", "bob").await.refused(403);
    assert_eq!((app.mails_to("ada@example.com").await.len(), app.mails_to("bob@example.com").await.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn deployment_keys_move_with_the_app() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    ada.create_app("other").await;
    let (used, gone, elsewhere) = ("key-of-a-deployment", "key-of-a-deleted-deployment", "key-of-another-app");
    for (at, name, key) in [("demo", "Used", used), ("demo", "Gone", gone), ("other", "Elsewhere", elsewhere)] {
        ada.post(&format!("/v1/apps/{at}/deployments"), json!({ "name": name, "key": key })).await.assert(201);
    }
    ada.delete("/v1/apps/demo/deployments/Gone").await.assert(204);
    transfer(&ada, "demo", "bob").await.assert(201);
    // Until accepted, they belong to the sender.
    bob.create_app("bobs").await;
    bob.post("/v1/apps/bobs/deployments", json!({ "name": "Gone", "key": gone })).await.refused(409);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    bob.delete("/v1/apps/demo/deployments/Used").await.assert(204);
    ada.delete("/v1/apps/other/deployments/Elsewhere").await.assert(204);
    // A key controls what its devices run: only the new owner may reuse one, not even the previous owner.
    for (key, new, old) in [(used, "bobs", "other"), (gone, "bobs", "other"), (elsewhere, "other", "bobs")] {
        let make = json!({ "name": key, "key": key });
        let (mine, others) = if new == "bobs" { (&bob, &ada) } else { (&ada, &bob) };
        others.post(&format!("/v1/apps/{old}/deployments"), make.clone()).await.refused(409);
        mine.post(&format!("/v1/apps/{new}/deployments"), make).await.assert(201);
    }
    // An admin who brings a key does so for the owner.
    ada.post("/v1/apps/demo/deployments", json!({ "name": "By an Admin", "key": "key-by-an-admin" })).await.assert(201);
    ada.delete("/v1/apps/demo/deployments/By%20an%20Admin").await.assert(204);
    ada.post("/v1/apps/other/deployments", json!({ "name": "Mine", "key": "key-by-an-admin" })).await.refused(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_new_owners_limits_apply() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    app.change("UPDATE accounts SET max_upload_bytes = 5 WHERE email = $1", &["bob@example.com"]).await;
    release(&ada, "demo", "Staging", "too large for Bob").await.assert(201);
    transfer(&ada, "demo", "bob").await.assert(201);
    release(&ada, "demo", "Staging", "not Bob's yet").await.assert(201);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    release(&ada, "demo", "Staging", "too large for Bob, too").await.refused(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_transfers_one_succeeds() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for number in 0..8 {
        app.sign_up(&format!("heir{number}")).await;
    }
    let attempts: Vec<_> = (0..8)
        .map(|number| {
            let ada = ada.clone();
            tokio::spawn(async move { transfer(&ada, "demo", &format!("heir{number}")).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403, 403, 403, 403, 403, 403, 403]);
    let roles = roles(&ada, "demo").await;
    assert_eq!((roles.as_object().unwrap().len(), &roles["ada"]), (2, &json!("Admin")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_no_longer_owns_apps_can_be_deleted() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let bob = app.sign_up("bob").await;
    ada.create_app("given").await;
    let (_, key) = ada.create_app("deleted").await;
    let deletion = json!({ "password": PASSWORD });
    ada.delete_with("/v1/account", deletion.clone()).await.refused(409);
    transfer(&ada, "given", "bob").await.assert(201);
    ada.delete_with("/v1/account", deletion.clone()).await.refused(409);
    ada.delete("/v1/apps/deleted").await.assert(204);
    // A pending transfer still belongs to the sender's account.
    ada.delete_with("/v1/account", deletion.clone()).await.refused(409);
    accept(&bob, "ada@example.com:given", json!({})).await.assert(200);
    ada.delete_with("/v1/account", deletion).await.assert(204);
    assert_eq!(roles(&bob, "given").await, json!({ "bob": "Owner" }));
    assert_eq!(names(&bob).await, ["given"]);
    // The keys of deleted deployments stay taken forever.
    bob.post("/v1/apps/given/deployments", json!({ "name": "New", "key": key })).await.refused(409);
    check(&app, &key).await.refused(404);
}
