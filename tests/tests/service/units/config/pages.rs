//! The URL of the dashboard.

use std::collections::BTreeMap;

use control::testing::settings::{ConfigError, Service, read};

fn dashboard_url(url: &str) -> Result<String, ConfigError> {
    let given = BTreeMap::from([("UPDRAFT_DASHBOARD_URL".to_owned(), url.to_owned())]);
    read::<Service>(&given).map(|service| service.dashboard_url.unwrap_or_default())
}

#[test]
fn the_dashboard_url_must_not_collide_with_the_api() {
    for url in ["https://updraft.example/dashboard", "https://dash.example", "https://updraft.example/a/b-c_d.e", "http://localhost:8080/x"]
    {
        assert_eq!(dashboard_url(url).unwrap(), url);
    }
    assert_eq!(dashboard_url("https://dash.example/").unwrap(), "https://dash.example");
    for url in
        ["https://x/v1", "https://x/V1/pages", "https://x/internal", "https://x/{a}", "https://x/a//b", "https://x/a%20b", "https://x/.a"]
    {
        assert!(dashboard_url(url).unwrap_err().to_string().contains("UPDRAFT_DASHBOARD_URL"), "{url}");
    }
}
