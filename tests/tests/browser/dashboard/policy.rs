//! What browsers prevent: running injected scripts, framing the pages, submitting their forms from elsewhere.

use serde_json::json;
use tests::browser::empty_page;
use tests::visit::ESCAPE;
use tests::wait::eventually;
use tests::{Authenticator, InputMethod, TestApp, Visit};

/// Input that would run if a page did not escape it.
const ATTEMPTS: [&str; 4] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus=alert(1) x='",
    "</title></textarea><svg onload=alert(1)>",
];

fn encoded(text: &str) -> String {
    reqwest::Url::parse_with_params("http://x", [("x", text)]).unwrap().query().unwrap().trim_start_matches("x=").replace('+', "%20")
}

/// `ada@example.com` in a browser.
async fn ada(input_method: InputMethod) -> (TestApp, Visit) {
    let app = TestApp::spawn_for_browsers().await;
    app.register("ada").await;
    let visit = Visit::start(&app, input_method).await;
    visit.open("/dashboard").await;
    visit.type_password("ada").await;
    visit.is_at("Apps").await;
    (app, visit)
}

#[tokio::test(flavor = "multi_thread")]
async fn user_input_is_escaped() {
    let (app, visit) = ada(InputMethod::Mouse).await;
    let mut holder = app.holder("ada").await;
    holder.authenticator = Authenticator::new(visit.address("/").trim_end_matches('/'));
    holder.enrol_passkey(None).await.assert(200);
    let passkey = format!("/v1/mfa/passkeys/{}", holder.passkeys().await[0]["id"].as_str().unwrap());
    for text in ATTEMPTS {
        let session = &holder.session;
        session.patch("/v1/account", json!({ "name": text })).await.assert(200);
        app.named_key("ada", text).await;
        session.post("/v1/api-keys", json!({ "name": text, "scopes": ["read"] })).await.assert(201);
        session.patch(&passkey, json!({ "name": text })).await.assert(200);
        let said = json!({ "deviceName": text, "clientName": text, "clientVersion": "1", "clientPlatform": text });
        let request = app.anonymous().post("/v1/auth/cli/device", said).await.assert(201);
        let name = encoded(text);
        for path in [
            "/dashboard".to_owned(),
            "/dashboard/account".to_owned(),
            "/dashboard/keys".to_owned(),
            "/dashboard/security".to_owned(),
            format!("/dashboard/keys/access/{name}"),
            format!("/dashboard/keys/access/{name}/delete"),
            format!("/dashboard/cli/key?hostname={name}"),
        ] {
            visit.open(&path).await;
            if path.ends_with("/account") {
                assert_eq!(visit.read("#name").await, text);
            } else {
                visit.sees(text).await;
            }
        }
        // In a dialog.
        visit.open("/dashboard/keys").await;
        visit.press(&format!("Delete {text}")).await;
        visit.sees(&format!("Delete the key {text}?")).await;
        visit.press("Delete key").await;
        visit.sees(&format!("The key {text} was deleted.")).await;
        // In a refused form, and in URLs.
        visit.open("/dashboard/activate").await;
        visit.fill("userCode", text).await;
        visit.press("Continue").await;
        visit.sees("Code must be the eight letters").await;
        visit.fill("userCode", request["userCode"].as_str().unwrap()).await;
        visit.press("Continue").await;
        visit.is_at("Authorize Updraft CLI?").await;
        visit.sees(text).await;
        for path in
            [format!("/dashboard/{name}"), format!("/dashboard/sign-in?again&next={name}"), format!("/dashboard/activate?user_code={name}")]
        {
            visit.open(&path).await;
        }
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_injected_script_does_not_run_and_is_reported() {
    let (_app, visit) = ada(InputMethod::Mouse).await;
    visit.asked().await;
    let script = "const script = document.createElement('script');
        script.textContent = 'window.hasRun = true';
        document.body.append(script);
        document.querySelector('h1').setAttribute('onclick', 'window.hasRun = true');
        document.querySelector('h1').click();
        document.body.append(Object.assign(document.createElement('iframe'), { src: '/dashboard/sign-in' }));
        return Boolean(window.hasRun);";
    assert_eq!(visit.browser.run(script, &[]).await, json!(false));
    let said = visit.complaints().await.join("\n");
    assert!(said.contains("Content Security Policy") && said.contains("frame-src"), "{said}");
    eventually("the report", async || {
        let asked = visit.asked().await.join("\n");
        if asked.contains("/dashboard/csp-report") { Ok(()) } else { Err(asked) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_can_neither_frame_the_dashboard_nor_submit_its_forms() {
    let (_app, visit) = ada(InputMethod::Mouse).await;
    let elsewhere = empty_page().await;
    visit.open(&elsewhere).await;
    visit.complaints().await;
    let frame = "const frame = Object.assign(document.createElement('iframe'), { src: arguments[0] });
        const loaded = new Promise((resolve) => (frame.onload = resolve));
        document.body.append(frame);
        return loaded.then(() => null);";
    visit.browser.run(frame, &[json!(visit.address("/dashboard/sign-in"))]).await;
    let said = visit.complaints().await.join("\n");
    assert!(said.contains("frame-ancestors 'none'"), "{said}");
    visit.browser.command("frame", Some(json!({ "id": 0 }))).await.unwrap();
    let shown = visit.browser.run("return [location.protocol, document.querySelectorAll('form').length];", &[]).await;
    assert_eq!(shown, json!(["chrome-error:", 0]));

    for path in ["/dashboard/sign-out", "/dashboard/sign-in", "/dashboard/account/delete"] {
        visit.open(&elsewhere).await;
        let form = "const form = Object.assign(document.createElement('form'), { method: 'post', action: arguments[0] });
            form.append(Object.assign(document.createElement('input'), { name: 'csrf', value: 'guessed' }));
            document.body.append(form);
            form.submit();";
        visit.browser.run(form, &[json!(visit.address(path))]).await;
        visit.is_at("Access denied").await;
    }
    visit.open("/dashboard").await;
    visit.is_at("Apps").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_closes_a_dialog_and_the_focus_returns() {
    let (app, visit) = ada(InputMethod::Keyboard).await;
    app.named_key("ada", "laptop").await;
    visit.open("/dashboard/keys").await;
    visit.press("Delete laptop").await;
    visit.sees("Delete the key laptop?").await;
    visit.keys(&[ESCAPE]).await;
    let script = "return document.querySelector('dialog[open]') ? null : document.activeElement.innerText.trim();";
    let focused = eventually("the dialog closes", async || {
        let focused = visit.browser.run(script, &[]).await;
        focused.as_str().map(str::to_owned).ok_or_else(|| "it is there".to_owned())
    })
    .await;
    assert_eq!(focused.split_whitespace().collect::<Vec<_>>(), ["Delete", "laptop"]);
    // The first stop of the Tab key skips the navigation.
    visit.open("/dashboard/keys").await;
    visit.press("Skip to content").await;
    assert_eq!(visit.browser.run("return document.activeElement.id;", &[]).await, json!("content"));
}
