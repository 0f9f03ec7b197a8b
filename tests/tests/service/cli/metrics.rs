//! `updraft metrics`: tables and comma-separated values.

use serde_json::json;
use tests::{Cli, TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_printed_for_spreadsheets() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada").await;
    ada.create_app("demo").await;
    let key = ada.deployment_key("demo", "Production").await;
    let cli = Cli::with_token(&app.base, ada.token()).with("UPDRAFT_APP", "demo").with("UPDRAFT_DEPLOYMENT", "Production");
    cli.write("bundle.js", "x");
    cli.expect(0, &["release", "create", "bundle.js", "--target-version", "*"]).await;
    let header = "release,active,downloaded,installed,failed\r\n";
    assert_eq!(cli.expect(0, &["metrics", "--csv"]).await.out, header);
    for (arguments, said) in [(&["metrics"][..], "No device has reported yet."), (&["metrics", "--days", "7"], "There is no history yet.")]
    {
        let printed = cli.expect(0, arguments).await;
        assert!(printed.out.is_empty() && printed.err.contains(said), "{}", printed.err);
        assert_eq!(cli.expect(0, &[arguments, &["--quiet"]].concat()).await.err, "");
    }

    let report = |device: &str, rest: serde_json::Value| {
        let mut report = json!({ "deployment_key": key, "app_version": "2,3", "client_unique_id": device });
        report.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        report
    };
    let anonymous = app.anonymous();
    anonymous.post("/v1/public/svc/report_status/download", report("a", json!({ "label": "v1" }))).await.assert(200);
    let succeeded = report("a", json!({ "label": "v1", "status": "DeploymentSucceeded" }));
    anonymous.post("/v1/public/svc/report_status/deploy", succeeded).await.assert(200);
    anonymous.post("/v1/public/svc/report_status/deploy", report("b", json!({}))).await.assert(200);
    assert_eq!(cli.expect(0, &["metrics", "--csv"]).await.out, format!("{header}v1,1,1,1,0\r\n\"2,3\",1,0,0,0\r\n"));
    let table = cli.expect(0, &["metrics"]).await.out;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0][..3], ["v1", "1", "50%"], "{table}");

    let days = cli.expect(0, &["metrics", "--days", "7", "--csv"]).await.out;
    assert!(days.starts_with("date,release,active,downloaded,installed,failed,downloadedDelta,installedDelta,failedDelta\r\n"), "{days}");
    let (_, next) = cli.run(&["metrics", "--csv", "--output", "json"]).await.error(2);
    assert!(next.contains("Leave one of them out"), "{next}");
    cli.expect(2, &["metrics", "--watch", "--csv"]).await;
    cli.expect(2, &["metrics", "--interval", "5"]).await;
}
