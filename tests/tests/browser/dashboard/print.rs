//! Pages on paper.

use serde_json::json;
use tests::{InputMethod, TestApp, Visit};

#[tokio::test(flavor = "multi_thread")]
async fn paper_has_no_navigation_and_no_buttons_and_is_black_on_white() {
    let app = TestApp::spawn_for_browsers().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let visit = Visit::start(&app, InputMethod::Mouse).await;
    visit.open("/dashboard").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
    let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
    for (page, heading) in [
        ("", "Apps"),
        ("/apps/demo", "demo"),
        ("/apps/demo/deployments/Production", "Production"),
        ("/apps/demo/deployments/Production/releases/v1", "v1"),
        ("/apps/demo/activity", "Activity"),
        ("/account", "Account"),
        ("/keys", "Keys"),
    ] {
        visit.browser.chromium("Emulation.setEmulatedMedia", json!({ "media": "screen", "features": dark })).await;
        visit.open(&format!("/dashboard{page}")).await;
        visit.is_at(heading).await;
        let shown = "return [...document.querySelectorAll('header, footer, nav, button, .button, .skip')].filter((element) => element.checkVisibility()).length;";
        assert_ne!(visit.browser.run(shown, &[]).await, json!(0), "{page}");
        visit.browser.chromium("Emulation.setEmulatedMedia", json!({ "media": "print", "features": dark })).await;
        assert_eq!(visit.browser.run(shown, &[]).await, json!(0), "{page}");
        let colors =
            "const [paper, text] = [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('h1')).color];
            return [paper, text, document.querySelector('h1').checkVisibility()];";
        assert_eq!(visit.browser.run(colors, &[]).await, json!(["rgb(255, 255, 255)", "rgb(0, 0, 0)", true]), "{page}");
        let app = "const app = document.querySelector('.paper'); return Boolean(app?.checkVisibility()) && app.innerText.includes('demo');";
        assert_eq!(visit.browser.run(app, &[]).await, json!(page.starts_with("/apps/")), "{page}");
    }
}
