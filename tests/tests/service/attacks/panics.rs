//! A panic affects one request or one round of a job, never the process.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use control::testing::server::{self, Table};
use tests::{Client, TestApp};
use tokio::net::TcpListener;
use tokio::sync::watch;
use xtask::paths;

#[test]
fn both_profiles_unwind() {
    let manifest: toml::Table = std::fs::read_to_string(paths::root().join("Cargo.toml")).unwrap().parse().unwrap();
    let profiles = manifest["profile"].as_table().unwrap();
    assert!(profiles.contains_key("dev") && profiles.contains_key("release"));
    for (name, profile) in profiles {
        let panic = profile.get("panic").and_then(toml::Value::as_str);
        assert!(matches!(panic, None | Some("unwind")), "profile {name}: a panic would end the process");
    }
    // Nor through flags that apply to every build.
    let flags = std::fs::read_to_string(paths::root().join(".cargo/config.toml")).unwrap_or_default();
    assert!(!flags.contains("panic"), "{flags}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_handler_causes_one_500() {
    let app = TestApp::spawn().await;
    let boom = async || -> &'static str { panic!("planted") };
    let routes = Router::new().route("/boom", get(boom)).route("/fine", get(async || "fine"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), None);
    let (_stop, stopped) = watch::channel(false);
    let state = app.state();
    let table = Arc::new(Table::new(state.front.settings.connections));
    let serving = tokio::spawn(server::serve(listener, Arc::clone(&table), server::layer(routes, &state), state, stopped));
    for _ in 0..3 {
        assert_eq!(client.get("/boom").await.refused(500), "internal error");
        assert_eq!(client.get("/fine").await.text(), "fine");
    }
    assert!(!serving.is_finished());
    assert!(table.count() > 0, "connections are kept");
}
