//! Lists of diffs can take a while of a core. They keep no other request waiting.

use std::sync::mpsc;

use futures_util::FutureExt;
use shared::ids::AccountId;
use tests::wait::until;
use tests::{Client, TestApp};
use tokio::sync::oneshot;

use super::diffs::{check, package, upload};

const LIST: &str = "/v1/apps/demo/deployments/Staging/releases/v2/diffs";
const PAGE: &str = "/dashboard/apps/demo/deployments/Staging/releases/v2";

/// An account with an app of two releases. Returns the key of their deployment, too.
async fn with_releases(app: &TestApp, name: &str) -> (Client, String) {
    let client = app.sign_up(name).await;
    let (_, key) = client.create_app("demo").await;
    for content in ["one", "two"] {
        upload(&client, "Staging", &package(content)).await;
    }
    // From now on, the update is known.
    check(app, &key, None).await;
    (client, key)
}

async fn account(app: &TestApp, name: &str) -> AccountId {
    app.texts("SELECT id FROM accounts WHERE email = $1", &[&format!("{name}@example.com")]).await.remove(0).parse().unwrap()
}

/// Much else that the service answers.
async fn all_else(app: &TestApp, client: &Client, key: &str) {
    for _ in 0..20 {
        assert_eq!(check(app, key, None).await["label"], "v2");
        client.get("/v1/apps/demo/deployments/Staging/releases").await.assert(200);
        client.get("/v1/account").await.assert(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_lists_of_diffs_are_read_at_once_and_the_others_wait() {
    let app = TestApp::spawn().await;
    let (ada, key) = with_releases(&app, "ada").await;
    let mut reader = app.signed_in_reader("ada").await;
    let state = app.state();
    let mut taken = Vec::new();
    for name in ["bob", "eve"] {
        app.sign_up(name).await;
        taken.push(state.front.diff_turns.take(&account(&app, name).await).await.unwrap());
    }
    let client = ada.clone();
    let list = tokio::spawn(async move { client.get(LIST).await.assert(200) });
    let page = tokio::spawn(async move { reader.open(PAGE).await.html() });
    all_else(&app, &ada, &key).await;
    assert!(!list.is_finished(), "the list waits for a turn");
    assert!(!page.is_finished(), "so does the page");
    taken.pop();
    assert_eq!(list.await.unwrap()["diffs"]["sources"][0]["status"], "pending");
    assert!(page.await.unwrap().contains("<h2 id=\"diffs\">"));
}

// On a runtime with one thread for work that takes a while. The test keeps it busy.
#[test]
fn a_list_of_diffs_is_computed_on_no_thread_that_answers_requests() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let app = TestApp::spawn().await;
        let (ada, key) = with_releases(&app, "ada").await;
        let (release, is_released) = mpsc::channel::<()>();
        let (begin, has_begun) = oneshot::channel();
        let busy = tokio::task::spawn_blocking(move || {
            begin.send(()).unwrap();
            is_released.recv()
        });
        has_begun.await.unwrap();
        let client = ada.clone();
        let list = tokio::spawn(async move { client.get(LIST).await.assert(200) });
        let (state, id) = (app.state(), account(&app, "ada").await);
        let has_turn = async || state.front.diff_turns.take(&id).now_or_never().is_none().then_some(());
        until("the list has its turn", has_turn).await;
        all_else(&app, &ada, &key).await;
        assert!(!list.is_finished(), "the list waits for the thread");
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();
        assert_eq!(list.await.unwrap()["diffs"]["sources"][0]["status"], "pending");
    });
}
