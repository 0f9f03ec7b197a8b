//! Which days the history has, when they are closed, and with which values.

use serde_json::{Value, json};

use crate::v1::apps::deployments::metrics::{
    DAY, HOUR, day, days_later, go_to, history, install, prepared, release, round, stored, today, values, whole,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_day_is_updated_until_it_ends_and_then_stays_unchanged() {
    let (app, ada, staging) = prepared(2).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let empty = json!({ "from": first.to_string(), "to": first.to_string(), "historyStartsAt": first.to_string(), "days": [] });
    let shown = |days: &[Value]| {
        let mut shown = empty.clone();
        shown["days"] = json!(days);
        shown
    };
    assert_eq!(whole(&ada).await, shown(&[day(first, [("v1", values([1, 0, 1, 0], None))])]));
    // Reports after the job are shown once it runs again.
    install(&app, &staging, "b", "v1").await;
    assert_eq!(whole(&ada).await, shown(&[day(first, [("v1", values([1, 0, 1, 0], None))])]));
    round(&app).await;
    let two = day(first, [("v1", values([2, 0, 2, 0], None))]);
    assert_eq!(whole(&ada).await, shown(std::slice::from_ref(&two)));

    // The last report of the day arrives after the job's last round, at the last millisecond.
    go_to(&app, first, DAY - 1);
    install(&app, &staging, "c", "v2").await;
    let second = today(&app);
    assert_eq!(second, first.plus_days(1));
    install(&app, &staging, "d", "v2").await;
    install(&app, &staging, "a", "v2").await;
    round(&app).await;
    let closed = day(first, [("v1", values([2, 0, 2, 0], None)), ("v2", values([1, 0, 1, 0], None))]);
    let open = day(second, [("v1", values([1, 0, 2, 0], Some([0, 0, 0]))), ("v2", values([3, 0, 3, 0], Some([0, 2, 0])))]);
    assert_eq!(whole(&ada).await["days"], json!([closed, open]));
    // Later reports do not count for the first day.
    for device in ["e", "f"] {
        install(&app, &staging, device, "v1").await;
        round(&app).await;
    }
    assert_eq!(whole(&ada).await["days"][0], closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_job_closes_the_day_with_its_final_values() {
    let (app, ada, staging) = prepared(3).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    install(&app, &staging, "b", "v1").await;
    // The same labels change on each of the following days, plus a new one, and the job does not run.
    for (offset, devices) in [(1, ["a", "c"]), (2, ["b", "d"]), (3, ["c", "e"]), (5, ["f", "a"])] {
        go_to(&app, first.plus_days(offset), 9 * HOUR);
        for (device, label) in devices.into_iter().zip(["v2", "v1"]) {
            install(&app, &staging, device, label).await;
        }
    }
    let late = today(&app);
    round(&app).await;
    let closed = day(first, [("v1", values([2, 0, 2, 0], None))]);
    // Device a, which moved to v2 on the second day, is back; c moved via v1 to v2.
    let open = day(late, [("v1", values([3, 0, 5, 0], None)), ("v2", values([3, 0, 4, 0], None))]);
    assert_eq!(whole(&ada).await["days"], json!([closed, open]), "{first} to {late}");

    // And again, with some labels unchanged.
    install(&app, &staging, "z", "v1").await;
    for offset in [4, 6, 7] {
        go_to(&app, late.plus_days(offset), 9 * HOUR);
        install(&app, &staging, &format!("later {offset}"), "v3").await;
        install(&app, &staging, "z", if offset == 6 { "v1" } else { "v2" }).await;
    }
    round(&app).await;
    let closed_then = day(late, [("v1", values([4, 0, 6, 0], None)), ("v2", values([3, 0, 4, 0], None))]);
    let open = [("v1", values([3, 0, 6, 0], None)), ("v2", values([4, 0, 5, 0], None)), ("v3", values([3, 0, 3, 0], None))];
    assert_eq!(whole(&ada).await["days"], json!([closed, closed_then, day(late.plus_days(7), open)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn days_without_a_job_are_missing_and_the_next_day_has_no_deltas() {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    for (device, runs) in [("b", true), ("c", false), ("d", true), ("e", true)] {
        days_later(&app, 1);
        install(&app, &staging, device, "v1").await;
        if runs {
            round(&app).await;
        }
    }
    release(&ada, "demo", "two").await;
    install(&app, &staging, "a", "v2").await;
    round(&app).await;
    let expected = json!([
        day(first, [("v1", values([1, 0, 1, 0], None))]),
        day(first.plus_days(1), [("v1", values([2, 0, 2, 0], Some([0, 1, 0])))]),
        day(first.plus_days(3), [("v1", values([4, 0, 4, 0], None))]),
        // A label missing on the previous day starts at zero.
        day(first.plus_days(4), [("v1", values([4, 0, 5, 0], Some([0, 1, 0]))), ("v2", values([1, 0, 1, 0], Some([0, 1, 0])))]),
    ]);
    assert_eq!(whole(&ada).await["days"], expected);
    // A later job does not create missing days.
    days_later(&app, -2);
    round(&app).await;
    assert_eq!(whole(&ada).await["days"], json!(expected.as_array().unwrap()[..2]), "days after the current time are not shown");
    days_later(&app, 2);
    assert_eq!(whole(&ada).await["days"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_the_clock_back_changes_no_closed_day() {
    let (app, ada, staging) = prepared(1).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    let second = days_later(&app, 1);
    install(&app, &staging, "b", "v1").await;
    round(&app).await;
    let closed = stored(&app).await[0].clone();
    assert!(closed.ends_with("closed"), "{closed}");

    // Back in the first day, which is closed: reports count for the open one.
    go_to(&app, first, 12 * HOUR);
    install(&app, &staging, "c", "v1").await;
    round(&app).await;
    days_later(&app, -3);
    install(&app, &staging, "d", "v1").await;
    round(&app).await;
    assert_eq!(stored(&app).await.len(), 2, "no day was created");
    assert_eq!(stored(&app).await[0], closed);
    let early = whole(&ada).await;
    assert_eq!((&early["days"], &early["historyStartsAt"]), (&json!([]), &json!(first.to_string())), "today is before all of them");
    assert_eq!((&early["from"], &early["to"]), (&json!(today(&app).to_string()), &json!(today(&app).to_string())));

    go_to(&app, second, 20 * HOUR);
    install(&app, &staging, "e", "v1").await;
    let third = days_later(&app, 1);
    install(&app, &staging, "f", "v1").await;
    round(&app).await;
    let expected = json!([
        day(first, [("v1", values([1, 0, 1, 0], None))]),
        day(second, [("v1", values([5, 0, 5, 0], Some([0, 4, 0])))]),
        day(third, [("v1", values([6, 0, 6, 0], Some([0, 1, 0])))]),
    ]);
    assert_eq!(whole(&ada).await["days"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_temporarily_leaves_no_gap() {
    for days in [30, 1] {
        ahead(days).await;
    }
}

async fn ahead(days: i64) {
    let (app, ada, staging) = prepared(2).await;
    let first = today(&app);
    install(&app, &staging, "a", "v1").await;
    round(&app).await;
    // Reports arrive while the clock is ahead, also for a new label.
    days_later(&app, days);
    install(&app, &staging, "b", "v1").await;
    install(&app, &staging, "c", "v2").await;
    days_later(&app, -days);
    // Reports after the correction count for this day, before and after the next round of the job.
    install(&app, &staging, "e", "v1").await;
    round(&app).await;
    // And again, with no other work for the job.
    days_later(&app, days);
    install(&app, &staging, "h", "v1").await;
    days_later(&app, -days);
    round(&app).await;
    install(&app, &staging, "f", "v1").await;
    days_later(&app, 1);
    install(&app, &staging, "d", "v2").await;
    install(&app, &staging, "g", "v1").await;
    round(&app).await;
    days_later(&app, 1);
    round(&app).await;
    let days = whole(&ada).await["days"].clone();
    let dates: Vec<&Value> = days.as_array().unwrap().iter().map(|day| &day["date"]).collect();
    assert_eq!(dates, [&json!(first.to_string()), &json!(first.plus_days(1).to_string()), &json!(first.plus_days(2).to_string())]);
    assert_eq!(days[0], day(first, [("v1", values([5, 0, 5, 0], None)), ("v2", values([1, 0, 1, 0], None))]));
    let next = [("v1", values([6, 0, 6, 0], Some([0, 1, 0]))), ("v2", values([2, 0, 2, 0], Some([0, 1, 0])))];
    assert_eq!(days[1], day(first.plus_days(1), next));
    let now = [("v1", values([6, 0, 6, 0], Some([0, 0, 0]))), ("v2", values([2, 0, 2, 0], Some([0, 0, 0])))];
    assert_eq!(days[2], day(first.plus_days(2), now));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_replica_may_reach_midnight_slightly_earlier() {
    const MINUTE: i64 = 60_000;
    // The job runs this many minutes before midnight, while another replica already counts for the next day.
    for (left, is_near) in [(9, true), (11, false)] {
        let (app, ada, staging) = prepared(1).await;
        let first = today(&app);
        install(&app, &staging, "a", "v1").await;
        round(&app).await;
        go_to(&app, first.plus_days(1), MINUTE);
        install(&app, &staging, "b", "v1").await;
        go_to(&app, first.plus_days(1), -left * MINUTE);
        round(&app).await;
        days_later(&app, 1);
        round(&app).await;
        let days = whole(&ada).await["days"].clone();
        let (at_the_end, delta) = if is_near { (1, 1) } else { (2, 0) };
        assert_eq!(days[0], day(first, [("v1", values([at_the_end, 0, at_the_end, 0], None))]), "{left}");
        assert_eq!(days[1], day(first.plus_days(1), [("v1", values([2, 0, 2, 0], Some([0, delta, 0])))]), "{left}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_deployment_has_its_own_days_from_its_first_release() {
    let (app, ada, staging) = prepared(0).await;
    round(&app).await;
    assert_eq!(stored(&app).await, Vec::<String>::new(), "there is no release");
    days_later(&app, 1);
    release(&ada, "demo", "one").await;
    round(&app).await;
    let second = today(&app);
    assert_eq!(whole(&ada).await["days"], json!([day(second, [])]), "a release without reports has no values");
    ada.upload("demo", "Production", b"other", json!({ "appVersion": "1.0.0" })).await.assert(201);
    install(&app, &staging, "a", "v1").await;
    let third = days_later(&app, 1);
    round(&app).await;
    assert_eq!(whole(&ada).await["historyStartsAt"], second.to_string());
    let production = history(&ada, "demo", "Production", "").await;
    assert_eq!(
        production,
        json!({ "from": third.to_string(), "to": third.to_string(), "historyStartsAt": third.to_string(), "days": [day(third, [])] })
    );
    let expected = [day(second, [("v1", values([1, 0, 1, 0], None))]), day(third, [("v1", values([1, 0, 1, 0], Some([0, 0, 0])))])];
    assert_eq!(whole(&ada).await["days"], json!(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_contains_only_release_labels_in_order() {
    let (app, ada, staging) = prepared(11).await;
    let report = async |path: &str, body: Value| {
        app.anonymous().post(&format!("/v1/public/svc/report_status/{path}"), body).await.assert(200);
        app.clock.advance(1);
    };
    // Binary versions, including one that looks like a label, which counts as `other`.
    for (device, version) in [("a", "1.0.0"), ("b", "v7"), ("c", "other")] {
        report("deploy", json!({ "deployment_key": staging, "app_version": version, "client_unique_id": device })).await;
    }
    for label in ["v10", "v2", "v11", "v1"] {
        report("download", json!({ "deployment_key": staging, "client_unique_id": "a", "label": label })).await;
    }
    report("deploy", json!({ "deployment_key": staging, "app_version": "1.0.0", "label": "v2", "status": "DeploymentFailed" })).await;
    report("download", json!({ "deployment_key": staging, "client_unique_id": "a", "label": "v99" })).await;
    round(&app).await;
    assert_eq!(ada.metrics("demo", "Staging").await.as_object().unwrap().len(), 6);
    let one = |failed: i64| values([0, 1, 0, failed], None);
    let answer = ada.get("/v1/apps/demo/deployments/Staging/metrics/history").await;
    assert_eq!(answer.assert(200)["days"], json!([day(today(&app), [("v1", one(0)), ("v2", one(1)), ("v10", one(0)), ("v11", one(0))])]));
    let text = answer.text();
    let places: Vec<usize> = ["\"v1\"", "\"v2\"", "\"v10\"", "\"v11\""].iter().map(|label| text.find(label).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn existing_counters_are_the_baseline_of_a_new_history() {
    let (app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    let sql = "UPDATE metric_counters SET first_day = 0, day = 0, open_day = 0, before_active = 0, before_downloaded = 0, before_installed = 0, before_failed = 0";
    assert_eq!(app.change(sql, &[]).await, 1);
    let first = days_later(&app, 1);
    install(&app, &staging, "b", "v1").await;
    round(&app).await;
    let second = days_later(&app, 1);
    install(&app, &staging, "c", "v1").await;
    round(&app).await;
    let expected = [day(first, [("v1", values([2, 0, 2, 0], None))]), day(second, [("v1", values([3, 0, 3, 0], Some([0, 1, 0])))])];
    assert_eq!(whole(&ada).await["days"], json!(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_labels_are_closed_with_their_final_values() {
    let (app, ada, staging) = prepared(1).await;
    install(&app, &staging, "a", "v1").await;
    let first = today(&app);
    // More than fit in one statement.
    let sql = "WITH RECURSIVE numbers (number) AS (SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number < 1200) \
        INSERT INTO metric_counters (deployment_id, epoch, place, active, downloaded, installed, failed, first_day, day, open_day) \
        SELECT deployment_id, epoch, 'v' || CAST(number AS TEXT), number, 0, number, 0, first_day, day, open_day FROM metric_counters, numbers WHERE place = 'v1'";
    assert_eq!(app.change(sql, &[]).await, 1_199);
    round(&app).await;
    let second = days_later(&app, 1);
    let sql = "UPDATE metric_counters SET before_active = active, before_installed = installed, active = 1, installed = installed + 1, day = day + 1 \
        WHERE place <> 'v1'";
    assert_eq!(app.change(sql, &[]).await, 1_199);
    round(&app).await;
    let days = whole(&ada).await["days"].clone();
    assert_eq!((&days[0]["date"], &days[1]["date"]), (&json!(first.to_string()), &json!(second.to_string())));
    for number in 2..=1_200 {
        let label = format!("v{number}");
        assert_eq!(days[0]["labels"][&label], values([number, 0, number, 0], None), "{label}");
        assert_eq!(days[1]["labels"][&label], values([1, 0, number + 1, 0], Some([0, 1, 0])), "{label}");
    }
    assert_eq!(days[1]["labels"].as_object().unwrap().len(), 1_200);
}
