//! The pages' static files.

use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::Method;
use tests::TestApp;
use xtask::paths;

#[tokio::test(flavor = "multi_thread")]
async fn static_files_are_local_named_by_hash_and_cached_forever() {
    let app = TestApp::spawn().await;
    let mut reader = app.reader();
    let html = [reader.open("/dashboard/verify-email").await.html(), reader.open("/dashboard/sign-in").await.html()].concat();
    let mut files: Vec<&str> = html.split("\"/dashboard/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    files.sort_unstable();
    files.dedup();
    assert!(files.len() >= 4, "{files:?}");
    let mut total = 0;
    for file in files {
        let answer = reader.ask(Method::GET, &format!("/dashboard/assets/{file}"), &[], None).await;
        answer.assert_status(200);
        assert_eq!(answer.header("cache-control"), "public, max-age=31536000, immutable", "{file}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.optional_header("set-cookie").is_none(), "{file}");
        let kind = answer.header("content-type");
        let expected = match file.rsplit('.').next().unwrap() {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            other => panic!("{other}"),
        };
        assert_eq!(kind, expected, "{file}");
        let text = answer.text();
        for foreign in ["@import", "url(", "//cdn", "https://", "eval(", "innerHTML"] {
            assert!(!text.contains(foreign), "{file}: {foreign}");
        }
        let packed = reader.ask(Method::GET, &format!("/dashboard/assets/{file}"), &[("accept-encoding", "gzip, br")], None).await;
        assert_eq!(packed.header("content-encoding"), "gzip", "{file}");
        assert_eq!(packed.header("vary"), "accept-encoding", "{file}");
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, answer.body, "{file}");
        total += packed.body.len();
    }
    assert!(total < 50_000, "{total} bytes");
    for unknown in ["dashboard.css", "dashboard-000000000000.css", "..%2F..%2FCargo.toml"] {
        reader.ask(Method::GET, &format!("/dashboard/assets/{unknown}"), &[], None).await.refused(404);
    }
}

#[test]
fn files_of_others_are_identical_to_their_npm_packages() {
    for (ours, theirs) in [
        ("htmx.min.js", "htmx.org/dist/htmx.min.js"),
        ("uplot.min.js", "uplot/dist/uPlot.iife.min.js"),
        ("uplot.min.css", "uplot/dist/uPlot.min.css"),
        ("uplot.LICENSE", "uplot/LICENSE"),
    ] {
        let embedded = fs::read(paths::root().join("control/assets/dashboard").join(ours)).unwrap();
        // From `cargo xtask setup`, in the version of package.json.
        let packaged = fs::read(paths::root().join("node_modules").join(theirs)).unwrap();
        assert!(embedded == packaged, "{ours}");
    }
}
