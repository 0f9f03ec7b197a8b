//! Properties of every page: accessibility, weight and layout stability.

use std::collections::BTreeSet;

use serde_json::json;
use tests::tour::{self, Words};
use tests::{InputMethod, TestApp, Visit};
use xtask::paths;

/// The maximum weight of a page with all its files on the network, in bytes.
const HEAVIEST: f64 = 150_000.0;

/// The maximum layout shift of a page.
const LARGEST_SHIFT: f64 = 0.01;

/// Runs the accessibility checker, which is prepended, and returns its findings: rule, impact and place.
const CHECK: &str = "
    return axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, impact, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} (${impact}) at ${target}: ${failureSummary}`)));";

/// The findings of the accessibility checker axe-core on the open page.
async fn faults(visit: &Visit, checker: &str) -> Vec<String> {
    let loaded = visit.browser.run("return Boolean(window.axe);", &[]).await;
    let script = if loaded == json!(true) { CHECK.to_owned() } else { format!("{checker}\n{CHECK}") };
    let found = visit.browser.run(&script, &[]).await;
    found.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect()
}

fn checker() -> String {
    let file = paths::root().join("node_modules/axe-core/axe.min.js");
    // From `cargo xtask setup`.
    std::fs::read_to_string(file).unwrap()
}

/// Opens every page in every state. Returns the paths that were opened on the main server.
async fn everywhere(visit: &mut Visit, app: &TestApp, words: &Words, mut look: impl AsyncFnMut(&Visit, &str)) -> Vec<String> {
    let opened = tour::all(app, visit, words, &mut look).await;
    tour::elsewhere(visit, look).await;
    opened
}

/// One tour for all these checks, since the tour takes most of the time.
#[tokio::test(flavor = "multi_thread")]
async fn pages_are_small_stable_accessible_and_follow_their_csp_in_light_and_dark_mode() {
    let app = TestApp::spawn_for_browsers().await;
    let mut visit = Visit::start(&app, InputMethod::Mouse).await;
    // Each page loads all its files.
    visit.browser.chromium("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
    let checker = checker();
    let (mut weighed, mut found) = (0, Vec::new());
    let opened = everywhere(&mut visit, &app, &Words::plain(), async |visit: &Visit, name: &str| {
        let (weight, (shift, moved)) = (visit.weight().await, visit.shift().await);
        // A state that was opened on a loaded page weighs nothing.
        weighed += i32::from(weight > 1_000.0);
        assert!(weight <= HEAVIEST, "{name}: {weight} bytes");
        assert!(shift <= LARGEST_SHIFT, "{name}: layout shift of {shift}\n{moved}");
        // Before the checker adds scripts, there are only the page's own.
        assert_eq!(visit.complaints().await, Vec::<String>::new(), "{name}");
        for scheme in ["dark", "light"] {
            visit.prefer(scheme).await;
            found.extend(faults(visit, &checker).await.into_iter().map(|fault| format!("{name}, {scheme}: {fault}")));
        }
        let _the_checkers_own = visit.complaints().await;
    })
    .await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(weighed > 90, "{weighed} pages were measured");
    every_page_was_opened(&opened);
    visit.turn_to(&app);
    visit.open("/dashboard/design").await;
    // The checks notice a shift, a missing file and an accessibility fault.
    let script = "document.body.prepend(Object.assign(document.createElement('p'), { textContent: 'x', className: 'lead' }));";
    assert!(visit.shift_after(script).await.0 > LARGEST_SHIFT);
    let script = "return new Promise((resolve) => document.head.append(Object.assign(document.createElement('script'),
        { src: '/dashboard/assets/missing.js', onerror: () => resolve(null) })));";
    visit.browser.run(script, &[]).await;
    let said = visit.complaints().await.join("\n");
    assert!(said.contains("/missing.js - Failed to load"), "{said}");
    visit.browser.run("document.documentElement.lang = ''; document.querySelector('h1').style.color = '#777';", &[]).await;
    let found = faults(&visit, &checker).await.join("\n");
    assert!(found.contains("html-has-lang"), "{found}");
}

/// Every page was opened, except those that only take forms or redirect, and the metrics' parts. A static path counts only for its own page.
#[track_caller]
fn every_page_was_opened(opened: &[String]) {
    let sent = [
        "/options",
        "/sign-in/passkey",
        "/second-factor/passkey",
        "/sign-out",
        "/download",
        "/end",
        "/end-others",
        "/metrics/live",
        "/first-steps",
        ".csv",
    ];
    let missing =
        missing(opened, control::testing::server::pages().paths.into_iter().filter(|page| !sent.iter().any(|end| page.ends_with(end))));
    assert!(missing.is_empty(), "the tour does not include {missing:?}");
}

/// The pages, as in the routes, that none of these paths matches.
fn missing<'p>(opened: &[String], pages: impl IntoIterator<Item = &'p str>) -> Vec<&'p str> {
    let shape = |path: &str| -> Vec<String> { path.split(['?', '#']).next().unwrap().split('/').skip(1).map(str::to_owned).collect() };
    let mut opened: BTreeSet<Vec<String>> = opened.iter().map(|path| shape(path)).collect();
    let page_of = |page: &str| shape(format!("/dashboard{page}").trim_end_matches('/'));
    let (open_ended, exact): (Vec<&str>, Vec<&str>) = pages.into_iter().partition(|page| page.contains('{'));
    let mut missing: Vec<&str> = exact.into_iter().filter(|page| !opened.remove(&page_of(page))).collect();
    let fits = |page: &[String], path: &[String]| {
        page.len() == path.len() && page.iter().zip(path).all(|(page, path)| page.starts_with('{') || page == path)
    };
    missing.extend(open_ended.into_iter().filter(|page| !opened.iter().any(|path| fits(&page_of(page), path))));
    missing
}

#[test]
fn a_static_path_counts_only_for_its_own_page() {
    let pages = ["/", "/keys/{key}", "/keys/new", "/keys/{key}/end"];
    let opened = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert_eq!(missing(&opened(&["/dashboard", "/dashboard/keys/new?x", "/dashboard/keys/x/end"]), pages), ["/keys/{key}"]);
    assert_eq!(missing(&opened(&["/dashboard", "/dashboard/keys/x#y", "/dashboard/keys/x/end"]), pages), ["/keys/new"]);
    assert!(missing(&opened(&["/dashboard", "/dashboard/keys/new", "/dashboard/keys/x", "/dashboard/keys/x/end"]), pages).is_empty());
}

/// Elements that are wider than the screen or the open dialog.
async fn wide(visit: &Visit) -> Vec<String> {
    let script = "const dialog = document.querySelector('dialog[open]');
        const scopes = [document.documentElement, dialog].filter((scope) => scope && scope.scrollWidth > scope.clientWidth);
        return scopes.flatMap((scope) => {
            const most = scope.getBoundingClientRect().left + scope.clientWidth;
            const beyond = [...scope.querySelectorAll('*')].filter((element) => element.getBoundingClientRect().right > most
                || (element.scrollWidth > element.clientWidth && element.clientWidth > 0));
            return [scope, ...beyond].map((element) => `${element.tagName} ${element.className} ${element.scrollWidth}`);
        });";
    let found = visit.browser.run(script, &[]).await;
    found.as_array().unwrap().iter().map(|element| element.as_str().unwrap().to_owned()).collect()
}

/// Sets the screen's width, in pixels.
async fn screen(visit: &Visit, width: u32, is_phone: bool) {
    let screen = json!({ "width": width, "height": 640, "deviceScaleFactor": if is_phone { 2 } else { 1 }, "mobile": is_phone });
    visit.browser.chromium("Emulation.setDeviceMetricsOverride", screen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_scrolls_sideways_on_a_narrow_phone_or_a_desktop_even_with_long_names() {
    let app = TestApp::spawn_for_browsers().await;
    let mut visit = Visit::start(&app, InputMethod::Mouse).await;
    // WCAG 2.2, 1.4.10: also the width that remains of 1280 at 400 % zoom.
    screen(&visit, 320, true).await;
    let checker = checker();
    let mut found = Vec::new();
    everywhere(&mut visit, &app, &Words::long(), async |visit: &Visit, name: &str| {
        found.extend(wide(visit).await.into_iter().map(|element| format!("{name}: {element}")));
        let (shift, moved) = visit.shift().await;
        if shift > LARGEST_SHIFT {
            found.push(format!("{name}: moved by {shift}\n{moved}"));
        }
        found.extend(faults(visit, &checker).await.into_iter().map(|fault| format!("{name}: {fault}")));
        screen(visit, 1_200, false).await;
        found.extend(wide(visit).await.into_iter().map(|element| format!("{name} on a desk: {element}")));
        screen(visit, 320, true).await;
    })
    .await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    // The check notices an element that is too wide.
    visit.browser.run("document.body.append(Object.assign(document.createElement('pre'), { textContent: 'x'.repeat(400) }));", &[]).await;
    visit.browser.run("document.querySelector('pre').style.overflowWrap = 'normal';", &[]).await;
    assert_ne!(wide(&visit).await, Vec::<String>::new());
}
