//! Collaborators: add, list, change roles, remove.

mod acceptance;
mod awaited;
mod limit;

use futures_util::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};
use tests::multipart::Multipart;
use tests::wait::until;
use tests::{Options, SessionOrigin, TestApp};

use crate::v1::apps::{add, names, release, roles};

#[tokio::test(flavor = "multi_thread")]
async fn a_collaborator_is_a_developer_by_default() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    let _carol = app.sign_up("carol").await;
    ada.create_app("demo").await;
    // As CLIs send it: without a body. The address is normalized.
    let added = ada.send(ada.request(Method::POST, "/v1/apps/demo/collaborators/%20BOB%40Example.com")).await;
    assert_eq!(added.assert(201), json!({ "collaborator": { "email": "bob@example.com", "permission": "Developer" } }));
    assert_eq!(added.header("location"), "/v1/apps/demo/collaborators/bob%40example.com");
    let added = ada.post("/v1/apps/demo/collaborators/carol@example.com", json!({ "permission": null })).await.assert(201);
    assert_eq!(added["collaborator"]["permission"], "Developer");

    let listed = bob.get("/v1/apps/demo/collaborators").await.assert(200);
    let expected = json!({ "collaborators": {
        "ada@example.com": { "permission": "Owner" },
        "bob@example.com": { "permission": "Developer", "isCurrentAccount": true },
        "carol@example.com": { "permission": "Developer" },
    } });
    assert_eq!(listed, expected);
    assert_eq!(bob.get("/v1/apps/demo").await.assert(200)["app"]["collaborators"], expected["collaborators"]);
    assert_eq!(names(&bob).await, ["ada@example.com:demo"], "until it is accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_admin_developer_and_viewer_can_be_assigned() {
    let app = TestApp::spawn().await;
    let (ada, _bob, _carol) = (app.sign_up("ada").await, app.sign_up("bob").await, app.sign_up("carol").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "carol", "Viewer").await;
    for role in [json!("Owner"), json!("owner"), json!("admin"), json!("Collaborator"), json!(""), json!(5), json!(["Admin"]), json!(true)]
    {
        let body = json!({ "permission": role });
        for answer in [
            ada.post("/v1/apps/demo/collaborators/bob@example.com", body.clone()).await,
            ada.patch("/v1/apps/demo/collaborators/carol@example.com", body.clone()).await,
        ] {
            let refusal = answer.refused(400);
            assert!(refusal.starts_with("permission: "), "{body}: {refusal}");
        }
    }
    for body in [json!({}), json!({ "permission": null })] {
        ada.patch("/v1/apps/demo/collaborators/carol@example.com", body).await.refused(400);
    }
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "carol": "Viewer" }));
    for role in ["Admin", "Developer", "Viewer", "Viewer"] {
        let changed = ada.patch("/v1/apps/demo/collaborators/carol@example.com", json!({ "permission": role })).await;
        assert_eq!(changed.assert(200), json!({ "collaborator": { "email": "carol@example.com", "permission": role } }));
        assert_eq!(roles(&ada, "demo").await["carol"], role);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_accounts_can_be_added_and_only_once() {
    let app = TestApp::spawn().await;
    let (ada, _bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    app.anonymous().post("/v1/auth/register", tests::people::login("eve@example.com", tests::people::PASSWORD)).await.assert(202);
    for address in ["nobody@example.com", "eve@example.com", "no-address", "*", "%25"] {
        let path = format!("/v1/apps/demo/collaborators/{address}");
        let refusal = ada.post(&path, json!({})).await.refused(404);
        assert!(refusal.contains("account"), "{address}: {refusal}");
        ada.patch(&path, json!({ "permission": "Viewer" })).await.refused(404);
        ada.delete(&path).await.refused(404);
    }
    add(&ada, "demo", "bob", "Viewer").await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Admin" })).await.refused(409);
    ada.post("/v1/apps/demo/collaborators/ada@example.com", json!({})).await.refused(409);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "bob": "Viewer" }));
    // An existing account without access to this app.
    app.sign_up("carol").await;
    ada.patch("/v1/apps/demo/collaborators/carol@example.com", json!({ "permission": "Viewer" })).await.refused(404);
    ada.delete("/v1/apps/demo/collaborators/carol@example.com").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_address_is_not_verified_cannot_be_added() {
    let app = TestApp::spawn().await;
    let (ada, _bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    app.change("UPDATE accounts SET email_verified = FALSE WHERE email = $1", &["bob@example.com"]).await;
    ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({})).await.refused(404);
    crate::v1::apps::transfer(&ada, "demo", "bob").await.refused(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn role_changes_take_effect_immediately_for_every_credential() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Developer").await;
    let session = app.open_session("bob", SessionOrigin::Dashboard).await;
    let command_line = app.open_session("bob", SessionOrigin::CliBrowser).await;
    let api_key = app.api_key("bob", &["deploy", "read", "apps"]).await;
    let credentials = [&bob, &session, &command_line, &api_key];
    for (number, client) in credentials.iter().enumerate() {
        release(client, "demo", "Staging", &format!("as a developer {number}")).await.assert(201);
        client.post("/v1/apps/demo/deployments", json!({ "name": "New" })).await.refused(403);
    }
    ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    for client in credentials {
        release(client, "demo", "Staging", "as a viewer").await.refused(403);
        assert_eq!(client.deployment_key("demo", "Staging").await, "(hidden)");
    }
    ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Admin" })).await.assert(200);
    for (number, client) in credentials.iter().enumerate() {
        client.post("/v1/apps/demo/deployments", json!({ "name": format!("New {number}") })).await.assert(201);
    }
    ada.delete("/v1/apps/demo/collaborators/bob@example.com").await.assert(204);
    for client in credentials {
        client.get("/v1/apps/demo").await.refused(404);
        release(client, "demo", "Staging", "as a stranger").await.refused(404);
        assert_eq!(client.get("/v1/apps").await.assert(200), json!({ "apps": [] }));
    }
    // And back again.
    add(&ada, "demo", "bob", "Viewer").await;
    bob.get("/v1/apps/demo").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_can_be_neither_changed_nor_removed() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Admin").await;
    for manager in [&ada, &bob] {
        manager.patch("/v1/apps/demo/collaborators/ada@example.com", json!({ "permission": "Admin" })).await.refused(409);
        manager.delete("/v1/apps/demo/collaborators/ada@example.com").await.refused(409);
    }
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "bob": "Admin" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_collaborator_can_leave_but_only_managers_can_remove_others() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    for role in ["Admin", "Developer", "Viewer"] {
        let (name, other) = (role.to_lowercase(), format!("other-{role}").to_lowercase());
        let client = app.sign_up(&name).await;
        app.sign_up(&other).await;
        add(&ada, "demo", &name, role).await;
        add(&ada, "demo", &other, "Viewer").await;
        let removed = client.delete(&format!("/v1/apps/demo/collaborators/{other}@example.com")).await;
        // Access is checked before the existence of the collaborator.
        let absent = client.delete("/v1/apps/demo/collaborators/absent@example.com").await;
        if role == "Admin" {
            removed.assert(204);
            absent.refused(404);
        } else {
            assert!(removed.refused(403).contains("collaborators.manage"));
            absent.refused(403);
        }
        let api_key = app.api_key(&name, &["deploy", "read", "apps"]).await;
        let refusal = api_key.delete(&format!("/v1/apps/demo/collaborators/{name}@example.com")).await.refused(403);
        assert!(refusal.contains("API key"), "{refusal}");
        client.delete(&format!("/v1/apps/demo/collaborators/{}%40EXAMPLE.com", name.to_uppercase())).await.assert(204);
        client.get("/v1/apps/demo").await.refused(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_attempts_to_add_one_account_one_succeeds() {
    let app = TestApp::spawn_with(Options::default()).await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    let attempts: Vec<_> = (0..8)
        .map(|_| {
            let ada = ada.clone();
            tokio::spawn(async move { ada.post("/v1/apps/demo/collaborators/bob@example.com", json!({})).await.status.as_u16() })
        })
        .collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(names(&bob).await, ["ada@example.com:demo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_trail_has_account_ids_and_no_email_addresses() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    let before = app.audit_rows().await;
    add(&ada, "demo", "bob", "Viewer").await;
    ada.patch("/v1/apps/demo/collaborators/bob@example.com", json!({ "permission": "Admin" })).await.assert(200);
    bob.delete("/v1/apps/demo/collaborators/bob@example.com").await.assert(204);
    crate::v1::apps::transfer(&ada, "demo", "bob").await.assert(201);
    bob.patch("/v1/apps/ada@example.com:demo", json!({ "name": "bobs" })).await.assert(200);
    bob.patch("/v1/apps/ada@example.com:bobs/deployments/Staging", json!({ "name": "Beta" })).await.assert(200);
    bob.delete("/v1/apps/ada@example.com:bobs/deployments/Beta/history").await.assert(204);
    bob.delete("/v1/apps/ada@example.com:bobs/deployments/Beta").await.assert(204);
    bob.delete("/v1/apps/ada@example.com:bobs").await.assert(204);
    let (ada, bob) = (app.account_of("ada").await.to_string(), app.account_of("bob").await.to_string());
    let rows = app.audit_since(before).await;
    let told: Vec<(&str, bool, Value)> =
        rows.iter().map(|row| (row.action.as_str(), row.object_id == bob, serde_json::from_str(&row.details).unwrap())).collect();
    assert_eq!(
        told,
        [
            ("collaborator.add", true, json!({ "permission": "Viewer" })),
            ("collaborator.update", true, json!({ "permission": "Admin", "before": "Viewer" })),
            ("collaborator.remove", true, json!({ "permission": "Admin" })),
            ("app.transfer", false, json!({ "from": ada, "to": bob })),
            ("app.rename", false, json!({ "name": "bobs", "before": "demo" })),
            ("deployment.rename", false, json!({ "name": "Beta", "before": "Staging" })),
            ("history.clear", false, json!({ "deployment": "Beta" })),
            ("deployment.delete", false, json!({ "name": "Beta" })),
            ("app.delete", false, json!({ "name": "bobs" })),
        ]
    );
    assert!(rows.iter().all(|row| row.app_id == rows[0].app_id && row.app_id.is_some()), "all belong to the app");
    assert!(!app.audit_text().await.contains('@'));
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_in_progress_is_refused_if_the_role_is_removed() {
    let app = TestApp::spawn().await;
    let (ada, bob) = (app.sign_up("ada").await, app.sign_up("bob").await);
    ada.create_app("demo").await;
    for (role, status) in [("none", 404), ("Viewer", 403), ("Admin", 201)] {
        let path = "/v1/apps/demo/collaborators/bob@example.com";
        ada.send(ada.request(Method::POST, path)).await;
        ada.patch(path, json!({ "permission": "Developer" })).await.assert(200);
        // The new collaborator gets an email, which is also a file.
        app.last_mail_to("bob@example.com").await;
        let before = app.leftovers().await;
        let body = Multipart::default().file("package", b"script").text("packageInfo", json!({ "appVersion": "1.0.0" }).to_string()).end();
        let (go_on, wait) = tokio::sync::oneshot::channel::<()>();
        let (first, rest) = (body[..body.len() - 4].to_vec(), body[body.len() - 4..].to_vec());
        let chunks = stream::iter([Ok::<_, std::io::Error>(first)]).chain(stream::once(async move {
            wait.await.unwrap();
            Ok(rest)
        }));
        let request = bob
            .request(Method::POST, "/v1/apps/demo/deployments/Staging/releases")
            .header("content-type", Multipart::content_type())
            .body(reqwest::Body::wrap_stream(chunks));
        let sender = bob.clone();
        let upload = tokio::spawn(async move { sender.send(request).await });
        until("the upload's file is being written", async || (app.leftovers().await.files != before.files).then_some(())).await;
        match role {
            "none" => ada.delete(path).await.assert(204),
            _ => ada.patch(path, json!({ "permission": role })).await.assert(200),
        };
        go_on.send(()).unwrap();
        upload.await.unwrap().assert_status(status);
        if status != 201 {
            let mut after = app.leftovers().await;
            after.files.retain(|path, _| !path.ends_with('/') || before.files.contains_key(path));
            assert_eq!(after, before, "{role}: only an empty folder remains");
        }
    }
}
