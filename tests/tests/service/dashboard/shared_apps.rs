//! Shared apps are listed, accepted and left by forms alone.

use serde_json::json;
use tests::reader::unescape;
use tests::{Client, Reader, TestApp};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};
use crate::v1::apps::{accept, add, meaning, names, roles, transfer};

/// Ada, who is signed in, and Bob, who shares apps with her.
async fn ada() -> (TestApp, Reader, Client, Client) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let (reader, ada) = (app.signed_in_reader("ada").await, app.log_in("ada").await);
    let bob = app.sign_up("bob").await;
    (app, reader, ada, bob)
}

/// The path of an app's page, as in emails.
async fn page(app: &TestApp, name: &str, verb: &str) -> String {
    let id = app.texts("SELECT id FROM apps WHERE name = $1", &[name]).await.remove(0);
    format!("/dashboard/account/apps/{id}/{verb}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_app_is_listed_and_accepted_only_by_a_button() {
    let (app, mut reader, ada, bob) = ada().await;
    assert!(!reader.open("/dashboard/account").await.html().contains("Shared with you"));
    bob.create_app("demo").await;
    add(&bob, "demo", "ada", "Viewer").await;
    let accept_page = page(&app, "demo", "accept").await;
    let list = reader.open("/dashboard/account").await.has_status(200).shows("Shared with you").shows("Not accepted").shows("Viewer");
    assert!(list.html().contains(&format!("href=\"{accept_page}\"")), "{}", list.html());
    // The email links to it; opening it changes nothing.
    assert!(app.last_mail_to("ada@example.com").await.text.contains(&accept_page));
    let rows = app.audit_rows().await;
    let opened = reader.open(&accept_page).await.has_status(200).shows("Accept app").shows("bob@example.com:demo");
    assert_eq!((names(&ada).await, app.audit_rows().await), (vec!["bob@example.com:demo".to_owned()], rows));
    let done = reader.send(&opened.form()).await.is_at("/dashboard/apps/demo").shows("You accepted the app demo.");
    assert!(!done.html().contains("was shared with you"));
    assert!(!reader.open("/dashboard/account").await.html().contains("Not accepted"));
    assert_eq!((names(&ada).await, app.audit_rows().await), (vec!["demo".to_owned()], rows + 1));
    // Accepted a second time.
    reader.send(&opened.form()).await.is_at("/dashboard/account").shows("You already accepted this app.");
    reader.open(&accept_page).await.is_at("/dashboard/account").shows("You already accepted this app.");
    assert_eq!(app.audit_rows().await, rows + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_app_is_left_after_a_confirmation() {
    let (app, mut reader, ada, bob) = ada().await;
    for name in ["accepted", "waiting"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
    }
    accept(&ada, "accepted", json!({})).await.assert(200);
    for name in ["accepted", "waiting"] {
        let leave = page(&app, name, "leave").await;
        let question = reader.open(&leave).await.has_status(200).shows(&format!("Leave the app bob@example.com:{name}?"));
        assert_eq!(roles(&bob, name).await, json!({ "ada": "Developer", "bob": "Owner" }));
        reader.send(&question.form()).await.is_at("/dashboard/account").shows(&format!("You left the app bob@example.com:{name}."));
        assert_eq!(roles(&bob, name).await, json!({ "bob": "Owner" }));
        reader.open(&leave).await.has_status(404);
        reader.send(&question.form()).await.has_status(404);
    }
    assert!(!reader.open("/dashboard/account").await.html().contains("Shared with you"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transferred_app_is_accepted_under_another_name_if_its_name_is_taken() {
    let (app, mut reader, ada, bob) = ada().await;
    ada.create_app("demo").await;
    bob.create_app("demo").await;
    let id = meaning(&bob, "demo").await;
    transfer(&bob, "demo", "ada").await.assert(201);
    let mail = app.last_mail_to("ada@example.com").await;
    let path = mail.text.lines().find_map(|line| line.strip_prefix(&app.base).filter(|path| path.ends_with("/accept"))).unwrap().to_owned();
    reader.open("/dashboard/account").await.shows("Transferred to you");
    let opened = reader.open(&path).await.shows("counts against your quotas").shows("value=\"demo\"");
    let refused =
        reader.send(&opened.form()).await.has_status(409).shows("You already have an app named demo: choose another name for this one.");
    let refused = reader.send(&refused.form().with(&[("name", "a/b")])).await.has_status(400).shows("value=\"a/b\"");
    reader
        .send(&refused.form().with(&[("name", "from bob")]))
        .await
        .is_at("/dashboard/apps/from%20bob")
        .shows("You accepted the app from bob.");
    assert_eq!(meaning(&ada, "from%20bob").await, id);
    // Declined: the app goes back to its sender.
    bob.create_app("unwanted").await;
    transfer(&bob, "unwanted", "ada").await.assert(201);
    let question = reader.open(&page(&app, "unwanted", "leave").await).await.shows("The app goes back to its sender.");
    reader.send(&question.form()).await.is_at("/dashboard/account");
    assert_eq!(roles(&bob, "unwanted").await, json!({ "bob": "Owner" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_asked_about_a_share_accepts_no_transfer() {
    let (app, mut reader, ada, bob) = ada().await;
    bob.create_app("demo").await;
    add(&bob, "demo", "ada", "Viewer").await;
    let path = page(&app, "demo", "accept").await;
    let opened = reader.open(&path).await.shows("Viewer");
    transfer(&bob, "demo", "ada").await.assert(201);
    let asked = reader.send(&opened.form()).await.is_at(&path).shows("Your role has changed.").shows("counts against your quotas");
    assert_eq!(names(&ada).await, ["bob@example.com:demo"]);
    reader.send(&asked.form()).await.is_at("/dashboard/apps/demo").shows("You accepted the app demo.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_app_is_accepted_in_the_list_and_on_its_page() {
    let (app, mut reader, ada, bob) = ada().await;
    for name in ["one", "two"] {
        bob.create_app(name).await;
        add(&bob, name, "ada", "Developer").await;
    }
    let accept = page(&app, "one", "accept").await;
    let form = reader.open("/dashboard").await.form_to(&accept);
    let done = reader.send(&form).await.is_at("/dashboard/apps/one").shows("You accepted the app one.").html();
    assert!(!done.contains("/accept\""), "{done}");
    // The page asked about another role.
    let accept = page(&app, "two", "accept").await;
    let shared = "/dashboard/apps/bob@example.com:two";
    let form = reader.open(shared).await.shows("This app was shared with you.").form_to(&accept);
    bob.patch("/v1/apps/two/collaborators/ada@example.com", json!({ "permission": "Viewer" })).await.assert(200);
    reader.send(&form).await.is_at(&accept).shows("Your role has changed.");
    let form = reader.open(shared).await.form_to(&accept);
    reader.send(&form).await.is_at("/dashboard/apps/two");
    assert_eq!(names(&ada).await, ["one", "two"]);
    // A transfer asks for a name on its page, also after its app was accepted.
    transfer(&bob, "two", "ada").await.assert(201);
    for page in ["/dashboard", shared] {
        let html = reader.open(page).await.html();
        assert!(html.contains(&format!("href=\"{accept}\">Accept app")) && !html.contains(&format!("action=\"{accept}\"")), "{html}");
    }
    reader.open(shared).await.shows("This app was transferred to you.");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_that_are_not_shared_cannot_be_accepted_or_left() {
    let (app, mut reader, ada, bob) = ada().await;
    bob.create_app("bobs").await;
    ada.create_app("own").await;
    for verb in ["accept", "leave"] {
        reader.open(&page(&app, "bobs", verb).await).await.has_status(404);
    }
    // An own app is already accepted, and cannot be left.
    reader.open(&page(&app, "own", "accept").await).await.is_at("/dashboard/account");
    reader.open(&page(&app, "own", "leave").await).await.has_status(404);
    // A link in an email asks for a sign-in first.
    let leave = page(&app, "bobs", "leave").await;
    app.reader().open(&leave).await.is_at("/dashboard/sign-in");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_bounded_and_its_names_are_escaped() {
    let (app, mut reader, _ada, bob) = ada().await;
    for (number, attempt) in ATTEMPTS.iter().enumerate() {
        let name = attempt.replace(['/', '\\', '?', ':', '#'], "-");
        bob.post("/v1/apps", json!({ "name": name, "manuallyProvisionDeployments": true })).await.assert(201);
        let path = format!("/v1/apps/{}/collaborators/ada@example.com", tests::encode_segment(&name));
        bob.post(&path, json!({})).await.assert(201);
        stays_text(&reader.open("/dashboard/account").await.html(), &name);
        let accept = page(&app, &name, "accept").await;
        stays_text(&reader.open(&accept).await.html(), &name);
        let opened = reader.open(&accept).await;
        if number == 0 {
            stays_text(&reader.send(&opened.form()).await.html(), &name);
        }
        stays_text(&reader.open(&page(&app, &name, "leave").await).await.html(), &name);
    }
    let names = (0..60).map(|number| format!("app{number:02}")).collect::<Vec<_>>();
    for name in &names {
        bob.post("/v1/apps", json!({ "name": name, "manuallyProvisionDeployments": true })).await.assert(201);
        app.share("bob", name, "ada", "Viewer", 1).await;
    }
    let list = reader.open("/dashboard/account").await.has_status(200).shows("There are more apps.");
    assert_eq!(unescape(&list.html()).matches("/leave\"").count(), 50);
    // Apps to accept come first.
    assert_eq!(list.html().matches("/accept\"").count(), 4);
}
