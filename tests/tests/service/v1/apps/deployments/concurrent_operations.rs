//! Concurrent operations.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::{Answer, Client, Options, on_write};

use crate::v1::apps::deployments::{
    below, history, labels, patch, prepared, prepared_with, promote, release, roll_back, state, stored, until_somebody_waits,
};

/// Runs all of these concurrently.
async fn at_once(asking: impl IntoIterator<Item: Future<Output = Answer> + Send + 'static>) -> Vec<Answer> {
    let under_way: Vec<_> = asking.into_iter().map(tokio::spawn).collect();
    let mut answers = Vec::new();
    for answer in under_way {
        answers.push(answer.await.unwrap());
    }
    answers
}

fn with_status(answers: &[Answer], status: u16) -> Vec<&Answer> {
    answers.iter().filter(|answer| answer.status.as_u16() == status).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_uploads_create_fifty_releases() {
    let (app, ada) = prepared_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "50")).await;
    let uploads = (0..50).map(|index| {
        let ada = ada.clone();
        async move { ada.upload("demo", "Staging", format!("content {index}").as_bytes(), json!({ "appVersion": "1.0.0" })).await }
    });
    let mut packages: Vec<Value> = at_once(uploads).await.iter().map(|answer| answer.assert(201)["package"].take()).collect();
    packages.sort_by_key(|package| package["label"].as_str().unwrap()[1..].parse::<u32>().unwrap());
    assert_eq!(labels(&packages), (1..=50).map(|label| format!("v{label}")).collect::<Vec<_>>());
    assert_eq!(history(&ada, "Staging").await, packages);
    assert_eq!(app.leftovers().await.rows[..2], [50, 50]);
    app.verify_audit().await.unwrap();
}

/// The possible refusals of a release or a change.
const REFUSALS: [&str; 7] = [
    "is unfinished",
    "identical",
    "no enabled release",
    "already the current release",
    "is already fully rolled out",
    "so its rollout cannot be changed",
    "must not be lower than",
];

/// The operation with this number: all kinds, on both deployments.
async fn operation(client: Client, number: u32) -> Answer {
    let (here, there) = if number.is_multiple_of(2) { ("Staging", "Production") } else { ("Production", "Staging") };
    match number % 10 {
        0 | 1 => client.upload("demo", here, format!("content {number}").as_bytes(), json!({ "appVersion": "1.0.0" })).await,
        2 | 3 => client.upload("demo", here, b"the same of several", json!({ "appVersion": "1.0.0", "rollout": 50 })).await,
        4 | 5 => client.post(&below(here, "promotions"), json!({ "destination": there })).await,
        6 | 7 if number % 20 < 10 => roll_back(&client, here, json!("v1")).await,
        6 | 7 => roll_back(&client, here, Value::Null).await,
        _ if number % 20 < 10 => patch(&client, here, json!({ "rollout": 100 })).await,
        _ => patch(&client, here, json!({ "isMandatory": number % 4 < 2, "rollout": number })).await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_mixed_operations_each_succeed_or_are_refused() {
    let (app, ada) = prepared_with(Options::default().with("LIMIT_UPLOADS_AT_ONCE", "50")).await;
    for deployment in ["Staging", "Production"] {
        for content in ["first", "second"] {
            release(&ada, deployment, &format!("{content} of {deployment}"), json!({})).await;
        }
    }
    let before = app.audit_rows().await;
    let answers = at_once((0..50).map(|number| operation(ada.clone(), number))).await;
    let mut made: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for answer in &answers {
        match answer.status.as_u16() {
            201 => {
                let location = answer.header("location");
                let deployment = location.split('/').nth(5).unwrap().to_owned();
                made.entry(deployment).or_default().push(answer.json()["package"].take());
            }
            // Only an update of an existing release; one without effect is 204.
            200 => assert!(answer.asked.starts_with("PATCH "), "{}", answer.asked),
            204 => assert!(answer.asked.starts_with("PATCH ") && answer.body.is_empty(), "{}", answer.asked),
            _ => {
                let text = answer.refused(409);
                assert!(REFUSALS.iter().any(|known| text.contains(known)), "{}: {text}", answer.asked);
            }
        }
    }
    let mut count = 0;
    for deployment in ["Staging", "Production"] {
        let after = history(&ada, deployment).await;
        assert_eq!(labels(&after), (1..=after.len()).map(|label| format!("v{label}")).collect::<Vec<_>>(), "{deployment}");
        let mut made = made.remove(deployment).unwrap_or_default();
        made.sort_by_key(|package| package["label"].as_str().unwrap()[1..].parse::<u32>().unwrap());
        // Every 201 is a row with the returned contents, and there are no other rows.
        let essence = |releases: &[Value]| -> Vec<Value> {
            let members = ["label", "packageHash", "releaseMethod", "originalLabel", "originalDeployment", "size", "description"];
            releases.iter().map(|release| members.iter().map(|member| release[member].clone()).collect()).collect()
        };
        assert_eq!(essence(&after[2..]), essence(&made), "{deployment}");
        count += made.len();
    }
    assert!(count > 10, "only {count} of 50 succeeded");
    let changes = with_status(&answers, 201).len() + with_status(&answers, 200).len();
    assert_eq!(app.audit_rows().await - before, i64::try_from(changes).unwrap(), "one row for each change");
    app.verify_audit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_identical_promotions_exactly_one_succeeds() {
    let (_app, ada) = prepared().await;
    for round in 1..=3 {
        release(&ada, "Staging", &format!("round {round}"), json!({})).await;
        let answers = at_once((0..8).map(|_| {
            let ada = ada.clone();
            async move { promote(&ada, json!({})).await }
        }))
        .await;
        assert_eq!((with_status(&answers, 201).len(), with_status(&answers, 409).len()), (1, 7));
        assert_eq!(history(&ada, "Production").await.len(), round);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_promotions_in_both_directions_do_not_deadlock() {
    let (_app, ada) = prepared().await;
    for round in 0..5 {
        for deployment in ["Staging", "Production"] {
            release(&ada, deployment, &format!("{deployment} {round}"), json!({})).await;
        }
        let answers = at_once([("Staging", "Production"), ("Production", "Staging")].repeat(4).into_iter().map(|(from, to)| {
            let ada = ada.clone();
            async move { ada.post(&below(from, "promotions"), json!({ "destination": to })).await }
        }))
        .await;
        let (done, refused) = (with_status(&answers, 201).len(), with_status(&answers, 409).len());
        assert!(done >= 1 && done + refused == 8, "{done} and {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_rollout_increases_never_decrease_the_percentage() {
    let (app, ada) = prepared().await;
    release(&ada, "Staging", "one", json!({ "rollout": 1 })).await;
    let before = app.audit_rows().await;
    let answers = at_once((2..=21).map(|number| {
        let ada = ada.clone();
        // Not in ascending order.
        async move { patch(&ada, "Staging", json!({ "rollout": number * 37 % 98 + 2 })).await }
    }))
    .await;
    assert_eq!(with_status(&answers, 200).len() + with_status(&answers, 409).len(), 20);
    let noted: Vec<i64> = app
        .audit_since(before)
        .await
        .iter()
        .map(|row| serde_json::from_str::<Value>(&row.details).unwrap()["changes"]["rollout"].as_i64().unwrap())
        .collect();
    assert_eq!(noted.len(), with_status(&answers, 200).len());
    assert!(noted.is_sorted(), "{noted:?}");
    let highest = (2..=21).map(|number| number * 37 % 98 + 2).max().unwrap();
    assert_eq!(history(&ada, "Staging").await[0]["rollout"], highest);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_loses_the_role_while_waiting_changes_nothing() {
    let (app, ada) = prepared().await;
    for content in ["one", "two"] {
        release(&ada, "Staging", content, json!({})).await;
    }
    for (number, operation) in ["a change", "a promotion", "a rollback", "an upload"].into_iter().enumerate() {
        let name = format!("bob{number}");
        let bob = app.sign_up(&name).await;
        app.share("ada", "demo", &name, "Developer", app.clock.now().0 + 1).await;
        let before = (state(&app).await, stored(&app).await);
        let mut holder = app.db().write().await.unwrap();
        let lock = "UPDATE deployments SET last_label = last_label";
        on_write!(holder, |conn| sqlx::query(lock).execute(conn).await).unwrap();
        let asking = tokio::spawn(async move {
            match operation {
                "a change" => patch(&bob, "Staging", json!({ "isMandatory": true })).await,
                "a promotion" => promote(&bob, json!({})).await,
                "a rollback" => roll_back(&bob, "Staging", Value::Null).await,
                _ => bob.upload("demo", "Staging", b"three", json!({ "appVersion": "1.0.0" })).await,
            }
        });
        until_somebody_waits(&app).await;
        let remove = "DELETE FROM collaborators WHERE permission = 'Developer'";
        on_write!(holder, |conn| sqlx::query(remove).execute(conn).await).unwrap();
        holder.commit().await.unwrap();
        asking.await.unwrap().refused(404);
        assert_eq!((state(&app).await, stored(&app).await), before, "{operation}");
    }
}
