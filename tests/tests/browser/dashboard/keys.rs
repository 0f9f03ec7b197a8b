//! Single keys: search, sections, and the list of them.

use serde_json::json;
use tests::visit::ESCAPE;
use tests::{InputMethod, TestApp, Visit};

/// The Control key in `WebDriver`.
const CONTROL: char = '\u{e009}';

const FOUND: &str = "[...document.querySelectorAll('.apps > li')].filter((item) => item.checkVisibility()).length";

async fn ada() -> (TestApp, Visit) {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    for name in ["demo", "other"] {
        ada.create_app(name).await;
    }
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let visit = Visit::start(&app, InputMethod::Keyboard).await;
    visit.open("/dashboard/apps/demo").await;
    visit.type_password("ada").await;
    visit.is_at("demo").await;
    (app, visit)
}

/// Presses keys one after the other.
async fn type_keys(visit: &Visit, keys: &str) {
    for key in keys.chars() {
        visit.keys(&[key]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g_and_a_letter_opens_a_section_that_the_page_has() {
    let (_app, visit) = ada().await;
    for (keys, heading) in [("gc", "Collaborators"), ("gv", "Activity"), ("gd", "demo"), ("ga", "Apps")] {
        type_keys(&visit, keys).await;
        visit.is_at(heading).await;
    }
    visit.open("/dashboard/apps/demo/deployments/Production").await;
    type_keys(&visit, "gm").await;
    visit.is_at("Metrics of Production").await;
    // Not on this page, not without `g`, not with a modifier, and not a letter later.
    visit.browser.run("window.isSamePage = true;", &[]).await;
    type_keys(&visit, "gmvgxv").await;
    visit.keys(&['g']).await;
    visit.keys(&[CONTROL, 'v']).await;
    type_keys(&visit, "?").await;
    visit.until("document.querySelector('dialog[open] h2')?.textContent === 'Keyboard shortcuts'").await;
    assert_eq!(visit.browser.run("return window.isSamePage;", &[]).await, json!(true));
    let keys = visit.read_all("dialog dt").await;
    assert_eq!(keys, ["/", "g then a", "g then d", "g then c", "g then v", "g then s", "?"]);
    // The page has no search of its own.
    assert_eq!(visit.read_all("dialog dd").await[..2], ["Search apps", "Apps"]);
    // In the dialog, keys do nothing.
    type_keys(&visit, "ga").await;
    visit.keys(&[ESCAPE]).await;
    visit.until("!document.querySelector('dialog') && window.isSamePage").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_searches_and_what_is_typed_is_no_shortcut() {
    let (_app, visit) = ada().await;
    type_keys(&visit, "/").await;
    visit.is_at("Apps").await;
    visit.until("document.activeElement.id === 'q'").await;
    type_keys(&visit, "DEM").await;
    visit.until(&format!("{FOUND} === 1")).await;
    visit.browser.run("document.getElementById('q').select();", &[]).await;
    type_keys(&visit, "gc/?").await;
    visit.until(&format!("document.getElementById('q').value === 'gc/?' && {FOUND} === 0")).await;
    visit.fill("q", "v1").await;
    // Demo has that release, also before the search is sent.
    visit.until(&format!("{FOUND} === 1")).await;
    visit.press("Search").await;
    visit.sees("v1 of Production of demo").await;
    // A page with its own search uses that.
    visit.open("/dashboard/apps/demo/deployments/Production").await;
    type_keys(&visit, "/").await;
    visit.until("document.activeElement.id === 'search' && document.activeElement.value === ''").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shortcuts_can_be_turned_off() {
    let (_app, visit) = ada().await;
    visit.press("Keyboard shortcuts").await;
    visit.until("document.querySelector('dialog[open]')").await;
    visit.browser.run("document.querySelector('dialog input').click();", &[]).await;
    visit.press("Close").await;
    visit.until("!document.querySelector('dialog')").await;
    visit.open("/dashboard/apps/demo").await;
    visit.browser.run("window.isSamePage = true;", &[]).await;
    type_keys(&visit, "?/gc").await;
    visit.press("Keyboard shortcuts").await;
    visit.until("document.querySelector('dialog[open] input').checked === false && window.isSamePage").await;
    visit.browser.run("document.querySelector('dialog input').click();", &[]).await;
    visit.press("Close").await;
    type_keys(&visit, "gc").await;
    visit.is_at("Collaborators").await;
}
