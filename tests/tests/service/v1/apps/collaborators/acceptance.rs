//! Accepting apps: shared ones, and transferred ones, which change their owner.

use serde_json::{Value, json};
use tests::logged::{self, traces};
use tests::{Options, SessionOrigin, TestApp};

use crate::v1::apps::{accept, add, meaning, names, release, roles, transfer};

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_app_is_listed_by_its_bare_name() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Viewer").await;
    assert_eq!(bob.get("/v1/apps/demo").await.assert(200)["app"]["name"], "ada@example.com:demo");
    let accepted = bob.send(bob.request(reqwest::Method::POST, "/v1/apps/demo/collaborators/me/accept")).await.assert(200);
    assert_eq!(accepted, bob.get("/v1/apps/demo").await.assert(200));
    assert_eq!(accepted["app"]["name"], "demo");
    // Accepting again succeeds, and so does accepting an own app.
    assert_eq!(accept(&bob, "ada@example.com:demo", json!({ "name": null })).await.assert(200), accepted);
    accept(&ada, "demo", json!({ "name": "demo" })).await.assert(200);
    accept(&app.sign_up("eve").await, "ada@example.com:demo", json!({})).await.refused(404);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "bob": "Viewer" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_credential_except_api_keys_can_accept() {
    let app = TestApp::spawn().await;
    let (ada, _bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let clients = [
        app.open_session("bob", SessionOrigin::Dashboard).await,
        app.open_session("bob", SessionOrigin::CliBrowser).await,
        app.named_key("bob", "more").await,
    ];
    let api_key = app.api_key("bob", &["apps", "deploy", "read"]).await;
    for (number, client) in clients.iter().enumerate() {
        let name = format!("demo{number}");
        ada.create_app(&name).await;
        add(&ada, &name, "bob", "Viewer").await;
        assert!(accept(&api_key, &name, json!({})).await.refused(403).contains("collaborators.accept"));
        let before = app.audit_rows().await;
        accept(client, &name, json!({})).await.assert(200);
        let rows = app.audit_since(before).await;
        let bob = app.account_of("bob").await;
        assert_eq!((rows.len(), rows[0].action.as_str(), rows[0].object_id.as_str()), (1, "collaborator.accept", bob.as_str()));
        assert_eq!(serde_json::from_str::<Value>(&rows[0].details).unwrap(), json!({ "permission": "Viewer" }));
    }
    assert_eq!(names(&clients[0]).await, ["demo0", "demo1", "demo2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_app_moves_when_it_is_accepted() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "carol", "Developer").await;
    accept(&carol, "demo", json!({})).await.assert(200);
    let id = meaning(&ada, "demo").await;
    transfer(&ada, "demo", "bob").await.assert(201);
    assert_eq!((names(&ada).await, names(&bob).await), (vec!["demo".to_owned()], vec!["ada@example.com:demo".to_owned()]));
    let before = app.audit_rows().await;
    let accepted = accept(&bob, "ada@example.com:demo", json!({ "name": "bobs" })).await.assert(200);
    assert_eq!(accepted["app"]["name"], "bobs");
    let rows = app.audit_since(before).await;
    let details = json!({ "permission": "Owner", "from": app.account_of("ada").await, "name": "bobs" });
    assert_eq!((rows.len(), serde_json::from_str::<Value>(&rows[0].details).unwrap()), (1, details));
    for client in [&ada, &bob, &carol] {
        assert_eq!((meaning(client, "bobs").await, meaning(client, "bob@example.com:bobs").await), (id.clone(), id.clone()));
        assert_eq!((meaning(client, "demo").await, meaning(client, "ada@example.com:demo").await), (None, None));
    }
    assert_eq!(roles(&bob, "bobs").await, json!({ "ada": "Admin", "bob": "Owner", "carol": "Developer" }));
    // The sender's name is free again, the receiver's is taken.
    ada.create_app("demo").await;
    bob.post("/v1/apps", json!({ "name": "bobs" })).await.refused(409);
    // Now the receiver can transfer it.
    transfer(&bob, "bobs", "carol").await.assert(201);
    bob.delete("/v1/apps/bobs/collaborators/ada@example.com").await.assert_status(204);
    bob.delete("/v1/apps/bobs/collaborators/bob@example.com").await.refused(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_senders_bare_name_keeps_its_app() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    // An accepted app that is older than an own one with the same name.
    carol.create_app("demo").await;
    add(&carol, "demo", "ada", "Viewer").await;
    accept(&ada, "demo", json!({})).await.assert(200);
    app.clock.advance(1_000);
    ada.create_app("demo").await;
    let id = meaning(&ada, "demo").await;
    assert_eq!(names(&ada).await, ["demo", "carol@example.com:demo"]);
    transfer(&ada, "demo", "bob").await.assert(201);
    assert_eq!(meaning(&ada, "demo").await, id);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    assert_eq!(meaning(&ada, "demo").await, id);
    assert_eq!(names(&ada).await, ["demo", "carol@example.com:demo"]);
    assert_eq!(meaning(&ada, "bob@example.com:demo").await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_accepting_a_transfer_can_rename_to_a_valid_name() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Admin").await;
    for client in [&ada, &bob] {
        accept(client, "demo", json!({ "name": "other" })).await.refused(409);
    }
    assert_eq!(names(&bob).await, ["ada@example.com:demo"], "nothing was accepted");
    transfer(&ada, "demo", "bob").await.assert(201);
    for name in [json!(""), json!("a/b"), json!("a:b"), json!(" a"), json!(".."), json!("x".repeat(256)), json!(5), json!(["a"])] {
        let refusal = accept(&bob, "demo", json!({ "name": name })).await.refused(400);
        assert!(refusal.starts_with("name: "), "{name}: {refusal}");
    }
    for body in [json!([]), json!("demo"), json!(5)] {
        accept(&bob, "demo", body).await.refused(400);
    }
    assert_eq!(names(&bob).await, ["ada@example.com:demo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_receiver_has_access_but_cannot_pass_on_an_unaccepted_app() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    transfer(&ada, "demo", "bob").await.assert(201);
    release(&bob, "ada@example.com:demo", "Staging", "by the receiver").await.assert(201);
    add(&bob, "ada@example.com:demo", "carol", "Viewer").await;
    // It cannot even take the name of another app of the sender.
    ada.create_app("shop").await;
    bob.patch("/v1/apps/ada@example.com:demo", json!({ "name": "shop" })).await.refused(409);
    bob.patch("/v1/apps/ada@example.com:demo", json!({ "name": "new" })).await.assert(200);
    assert_eq!(names(&ada).await, ["new", "shop"]);
    let said = transfer(&bob, "ada@example.com:new", "carol").await.refused(409);
    assert!(said.contains("accept it before"), "{said}");
    // The receiver can assign roles; the sender's name is unaffected.
    bob.patch("/v1/apps/ada@example.com:new/collaborators/ada@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    bob.patch("/v1/apps/ada@example.com:new/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.refused(409);
    carol.delete("/v1/apps/new/collaborators/bob@example.com").await.refused(403);
    // It can be transferred back.
    let told = app.mails_to("bob@example.com").await.len();
    transfer(&bob, "ada@example.com:new", "ada").await.assert(201);
    assert_eq!(app.mails_to("bob@example.com").await.len(), told, "Bob never owned it");
    assert_eq!(roles(&ada, "new").await, json!({ "ada": "Owner", "bob": "Admin", "carol": "Viewer" }));
    assert_eq!(app.last_mail_to("ada@example.com").await.subject, "A transferred app was returned to you");
    ada.delete("/v1/apps/new/collaborators/bob@example.com").await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sender_becomes_owner_again_if_the_receiver_leaves() {
    let app = TestApp::spawn().await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "carol", "Admin").await;
    transfer(&ada, "demo", "bob").await.assert(201);
    // Only the receiver can decline, and the sender can cancel.
    carol.delete("/v1/apps/demo/collaborators/bob@example.com").await.refused(409);
    let before = app.audit_rows().await;
    bob.delete("/v1/apps/ada@example.com:demo/collaborators/bob@example.com").await.assert_status(204);
    let rows = app.audit_since(before).await;
    let details = json!({ "permission": "Owner", "owner": app.account_of("ada").await });
    assert_eq!((rows.len(), serde_json::from_str::<Value>(&rows[0].details).unwrap()), (1, details));
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "carol": "Admin" }));
    let mail = app.last_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "A transferred app was returned to you");
    assert!(mail.text.contains("bob@example.com") && mail.text.contains("- demo\n"), "{}", mail.text);
    // Once accepted, the owner cannot leave.
    transfer(&ada, "demo", "bob").await.assert(201);
    accept(&bob, "ada@example.com:demo", json!({})).await.assert(200);
    bob.delete("/v1/apps/demo/collaborators/bob@example.com").await.refused(409);
    ada.delete("/v1/apps/demo/collaborators/ada@example.com").await.assert_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_collaborator_is_told_how_to_accept_and_leave() {
    let app = TestApp::spawn().await;
    let (ada, _bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let name = format!("demo <b> {}", "long".repeat(50));
    ada.create_app(&name).await;
    let path = format!("/v1/apps/{}/collaborators/bob@example.com", tests::encode_segment(&name));
    ada.post(&path, json!({ "permission": "Viewer" })).await.assert(201);
    let mail = app.last_mail_to("bob@example.com").await;
    assert_eq!(mail.subject, "An app was shared with you");
    let id = &app.texts("SELECT id FROM apps WHERE name = $1", &[&name]).await[0];
    for part in [&mail.text, &mail.html] {
        for link in ["accept", "leave"].map(|verb| format!("{}/dashboard/account/apps/{id}/{verb}", app.base)) {
            assert!(part.contains(&link), "{link}: {part}");
        }
        assert!(part.contains("ada@example.com") && part.contains("Viewer") && !part.contains(&name), "{part}");
    }
    assert!(mail.text.contains("- ada@example.com:demo <b> longlong") && !mail.html.contains("<b>"), "{}", mail.text);
    // A refused invitation sends no email.
    ada.post(&path, json!({})).await.refused(409);
    assert_eq!(app.mails_to("bob@example.com").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_concurrent_acceptances_with_one_name_one_succeeds() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_COLLABORATORS", "1000/1h")).await;
    let (ada, bob, carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    for number in 0..6 {
        let name = format!("demo{number}");
        for sender in [&ada, &carol] {
            sender.create_app(&name).await;
            transfer(sender, &name, "bob").await.assert(201);
        }
        let [first, second] = ["ada", "carol"].map(|sender| format!("{sender}@example.com:{name}"));
        let membership = format!("/v1/apps/{first}/collaborators/bob@example.com");
        let (first, second, left) =
            tokio::join!(accept(&bob, &first, json!({})), accept(&bob, &second, json!({})), bob.delete(&membership));
        let statuses = [first.status.as_u16(), second.status.as_u16()];
        let accepted = statuses.iter().filter(|status| **status == 200).count();
        assert!(accepted == 1 || left.status.as_u16() == 204, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 404, 409].contains(status)), "{statuses:?}");
        assert!([204, 404, 409].contains(&left.status.as_u16()), "{}", left.text());
        let owners = "SELECT COUNT(*) FROM apps a WHERE (SELECT COUNT(*) FROM collaborators c WHERE c.app_id = a.id AND c.permission = 'Owner') <> 1";
        assert_eq!(app.number(owners).await, 0, "each app has one owner");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn renames_of_an_app_are_limited_per_day() {
    let log = logged::listen("info");
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MANAGEMENT_API", "10000/1m")).await;
    let ada = app.sign_up("ada").await;
    ada.create_app("name0").await;
    for number in 1..=200 {
        ada.patch(&format!("/v1/apps/name{}", number - 1), json!({ "name": format!("name{number}") })).await.assert(200);
    }
    let said = ada.patch("/v1/apps/name200", json!({ "name": "more" })).await.refused(409);
    assert!(said.contains("200 new app names") && said.ends_with("try again tomorrow"), "{said}");
    let line = traces(&log).pop().unwrap();
    let account = app.account_of("ada").await.to_string();
    assert_eq!((&line["event"], &line["outcome"], &line["account.id"]), (&json!("limit"), &json!("renames"), &json!(account)));
    // Renaming to the same name does not count.
    ada.patch("/v1/apps/name200", json!({ "name": "name200" })).await.assert(200);
    app.clock.advance(86_400_000);
    ada.patch("/v1/apps/name200", json!({ "name": "more" })).await.assert(200);
}
