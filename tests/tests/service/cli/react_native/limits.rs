//! Packages over the account's limit, and what becomes of the other platform of a run.

use serde_json::json;
use tests::random::Random;
use tests::{Options, TestApp};

use super::interrupts::{BOTH, with_apps};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_released_if_a_package_of_one_platform_is_over_the_limit() {
    let app = TestApp::spawn_with(Options::default().with("LIMIT_MAX_UPLOAD_BYTES", "2KiB")).await;
    let ada = app.sign_up("ada").await;
    let cli = with_apps(&app, &ada).await;
    let mut random = Random::new(1);
    let large: Vec<u8> = std::iter::repeat_with(|| random.bits().to_le_bytes()).take(1_000).flatten().collect();
    cli.write("android.js", large);
    for (options, begins) in
        [(&["--dry-run"][..], "nothing would be released, because of Android: "), (&[], "nothing was released, because of Android: ")]
    {
        let ended = cli.run(&[&BOTH[..], options].concat()).await;
        let (what, next) = ended.error(1);
        assert!(what.starts_with(&format!("{begins}the package has ")), "{what}");
        assert!(what.contains("more than your limit of 2.0 kB (2048 bytes)") && next.contains("a higher limit"), "{what} {next}");
        assert_eq!(ended.out, "");
    }
    for name in ["demo-ios", "demo-android"] {
        let listed = ada.get(&format!("/v1/apps/{name}/deployments/Production/releases")).await.assert(200);
        assert_eq!(listed["releases"], json!([]), "{name}");
    }
    let android = ["release", "react-native", "--platform", "android", "-t", "1.0.0", "--no-hermes", "--dry-run"];
    assert!(cli.run(&android).await.error(1).0.starts_with("the package has "));
    cli.expect(0, &["release", "react-native", "--platform", "ios", "-t", "1.0.0", "--no-hermes", "--dry-run"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_second_platform_gives_the_command_for_it() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    let cli = with_apps(&app, &ada).await;
    cli.write("android.js", "console.log(1);\n");
    let key = ada.deployment_key("demo-android", "Production").await;
    let report = json!({ "deployment_key": key, "app_version": "2.3.1", "client_unique_id": "phone-1" });
    app.anonymous().post("/v1/public/svc/report_status/deploy", report).await.assert(200);
    // A dry run has the same warning.
    for options in [&["--dry-run"][..], &[]] {
        let ended = cli.expect(0, &[&BOTH[..], options].concat()).await;
        assert_eq!(ended.err.matches("no device reports an app version that matches 1.0.0").count(), 1, "{options:?}: {}", ended.err);
    }
    cli.write("ios.js", "console.log(2);\n");
    let (what, next) = cli.run(&BOTH).await.error(5);
    assert!(what.starts_with("Android was not released: ") && what.ends_with("iOS was released as v2"), "{what}");
    let command = BOTH.join(" ").replace("--platform all", "--platform android");
    assert!(next.ends_with(&format!("Then release only Android: `updraft {command}`")), "{next}");
}
