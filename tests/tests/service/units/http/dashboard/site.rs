//! URLs of pages, and which of them may be the next page.

use std::collections::BTreeMap;

use control::testing::dashboard::{MAX_NEXT_BYTES, Site};
use tests::Config;

fn site(base: &str) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let given = BTreeMap::from([
        ("UPDRAFT_DASHBOARD_URL".to_owned(), format!("https://updraft.example{base}")),
        ("UPDRAFT_DATA_DIR".to_owned(), folder.path().to_str().unwrap().to_owned()),
    ]);
    let config = Config::read(&given).unwrap();
    Site::of(&config.settings, &config.http)
}

#[test]
fn the_next_page_must_be_a_dashboard_page() {
    let (site, root) = (site("/dashboard"), site(""));
    for next in ["/dashboard", "/dashboard?a=b", "/dashboard/keys", "/dashboard/activate?user_code=BCDF-GHJK", "/dashboard/a/b?c=//d"] {
        assert_eq!(site.next(next), Some(next));
        assert_eq!(root.next(next), Some(next));
    }
    assert_eq!(root.next("/"), Some("/"));
    assert_eq!((root.next("/v1/public/svc/bundles/x"), root.next("/V0.1/x")), (None, None));
    let long = format!("/dashboard/{}", "x".repeat(MAX_NEXT_BYTES));
    for next in [
        "",
        "//evil.example",
        "/\\evil.example",
        "/dashboard\\..\\x",
        "/dashboard//evil.example",
        "https://evil.example/dashboard",
        "javascript:alert(1)",
        "dashboard",
        "/dashboard/../v1/account",
        "/dashboard/%2e%2E/v1",
        "/dashboard/./x",
        "/dashboard/a b",
        "/dashboard/a\nb",
        "/dashboard/ü",
        "/dashboard#x",
        "@evil.example",
        &long,
    ] {
        assert_eq!(site.next(next), None, "{next}");
        assert_eq!(root.next(next), None, "{next}");
    }
    for next in ["/", "/dashboards", "/v1/account"] {
        assert_eq!(site.next(next), None, "{next}");
    }
}

#[test]
fn page_urls_start_with_the_base_url() {
    assert_eq!((site("/d").path("/"), site("/d").path("/keys"), site("").path("/"), site("").path("/keys")), {
        ("/d".to_owned(), "/d/keys".to_owned(), "/".to_owned(), "/keys".to_owned())
    });
    assert_eq!(site("/d").with_next("/sign-in", Some("/d/keys?a=b&c")), "/d/sign-in?next=%2Fd%2Fkeys%3Fa%3Db%26c");
    assert_eq!(site("/d").with_next("/sign-in?again", Some("/d")), "/d/sign-in?again&next=%2Fd");
}
