//! The devices of each day that run the bundle of the app store build, by binary version: the table behind the chart, and the CSV.

use control::testing::jobs;
use serde_json::{Map, Value, json};
use shared::ids::ReportId;
use shared::time::UtcDay;
use tests::reports::report;
use tests::{Reader, TestApp};

const METRICS: &str = "/dashboard/apps/demo/deployments/Production/metrics";
const DAY: i64 = 86_400_000;

/// A server with a release in Production, and a reader who may see its metrics; Production's key.
async fn prepared() -> (TestApp, Reader, String) {
    let app = TestApp::spawn().await;
    app.register("ada").await;
    let ada = app.log_in("ada").await;
    let (production, _) = ada.create_app("demo").await;
    ada.upload("demo", "Production", b"one", json!({ "appVersion": "1.0.0" })).await.assert(201);
    let reader = app.signed_in_reader("ada").await;
    (app, reader, production)
}

/// Each of these devices reports that it runs the bundle of the app store build.
async fn run(app: &TestApp, key: &str, devices: &[(&str, &str)]) {
    app.clock.advance(1);
    let now = app.clock.now();
    let reports = devices.iter().zip(1_u32..).map(|((device, version), number)| {
        let mut entropy = [0; 10];
        entropy[..4].copy_from_slice(&number.to_be_bytes());
        report(ReportId::v7(now, entropy).as_ref(), now.0, key, Some(device), "binary", version)
    });
    app.deliver(&reports.collect::<Vec<_>>()).await;
}

/// The job stores the open day; then it is the next day, or the same one.
async fn store(app: &TestApp, days: i64) -> UtcDay {
    assert_eq!(jobs::history_round(&app.state()).await, 0);
    let stored = app.clock.now().utc_day();
    app.clock.advance(days * DAY);
    stored
}

/// The columns of the table behind the chart, and its rows: the day and the numbers, `-` for none.
fn table(html: &str) -> (Vec<String>, Vec<String>) {
    let table = html.split("id=\"binaries-table\"").nth(1).unwrap().split("</table>").next().unwrap();
    let between = |text: &str, start: &str, end: &str| text.split(start).nth(1).map(|rest| rest.split(end).next().unwrap().to_owned());
    let (head, body) = table.split_once("</thead>").unwrap();
    let columns = head.split("<th ").filter_map(|cell| between(cell, "<bdi>", "</bdi>"));
    let row = |row: &str| {
        let numbers = row.split("<td ").skip(1).map(|cell| between(cell, "data-number=\"", "\"").unwrap_or_else(|| "-".to_owned()));
        let day = between(row, "datetime=\"", "\"").unwrap();
        [day].into_iter().chain(numbers).collect::<Vec<_>>().join(" ")
    };
    (columns.map(|column| tests::reader::unescape(&column)).collect(), body.split("<tr ").skip(1).map(row).collect())
}

/// What is stored of each day's binary versions, oldest first.
async fn stored(app: &TestApp) -> Vec<Map<String, Value>> {
    let texts = app.texts("SELECT COALESCE(binaries, '{}') FROM metric_days ORDER BY day", &[]).await;
    texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_devices_of_each_binary_version_are_shown_by_day() {
    let (app, mut reader, key) = prepared().await;
    reader.open(METRICS).await.shows("There is no history in this range.");
    let odd = "=2,0 \"<b>\"";
    run(&app, &key, &[("a", "1.0.0"), ("b", "1.0.0"), ("c", "1.1.0")]).await;
    let first = store(&app, 1).await;
    run(&app, &key, &[("a", "1.1.0"), ("d", odd)]).await;
    let second = store(&app, 0).await;
    assert_eq!(second, first.plus_days(1));
    let page = reader.open(METRICS).await.has_status(200).html();
    assert!(page.contains("data-chart=\"stacked\" data-of=\"binaries-table\""), "{page}");
    let columns = ["1.0.0", "1.1.0", odd].map(str::to_owned).to_vec();
    let rows = [format!("{first} 2 1 0"), format!("{second} 1 2 1")];
    assert_eq!(table(&page), (columns.clone(), rows.to_vec()));
    let page = reader.open(&format!("{METRICS}?from={second}&to={second}")).await.html();
    assert_eq!(table(&page), (["1.1.0", "1.0.0", odd].map(str::to_owned).to_vec(), vec![format!("{second} 2 1 1")]));

    // The second day ends after its last round; what is reported after its end does not count.
    run(&app, &key, &[("e", "1.1.0")]).await;
    app.clock.advance(DAY);
    run(&app, &key, &[("e", "1.0.0"), ("f", "1.2.0"), ("c", "1.2.0")]).await;
    let third = store(&app, 0).await;
    let rows = [format!("{first} 2 1 0 0"), format!("{second} 1 3 0 1"), format!("{third} 2 1 2 1")];
    let columns = ["1.0.0", "1.1.0", "1.2.0", odd].map(str::to_owned).to_vec();
    assert_eq!(table(&reader.open(METRICS).await.html()), (columns, rows.to_vec()));
    let csv = reader.open(&format!("{METRICS}/days.csv")).await.has_status(200).html();
    let lines = [
        "date,downloaded,installed,failed,\"binary 1.0.0\",\"binary 1.1.0\",\"binary 1.2.0\",\"binary =2,0 \"\"<b>\"\"\"".to_owned(),
        format!("{first},,,,2,1,0,0"),
        format!("{second},0,0,0,1,3,0,1"),
        format!("{third},0,0,0,2,1,2,1"),
    ];
    assert_eq!(csv, lines.map(|line| line + "\r\n").concat());
    // The API's history has labels only.
    let ada = app.log_in("ada").await;
    let history = ada.get("/v1/apps/demo/deployments/Production/metrics/history").await.assert(200);
    assert_eq!(history["days"][2], json!({ "date": third.to_string(), "labels": {} }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_names_fifty_binary_versions_and_sums_the_others() {
    let (app, mut reader, key) = prepared().await;
    let named: Vec<(String, String)> = (0..60).map(|number| (format!("device {number}"), format!("1.0.{number:02}"))).collect();
    let more: Vec<(String, String)> = (40..60).map(|number| (format!("second {number}"), format!("1.0.{number}"))).collect();
    // It would be taken for a release.
    let label = [("third".to_owned(), "v7".to_owned())];
    let devices: Vec<(&str, &str)> =
        named.iter().chain(&more).chain(&label).map(|(device, version)| (device.as_str(), version.as_str())).collect();
    run(&app, &key, &devices).await;
    let day = store(&app, 0).await;
    let stored = stored(&app).await.remove(0);
    assert_eq!((stored.len(), &stored["other"]), (51, &json!(11)), "{stored:?}");
    assert_eq!((&stored["1.0.40"], &stored["1.0.29"], stored.get("1.0.30")), (&json!(2), &json!(1), None), "the ones with most devices");
    let (columns, rows) = table(&reader.open(METRICS).await.html());
    let most: Vec<String> = (40..47).map(|number| format!("1.0.{number}")).chain(["Other versions".to_owned()]).collect();
    assert_eq!((columns, rows), (most, vec![format!("{day} 2 2 2 2 2 2 2 {}", devices.len() - 14)]));
    let csv = reader.open(&format!("{METRICS}/days.csv")).await.html();
    assert!(csv.contains(",\"binary 1.0.46\",\"binary Other versions\"\r\n") && csv.ends_with(",2,67\r\n"), "{csv}");
}

#[tokio::test(flavor = "multi_thread")]
async fn days_from_before_there_were_binary_versions_have_none() {
    let (app, mut reader, key) = prepared().await;
    run(&app, &key, &[("a", "1.0.0"), ("b", "1.0.0")]).await;
    store(&app, 0).await;
    // As a server without them has left the open day and the counters.
    assert_eq!(app.change("UPDATE metric_days SET binaries = NULL", &[]).await, 1);
    assert_eq!(app.change("UPDATE metric_counters SET open_day = open_day - 5, before_active = 77 WHERE place = '1.0.0'", &[]).await, 1);
    let page = reader.open(METRICS).await.shows("No device ran the bundle of the app store build in this range.").html();
    assert!(!page.contains("binaries-table"), "{page}");
    let first = app.clock.now().utc_day();
    app.clock.advance(DAY);
    run(&app, &key, &[("a", "1.1.0")]).await;
    let second = store(&app, 0).await;
    let columns = ["1.0.0", "1.1.0"].map(str::to_owned).to_vec();
    let rows = vec![format!("{first} - -"), format!("{second} 1 1")];
    assert_eq!(table(&reader.open(METRICS).await.html()), (columns, rows));
    let csv = reader.open(&format!("{METRICS}/days.csv")).await.html();
    assert!(csv.contains(&format!("{first},,,,,\r\n{second},0,0,0,1,1\r\n")), "{csv}");
}
