//! Concurrent jobs, in one process and in two replicas with different clocks, with reports and clearing in between.

use control::testing::jobs;
use serde_json::json;
use tests::{Client, Options, TestApp};

use crate::v1::apps::deployments::metrics::{
    DAY, HOUR, day, days_later, go_to, install, prepared, release, round, stored, today, values, whole,
};

/// Like [`prepared`], with a second server on the same database that has its own clock, set to the same time.
async fn two_replicas(releases: u32) -> (TestApp, TestApp, Client, String) {
    let (app, ada, staging) = prepared(0).await;
    // Before there is a release: the round at startup runs before the clock is set.
    let other = replica(&app).await;
    for number in 1..=releases {
        release(&ada, "demo", &number.to_string()).await;
    }
    (app, other, ada, staging)
}

async fn replica(app: &TestApp) -> TestApp {
    let settings = app.settings();
    let embedded = || format!("sqlite://{}", app.folder().join("updraft.db").display());
    let url = settings.get("UPDRAFT_DATABASE_URL").cloned().unwrap_or_else(embedded);
    let other = TestApp::spawn_with(Options::default().with("DATABASE_URL", url)).await;
    other.clock.advance(app.clock.now().0 - other.clock.now().0);
    other
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_jobs_give_the_same_result_as_one() {
    let (app, other, ada, staging) = two_replicas(1).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    let mut expected = Vec::new();
    for number in 1..=5 {
        let rounds: Vec<_> = (0..8)
            .map(|index| {
                let state = if index % 2 == 0 { app.state() } else { other.state() };
                tokio::spawn(async move { jobs::history_round(&state).await })
            })
            .collect();
        for round in rounds {
            assert_eq!(round.await.unwrap(), 0);
        }
        let installed = i64::from(number);
        let deltas = (number > 1).then_some([0, 1, 0]);
        expected.push(day(first.plus_days(installed - 1), [("v1", values([installed, 0, installed, 0], deltas))]));
        assert_eq!(whole(&ada).await["days"], json!(expected));
        for app in [&app, &other] {
            days_later(app, 1);
        }
        install(&app, &staging, &format!("device {number}"), "v1").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_concurrent_with_reports_lose_none_and_block_nothing() {
    let (app, other, ada, staging) = two_replicas(3).await;
    let first = today(&app);
    round(&app).await;
    let (mut expected, mut closed) = (0, Vec::new());
    for number in 0..6 {
        let reports: Vec<_> = (0..60)
            .map(|index| {
                let client = app.anonymous();
                let label = format!("v{}", index % 3 + 1);
                let body = json!({ "deployment_key": staging, "app_version": "1.0.0", "client_unique_id": format!("{number} {index}"), "label": label });
                tokio::spawn(async move { client.post("/reportStatus/deploy", body).await.status.as_u16() })
            })
            .collect();
        let rounds: Vec<_> = (0..6)
            .map(|index| {
                let state = if index % 2 == 0 { app.state() } else { other.state() };
                tokio::spawn(async move { jobs::history_round(&state).await })
            })
            .collect();
        // Some reports arrive before and some after midnight, by one replica's clock and then by the other's.
        for app in [&app, &other] {
            app.clock.advance(DAY);
        }
        for report in reports {
            assert_eq!(report.await.unwrap(), 200);
        }
        for round in rounds {
            assert_eq!(round.await.unwrap(), 0);
        }
        expected += 60;
        round(&app).await;
        let days = whole(&ada).await["days"].clone();
        let days = days.as_array().unwrap();
        assert_eq!(days.len(), number + 2, "{days:?}");
        let last = days.last().unwrap();
        assert_eq!(last["date"], first.plus_days(i64::try_from(number).unwrap() + 1).to_string());
        let sum = |name: &str| last["labels"].as_object().unwrap().values().map(|label| label[name].as_i64().unwrap()).sum::<i64>();
        assert_eq!((sum("active"), sum("installed")), (expected, expected));
        // A closed day has all reports until the previous midnight, and some of those around the midnight that ended it, and never changes.
        for (index, day) in days.iter().enumerate().take(number + 1) {
            let installed: i64 = day["labels"].as_object().unwrap().values().map(|label| label["installed"].as_i64().unwrap()).sum();
            let until = i64::try_from(index).unwrap() * 60;
            assert!((until..=until + 60).contains(&installed), "day {index}: {day}");
        }
        assert_eq!(days[..closed.len()], closed);
        closed = days[..=number].to_vec();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_clock_is_behind_reopens_no_day() {
    let (app, behind, ada, staging) = two_replicas(2).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&behind).await;
    // For the first replica the new day has begun, for the other one not yet.
    go_to(&app, first.plus_days(1), HOUR);
    go_to(&behind, first, DAY - 1_000);
    install(&app, &staging, "b", "v1").await;
    round(&behind).await;
    assert_eq!(whole(&ada).await["days"], json!([day(first, [("v1", values([1, 0, 1, 0], None))])]), "b came on the next day");
    install(&behind, &staging, "c", "v1").await;
    round(&app).await;
    let closed = stored(&app).await[0].clone();
    let first_closed = day(first, [("v1", values([1, 0, 1, 0], None))]);
    assert_eq!(whole(&ada).await["days"][0], first_closed, "c came after b, which had started the next day");
    // A label first counted by the slower replica, on a closed day.
    install(&behind, &staging, "d", "v2").await;
    round(&behind).await;
    assert_eq!(stored(&app).await.len(), 2);
    assert_eq!(stored(&app).await[0], closed);
    install(&app, &staging, "e", "v2").await;
    go_to(&app, first.plus_days(2), HOUR);
    install(&app, &staging, "f", "v2").await;
    round(&app).await;
    let days = whole(&ada).await["days"].clone();
    assert_eq!(days[0], first_closed);
    assert_eq!(days[1]["labels"]["v2"], values([2, 0, 2, 0], Some([0, 2, 0])));
    assert_eq!(days[1]["labels"]["v1"]["installed"], 3);
    assert_eq!(days[2]["labels"]["v2"], values([3, 0, 3, 0], Some([0, 1, 0])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_first_counted_by_a_lagging_replica_is_in_the_open_day() {
    let (app, behind, ada, staging) = two_replicas(2).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    go_to(&app, first.plus_days(1), HOUR);
    go_to(&behind, first, DAY - 1_000);
    round(&app).await;
    // The day by this replica's clock is closed.
    install(&behind, &staging, "b", "v2").await;
    install(&app, &staging, "c", "v2").await;
    go_to(&app, first.plus_days(2), HOUR);
    install(&app, &staging, "d", "v2").await;
    round(&app).await;
    let one = values([1, 0, 1, 0], None);
    let rests = || values([1, 0, 1, 0], Some([0, 0, 0]));
    let expected = json!([
        day(first, [("v1", one)]),
        day(first.plus_days(1), [("v1", rests()), ("v2", values([2, 0, 2, 0], Some([0, 2, 0])))]),
        day(first.plus_days(2), [("v1", rests()), ("v2", values([3, 0, 3, 0], Some([0, 1, 0])))]),
    ]);
    assert_eq!(whole(&ada).await["days"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_concurrent_with_clearing_does_not_restore_old_days() {
    let (app, ada, staging) = prepared(1).await;
    for number in 0..6 {
        let label = if number == 0 { "v1".to_owned() } else { release(&ada, "demo", &format!("release {number}")).await };
        install(&app, &staging, "a", &label).await;
        let rounds: Vec<_> = (0..4)
            .map(|_| {
                let state = app.state();
                tokio::spawn(async move { jobs::history_round(&state).await })
            })
            .collect();
        ada.delete("/v1/apps/demo/deployments/Staging/history").await.assert(204);
        for round in rounds {
            assert_eq!(round.await.unwrap(), 0);
        }
        let shown = whole(&ada).await;
        assert_eq!((&shown["historyStartsAt"], &shown["days"]), (&json!(null), &json!([])), "{shown}");
        days_later(&app, 1);
    }
}
