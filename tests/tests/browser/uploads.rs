//! What anyone uploads has our address when it is downloaded, and a browser must never run it there.

use serde_json::{Value, json};
use shared::hash::BlobKey;
use tests::browser::{Browser, empty_page};
use tests::edge::EdgeApp;
use tests::wait::eventually;

/// Shows whether a document of ours ran.
const LISTEN: &str = "window.ran = []; addEventListener('message', event => ran.push(event.data));";
/// Follows a link, and loads it into a frame.
const OPEN: &str = "location.href = arguments[0];";
const FRAME: &str = "const frame = document.createElement('iframe'); frame.src = arguments[0]; document.body.append(frame);";

fn downloaded(browser: &Browser) -> Vec<Vec<u8>> {
    let Ok(files) = std::fs::read_dir(browser.downloads()) else { return Vec::new() };
    let files = files.flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_none_or(|extension| extension != "crdownload")).flat_map(std::fs::read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_page_or_picture_is_downloaded_and_never_rendered() {
    let app = EdgeApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let (key, _) = ada.create_app("app").await;
    let script = "<script>(opener || parent).postMessage('ran', '*'); document.title = 'ran'</script>";
    let files = [
        format!("<!doctype html><title>page</title><body>{script}"),
        format!("<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\">{script}</svg>"),
    ];
    let browser = Browser::start().await;
    let page = empty_page().await;
    let mut expected = 0;
    for (index, file) in files.iter().enumerate() {
        ada.upload("app", "Production", file.as_bytes(), json!({ "appVersion": "1.0.0" })).await.assert(201);
        let offered = app.until_offered(&key, &format!("v{}", index + 1)).await.json();
        let url = offered["update_info"]["download_url"].as_str().unwrap().to_owned();
        let blob = BlobKey::from_encoded(url.split(['/', '?']).find(|part| part.len() > 100).unwrap()).unwrap();
        for is_in_r2 in [false, true] {
            if is_in_r2 {
                app.edge.put_bundle(&blob, file.as_bytes()).await;
            }
            for open in [OPEN, FRAME] {
                browser.window.goto(&page).await.unwrap();
                browser.run(LISTEN, &[]).await;
                browser.run(open, &[json!(url)]).await;
                expected += 1;
                eventually("the download", async || {
                    let found = downloaded(&browser);
                    if found.len() == expected && found.iter().all(|found| files.iter().any(|file| file.as_bytes() == found)) {
                        Ok(())
                    } else {
                        Err(format!("{} of {expected} files", found.len()))
                    }
                })
                .await;
                let state: Value =
                    browser.run("return [window.ran, document.title, location.href.startsWith(arguments[0])];", &[json!(page)]).await;
                assert_eq!(state, json!([[], "empty", true]), "{file}");
            }
        }
    }
}
