//! A new `EDGE_SECRET`, in the order of docs/deploying.md, while devices ask without pause.

use shared::keys::DeploymentKey;
use tests::app::EDGE_SECRET;
use tests::edge::EdgeOptions;
use tests::program::run;
use tests::signed::keys_of;
use tests::site::Site;
use tests::{Options, TestApp};

const NEW: &str = "the-next-edge-secret-0123456789abcdef";

fn worker(secret: &str) -> EdgeOptions {
    EdgeOptions { edge_secret: Some(secret.to_owned()), ..EdgeOptions::default() }
}

/// Restarts control with this secret. Devices ask meanwhile, also while it is down.
async fn restart(control: &mut TestApp, site: &Site, secret: &str) {
    control.stop().await;
    site.more(100).await;
    control.configure("EDGE_SECRET", secret);
    control.start().await;
    site.more(100).await;
}

/// Starts wrangler four times.
#[tokio::test(flavor = "multi_thread")]
async fn no_check_fails_while_the_secret_is_replaced() {
    let mut site = Site::start().await;
    let options = Options { settings: site.settings_of_control(), has_machine_clock: true, ..Options::default() };
    let mut control = TestApp::spawn_with(options).await;
    let owner = control.sign_up("ada").await;
    site.publish(&owner).await;
    site.deploy(&owner, &control.base, worker(EDGE_SECRET)).await;
    site.change(&owner).await;

    site.deploy(&owner, &control.base, worker(&format!("{EDGE_SECRET},{NEW}"))).await;
    site.change(&owner).await;
    restart(&mut control, &site, &format!("{NEW},{EDGE_SECRET}")).await;
    site.change(&owner).await;
    let published = run(&control.settings(), &["snapshots", "publish", "--all"]).await;
    assert_eq!(published.code, Some(0), "{}", published.err);
    for key in site.keys() {
        let value = site.cloud.kv_text(&key).await.unwrap();
        assert!(keys_of(NEW).verify(&DeploymentKey::try_from(key.as_str()).unwrap(), value.as_bytes()).is_ok(), "{key}: {value}");
    }
    site.deploy(&owner, &control.base, worker(NEW)).await;
    site.change(&owner).await;
    restart(&mut control, &site, NEW).await;
    site.change(&owner).await;

    let faults = site.finish(&owner).await;
    let tally = site.tally();
    println!("{tally:?}");
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(site.refused_calls(), Vec::<serde_json::Value>::new());
    assert!(tally.reports > 0 && tally.downloads > 0, "{tally:?}");
    assert_eq!(control.number("SELECT COUNT(*) FROM edge_counters").await, 0, "nothing was distrusted");
    assert_eq!(owner.get("/v1/health").await.assert(200)["checks"]["edge"], "ok");
}
