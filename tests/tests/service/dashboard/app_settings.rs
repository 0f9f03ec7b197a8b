//! Settings of an app and its collaborators, and the usage of an account: by forms alone.

use serde_json::json;
use tests::TestApp;
use tests::people::PASSWORD;
use tests::reader::{Form, Page};

use crate::dashboard::escaping::{ATTEMPTS, stays_text};
use crate::v1::apps::{accept, add, names, roles};

const SETTINGS: &str = "/dashboard/apps/demo/settings";
const PEOPLE: &str = "/dashboard/apps/demo/collaborators";

/// Longer than a session stays fresh.
const LONG: i64 = 16 * 60_000;

/// The form with this field.
fn form_with(page: &Page, field: &str) -> Form {
    page.forms().into_iter().find(|form| form.fields.contains_key(field)).unwrap()
}

/// The form with this radio button chosen.
fn chosen(mut form: Form, name: &str, value: &str) -> Form {
    form.fields.insert(name.to_owned(), value.to_owned());
    form
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_renamed_and_deleted_by_its_name() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    for name in ["demo", "other"] {
        ada.create_app(name).await;
    }
    let mut reader = app.signed_in_reader("ada").await;
    for (name, status) in [("other", 409), ("a/b", 400), ("", 400)] {
        let page = reader.open(SETTINGS).await;
        let refused = reader.send(&form_with(&page, "name").with(&[("name", name)])).await.has_status(status);
        assert_eq!(form_with(&refused, "name").fields["name"], name, "what was typed stays");
    }
    let page = reader.open(SETTINGS).await;
    let settings = "/dashboard/apps/renamed/settings";
    reader.send(&form_with(&page, "name").with(&[("name", "renamed")])).await.is_at(settings).shows("The app is now called renamed.");
    let delete = "/dashboard/apps/renamed/delete";
    reader.fill(delete, &[("typedName", "demo")]).await.has_status(400).shows("No changes were made.");
    assert_eq!(names(&ada).await, ["other", "renamed"]);
    // A session that is not fresh is asked for the password, and the form goes on.
    app.clock.advance(LONG);
    let page = reader.open(delete).await;
    let asked = reader.send(&page.form().with(&[("typedName", "renamed")])).await.has_status(403);
    assert_eq!(names(&ada).await, ["other", "renamed"]);
    reader.send(&asked.form_to(delete).with(&[("password", PASSWORD)])).await.is_at("/dashboard").shows("Deleted the app renamed.");
    assert_eq!(names(&ada).await, ["other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_transferred_and_taken_back() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let transfer = "/dashboard/apps/demo/transfer";
    reader.fill(transfer, &[("email", "bob@example.com"), ("typedName", "x")]).await.has_status(400).shows("No changes were made.");
    let unknown = reader.fill(transfer, &[("email", "nobody@example.com"), ("typedName", "demo")]).await.has_status(400);
    unknown.shows("belongs to no account here").shows("/dashboard/sign-up and to confirm");
    let done = reader.fill(transfer, &[("email", " Bob@Example.com "), ("typedName", "demo")]).await.is_at("/dashboard/apps/demo");
    done.shows("bob@example.com owns demo now, and has to accept it.");
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Admin", "bob": "Owner" }));
    // The receiver is offered to accept and to decline it; the sender cannot delete it anymore.
    let mut bob = app.signed_in_reader("bob").await;
    let settings = bob.open("/dashboard/apps/ada@example.com:demo/settings").await.shows("Accept app").shows("Decline").html();
    assert!(settings.contains("/transfer\""), "{settings}");
    reader.open("/dashboard/apps/demo/delete").await.has_status(403);
    bob.open("/dashboard").await.shows("Transferred to you by <bdi>ada@example.com</bdi>");
    reader.open("/dashboard").await.shows("Transferred, and not accepted yet");
    for page in ["/dashboard/apps/demo", SETTINGS] {
        reader
            .open(page)
            .await
            .shows("You transferred this app to <bdi>bob@example.com</bdi>")
            .shows(&format!("{PEOPLE}/bob%40example.com/remove"));
    }
    assert!(!reader.open(SETTINGS).await.html().contains("/delete\""));
    let people = reader.open(PEOPLE).await.shows("Take back").html();
    let remove = people.split('"').find(|part| part.ends_with("/remove")).unwrap().to_owned();
    let question = reader.open(&remove).await.shows("you own the app again");
    let took_back = reader.send(&question.form()).await.is_at(PEOPLE);
    took_back.shows("You own the app again. bob@example.com has no access anymore.");
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner" }));
    assert!(!reader.open("/dashboard/apps/demo").await.html().contains("You transferred"));
    // The activity names people, although events have their IDs.
    let activity = reader.open("/dashboard/apps/demo/activity").await.shows("from: <bdi>ada@example.com</bdi>");
    let html = activity.shows("to: <bdi>bob@example.com</bdi>").shows("owner: <bdi>ada@example.com</bdi>").html();
    // The link in the receiver's mail says why it leads nowhere.
    let id = app.texts("SELECT id FROM apps", &[]).await.remove(0);
    assert!(!html.contains(&id), "{html}");
    bob.open(&format!("/dashboard/account/apps/{id}/accept")).await.has_status(404).shows("You have no access to this app.");
}

#[tokio::test(flavor = "multi_thread")]
async fn collaborators_are_added_changed_and_removed() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob", "eve"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    let add_form = form_with(&reader.open(PEOPLE).await, "email");
    let unknown = add_form.clone().with(&[("email", "nobody@example.com")]);
    reader.send(&chosen(unknown, "permission", "Viewer")).await.has_status(400).shows("belongs to no account here");
    let bob = add_form.clone().with(&[("email", "Bob@example.com")]);
    reader.send(&chosen(bob.clone(), "permission", "King")).await.has_status(400);
    let added = reader.send(&chosen(bob.clone(), "permission", "Viewer")).await.is_at(PEOPLE);
    added.shows("bob@example.com has the role Viewer now.");
    reader.send(&chosen(bob, "permission", "Viewer")).await.has_status(409);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "bob": "Viewer" }));

    assert_eq!(reader.open(PEOPLE).await.html().matches("Not accepted yet").count(), 1);
    let page = format!("{PEOPLE}/bob%40example.com");
    let form = reader.open(&page).await.shows("bob@example.com").form_to(&page);
    reader.send(&chosen(form.clone(), "permission", "Developer")).await.is_at(PEOPLE).shows("has the role Developer now.");
    reader.send(&chosen(form.clone(), "permission", "Owner")).await.has_status(409);
    // To give the role Admin, the session must be fresh.
    app.clock.advance(LONG);
    let asked = reader.send(&chosen(form, "permission", "Admin")).await.has_status(403);
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "bob": "Developer" }));
    reader.send(&asked.form_to(&page).with(&[("password", PASSWORD)])).await.is_at(PEOPLE).shows("has the role Admin now.");

    // The owner's role stays, and people who are not there have no page.
    reader.open(&format!("{PEOPLE}/eve%40example.com")).await.has_status(404);
    let owner = format!("{PEOPLE}/ada%40example.com");
    let form = reader.open(&owner).await.form_to(&owner);
    reader.send(&chosen(form, "permission", "Viewer")).await.has_status(409);
    let question = reader.open(&format!("{page}/remove")).await.shows("They lose access at once");
    reader.send(&question.form()).await.is_at(PEOPLE).shows("bob@example.com has no access anymore.");
    // Sent a second time, or in a second tab.
    reader.send(&question.form()).await.is_at(PEOPLE).shows("bob@example.com has no access anymore.");
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_an_import_without_an_account_are_shown_and_removed() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob"] {
        app.register(name).await;
    }
    let ada = app.log_in("ada").await;
    let people = ["bob@example.com", "eve@example.com", "grace@example.com"];
    let planned = json!({ "sourceName": "demo", "name": "demo", "collaborators": people, "deployments": [] });
    ada.post("/v1/imports/apps", json!({ "source": "https://old.example", "app": planned })).await.assert(200);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open(PEOPLE).await.shows("No account here yet").shows("Expires").html();
    assert!(page.contains("eve@example.com") && page.contains("grace@example.com"), "{page}");
    let removal = format!("{PEOPLE}/eve%40example.com/remove");
    assert!(page.contains(&format!("href=\"{removal}\"")), "{page}");
    let question = reader.open(&removal).await.shows("Remove eve@example.com?").shows("They get no access when they confirm this address.");
    reader.send(&question.form()).await.is_at(PEOPLE).shows("eve@example.com has no access anymore.");
    reader.open(&removal).await.has_status(404);
    let left = ada.get("/v1/apps/demo/collaborators").await.assert(200)["awaited"].take();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["email"]), (1, &json!("grace@example.com")), "{left}");
    // A Developer does not see their addresses.
    accept(&app.log_in("bob").await, "demo", json!({})).await.assert(200);
    let mut other = app.signed_in_reader("bob").await;
    let page = other.open(PEOPLE).await.html();
    assert!(!page.contains("grace@") && !page.contains("No account here yet"), "{page}");
    other.open(&format!("{PEOPLE}/grace%40example.com/remove")).await.has_status(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_changes_nothing_but_can_leave() {
    let app = TestApp::spawn().await;
    for name in ["ada", "bob", "eve"] {
        app.register(name).await;
    }
    let (ada, bob) = (app.log_in("ada").await, app.log_in("bob").await);
    ada.create_app("demo").await;
    add(&ada, "demo", "bob", "Viewer").await;
    add(&ada, "demo", "eve", "Viewer").await;
    accept(&bob, "demo", json!({})).await.assert(200);
    let mut reader = app.signed_in_reader("bob").await;
    let people = reader.open(PEOPLE).await.shows("Only the owner and Admins can change this list.").html();
    assert!(!people.contains("<form class=\"slim\""), "{people}");
    for page in ["transfer", "delete", "collaborators/eve%40example.com"] {
        reader.open(&format!("/dashboard/apps/demo/{page}")).await.has_status(403);
    }
    let question = reader.open(&format!("{PEOPLE}/eve%40example.com/remove")).await;
    let refused = reader.send(&question.form()).await.has_status(403);
    refused.shows("Your role on this app does not include this permission: Manage collaborators.");
    let settings = reader.open(SETTINGS).await.shows("Leave app");
    assert!(!settings.html().contains("name=\"name\""), "no form to rename it");
    let leave = settings.html().split('"').find(|part| part.ends_with("/leave")).unwrap().to_owned();
    let question = reader.open(&leave).await;
    reader.send(&question.form()).await.shows("You left the app");
    assert_eq!(roles(&ada, "demo").await, json!({ "ada": "Owner", "eve": "Viewer" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_is_escaped() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    app.log_in("ada").await.create_app("demo").await;
    let mut reader = app.signed_in_reader("ada").await;
    for text in ATTEMPTS {
        let page = reader.open(SETTINGS).await;
        stays_text(&reader.send(&form_with(&page, "name").with(&[("name", text)])).await.html(), text);
        let page = reader.open(SETTINGS).await;
        // The name was allowed, and the app has it now.
        if !page.html().contains("value=\"demo\"") {
            break;
        }
        let refused = reader.fill("/dashboard/apps/demo/transfer", &[("email", text), ("typedName", text)]).await.html();
        stays_text(&refused, text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_usage_of_every_limit_is_shown() {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Production", &[7; 2_048], json!({ "appVersion": "1.0.0" })).await.assert(201);
    ada.post("/v1/apps/demo/deployments", json!({ "name": "Beta" })).await.assert(201);
    ada.delete("/v1/apps/demo/deployments/Beta").await.assert_status(204);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/usage").await.has_status(200);
    let page = page.shows("1 of 200").shows("2 KiB of 50 GiB").shows("3 of 200").shows("1 of 2,000").shows("10,000").shows("200 MiB");
    page.shows("demo");
    // Tomorrow, as many can be created as ever.
    app.clock.advance(25 * 3_600_000);
    let mut reader = app.signed_in_reader("ada").await;
    let page = reader.open("/dashboard/usage").await.html();
    assert!(!page.contains("3 of 200"), "{page}");
}
