//! What is true of every page: nobody is kept out by how it is made, it is light, and it does not move by itself.

use std::collections::BTreeSet;

use serde_json::json;
use tests::{Hands, TestApp, Visit, tour};
use xtask::paths;

/// The most that a page and all it is made of may weigh on the network, in bytes.
const HEAVIEST: f64 = 150_000.0;

/// The most that a page may move by itself.
const LARGEST_SHIFT: f64 = 0.01;

/// Runs the checker, which was put before this, and gives what it found: the rule, how bad it is, and where.
const CHECK: &str = "
    return axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, impact, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} (${impact}) at ${target}: ${failureSummary}`)));";

/// What the accessibility checker axe-core finds on the page that is open.
async fn faults(visit: &Visit, checker: &str) -> Vec<String> {
    let loaded = visit.browser.run("return Boolean(window.axe);", &[]).await;
    let script = if loaded == json!(true) { CHECK.to_owned() } else { format!("{checker}\n{CHECK}") };
    let found = visit.browser.run(&script, &[]).await;
    found.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect()
}

fn checker() -> String {
    let file = paths::root().join("node_modules/axe-core/axe.min.js");
    // `cargo xtask setup` puts it there.
    std::fs::read_to_string(file).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_checker_finds_nothing_on_any_page_in_light_and_in_dark() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, Hands::Mouse).await;
    let checker = checker();
    let mut found = Vec::new();
    tour::all(&app, &visit, async |name| {
        for scheme in ["light", "dark"] {
            visit.prefer(scheme).await;
            found.extend(faults(&visit, &checker).await.into_iter().map(|fault| format!("{name}, {scheme}: {fault}")));
        }
    })
    .await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    // It does find what is wrong.
    visit.browser.run("document.documentElement.lang = ''; document.querySelector('h1').style.color = '#777';", &[]).await;
    let found = faults(&visit, &checker).await.join("\n");
    assert!(found.contains("html-has-lang"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_light_stay_where_they_are_and_keep_to_their_policy() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, Hands::Mouse).await;
    // Each page brings all that it is made of.
    visit.browser.chromium("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
    let opened = tour::all(&app, &visit, async |name| {
        let (weight, shift) = (visit.weight().await, visit.shift().await);
        assert!(weight > 1_000.0, "{name}: {weight} bytes");
        assert!(weight <= HEAVIEST, "{name}: {weight} bytes");
        assert!(shift <= LARGEST_SHIFT, "{name}: moved by {shift}");
        // The checker of the other test puts scripts in; here there are only the page's own.
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{name}");
    })
    .await;
    every_page_was_opened(&opened);
    // What moves is noticed.
    let script = "document.body.prepend(Object.assign(document.createElement('p'), { textContent: 'x', className: 'lead' }));
        return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));";
    visit.open("/dashboard/design").await;
    visit.browser.run(script, &[]).await;
    assert!(visit.shift().await > LARGEST_SHIFT);
}

/// Every page that can be opened was, but for those that have no look of their own.
#[track_caller]
fn every_page_was_opened(opened: &[String]) {
    let shape = |path: &str| -> Vec<String> { path.split(['?', '#']).next().unwrap().split('/').skip(1).map(str::to_owned).collect() };
    let fits = |page: &[String], path: &[String]| {
        page.len() == path.len() && page.iter().zip(path).all(|(page, path)| page.starts_with('{') || page == path)
    };
    let sent = ["/options", "/sign-in/passkey", "/second-factor/passkey", "/sign-out", "/download", "/end", "/end-others"];
    let pages = control::dashboard::pages().paths;
    let opened: BTreeSet<Vec<String>> = opened.iter().map(|path| shape(path)).collect();
    let missing: Vec<&&str> = pages
        .iter()
        .filter(|page| !sent.iter().any(|end| page.ends_with(end)))
        .filter(|page| {
            let page = shape(format!("/dashboard{page}").trim_end_matches('/'));
            !opened.iter().any(|path| fits(&page, path))
        })
        .collect();
    assert!(missing.is_empty(), "no tour of {missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_narrowest_phone_shows_every_page_without_scrolling_sideways() {
    let app = TestApp::spawn_for_browsers().await;
    let visit = Visit::start(&app, Hands::Mouse).await;
    // WCAG 2.2, 1.4.10; it is also what is left of 1280 at four times the size.
    let phone = json!({ "width": 320, "height": 640, "deviceScaleFactor": 2, "mobile": true });
    visit.browser.chromium("Emulation.setDeviceMetricsOverride", phone).await;
    let checker = checker();
    let mut found = Vec::new();
    tour::all(&app, &visit, async |name| {
        let wide = "const most = document.documentElement.clientWidth;
            return document.documentElement.scrollWidth <= most ? [] : [...document.body.querySelectorAll('*')]
                .filter((element) => element.getBoundingClientRect().right > most)
                .map((element) => `${element.tagName} ${element.className} ${element.getBoundingClientRect().right}`);";
        let wide = visit.browser.run(wide, &[]).await;
        assert_eq!(wide, json!([]), "{name}");
        assert!(visit.shift().await <= LARGEST_SHIFT, "{name}");
        found.extend(faults(&visit, &checker).await.into_iter().map(|fault| format!("{name}: {fault}")));
    })
    .await;
    assert!(found.is_empty(), "{}", found.join("\n"));
}
