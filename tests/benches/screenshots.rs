//! Screenshots of the dashboard's pages: on a desktop in light mode, some in dark mode, and on a phone. Run by `cargo xtask screenshots`,
//! which also writes the screens of the CLI into `docs/cli.md`.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed screenshot panics")]

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tests::screens;
use tests::tour::{self, Words};
use tests::{InputMethod, TestApp, Visit};
use xtask::paths;

/// The pages with screenshots, by their names in the tour.
const PAGES: [&str; 34] = [
    "sign-in",
    "sign-up",
    "sign-up-refused",
    "second-factor",
    "home-new",
    "apps",
    "app",
    "deployment",
    "release",
    "release-edit",
    "rollback",
    "promote",
    "upload",
    "release-contents",
    "check",
    "deployment-settings",
    "metrics",
    "collaborators",
    "collaborator",
    "app-settings",
    "app-transfer",
    "activity",
    "account",
    "usage",
    "security",
    "security-dialog",
    "authenticator-setup",
    "recovery-codes",
    "sessions",
    "keys",
    "key-created",
    "activate",
    "cli-request",
    "design",
];

/// Those with screenshots in dark mode, too.
const DARK: [&str; 6] = ["sign-in", "deployment", "metrics", "security", "keys", "cli-request"];

/// January 15, 2027, 10:30 UTC: screenshots differ only by changes of the pages, not by the date.
const TIME: i64 = 1_800_009_000_000;

#[tokio::main]
async fn main() {
    let folder = paths::root().join("docs/screenshots");
    fs::create_dir_all(&folder).unwrap();
    for old in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if old.extension().is_some_and(|end| end == "png") {
            fs::remove_file(old).unwrap();
        }
    }
    for (device, width, height) in [("desktop", 1_200, 750), ("phone", 390, 760)] {
        let app = TestApp::spawn_for_browsers().await;
        app.clock.advance(TIME - app.clock.now().0);
        let visit = Visit::start(&app, InputMethod::Mouse).await;
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": device == "phone" });
        visit.browser.chromium("Emulation.setDeviceMetricsOverride", screen).await;
        visit.browser.chromium("Emulation.setScrollbarsHidden", json!({ "hidden": true })).await;
        tour::all(&app, &visit, &Words::plain(), async |visit: &Visit, name: &str| {
            if !PAGES.contains(&name) {
                return;
            }
            visit.prefer("light").await;
            fs::write(folder.join(format!("{name}-{device}.png")), picture(visit).await).unwrap();
            if DARK.contains(&name) {
                visit.prefer("dark").await;
                fs::write(folder.join(format!("{name}-{device}-dark.png")), picture(visit).await).unwrap();
            }
        })
        .await;
    }
    println!("the pictures are in {}", folder.display());
    let page = paths::root().join("docs/cli.md");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, screens::place(&text, &screens::take().await)).unwrap();
    println!("the screens are in {}", page.display());
}

/// The whole page, including what requires scrolling; with a dialog, only the visible part.
async fn picture(visit: &Visit) -> Vec<u8> {
    let script = "const page = document.documentElement;
        scrollTo(0, 0);
        return [document.body.clientWidth, document.querySelector('dialog[open]') ? innerHeight : Math.max(innerHeight, page.scrollHeight)];";
    let size = visit.browser.run(script, &[]).await;
    let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
    let taken = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
    let picture = visit.browser.chromium("Page.captureScreenshot", taken).await;
    STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
}
