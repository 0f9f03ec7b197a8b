//! The menus in the header: the account, and the apps to switch to.

use serde_json::json;
use tests::visit::ESCAPE;
use tests::{InputMethod, TestApp, Visit};

const OPEN: &str = "document.querySelectorAll('.menu[open]').length";

/// A browser on the page of the app `demo` of `ada@example.com`, who also has the app `other`.
async fn ada(input_method: InputMethod) -> (TestApp, Visit) {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo", "other"] {
        ada.create_app(name).await;
    }
    let visit = Visit::start(&app, input_method).await;
    visit.open("/dashboard/apps/demo").await;
    visit.type_password("ada").await;
    visit.is_at("demo").await;
    (app, visit)
}

#[tokio::test(flavor = "multi_thread")]
async fn menus_open_close_and_lead_to_pages_by_mouse_keyboard_and_without_scripts() {
    for input_method in InputMethod::ALL {
        let (_app, visit) = ada(input_method).await;
        visit.press_in_menu("Sessions and devices").await;
        visit.is_at("Sessions and devices").await;
        assert_eq!(visit.browser.run(&format!("return {OPEN};"), &[]).await, json!(0));
        visit.open("/dashboard/apps/demo").await;
        visit.open_menu(".switcher").await;
        if input_method == InputMethod::NoScripts {
            assert_eq!(visit.read_all(".switcher a").await, ["All apps"]);
            visit.press("All apps").await;
            visit.is_at("Apps").await;
            continue;
        }
        visit.until("document.querySelector('.switcher [aria-current]')?.textContent === 'demo'").await;
        assert_eq!(visit.read_all(".switcher a").await, ["All apps", "demo", "other"]);
        visit.keys(&[ESCAPE]).await;
        visit.until(&format!("{OPEN} === 0 && document.activeElement.matches('.switcher > summary')")).await;
        visit.open_menu(".switcher").await;
        // The list is not fetched again.
        assert_eq!(visit.read_all(".switcher a").await, ["All apps", "demo", "other"]);
        // One menu at a time.
        visit.open_menu(".who").await;
        visit.until(&format!("{OPEN} === 1")).await;
        visit.browser.run("document.querySelector('h1').click();", &[]).await;
        visit.until(&format!("{OPEN} === 0")).await;
        visit.open_menu(".switcher").await;
        visit.press("other").await;
        visit.is_at("other").await;
        assert_eq!(visit.complaints().await, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_cannot_be_fetched_leaves_the_link_to_all_apps() {
    let (_app, visit) = ada(InputMethod::Mouse).await;
    visit.browser.run("window.fetch = () => { window.isAsked = true; return Promise.reject(new Error('offline')); };", &[]).await;
    visit.open_menu(".switcher").await;
    visit.until("window.isAsked").await;
    assert_eq!(visit.read_all(".switcher a").await, ["All apps"]);
}
