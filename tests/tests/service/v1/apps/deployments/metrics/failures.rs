//! A deployment whose history cannot be stored: others are stored, and its own later.

use control::testing::jobs;
use serde_json::json;
use tests::{Dialect, TestApp};

use crate::v1::apps::deployments::metrics::{day, days_later, history, install, prepared, release, round, today, values};

/// Makes the database reject the days of the deployment with this key, until [`mend`].
async fn break_days(app: &TestApp, key: &str) {
    match app.db().dialect() {
        Dialect::Sqlite => {
            for (event, name) in [("INSERT", "broken_insert"), ("UPDATE", "broken_update")] {
                let sql = format!(
                    "CREATE TRIGGER {name} BEFORE {event} ON metric_days WHEN NEW.deployment_id = (SELECT id FROM deployments WHERE deployment_key = '{key}') \
                    BEGIN SELECT RAISE(ABORT, 'broken'); END"
                );
                execute(app, sql).await;
            }
        }
        Dialect::Postgres => {
            let sql = format!(
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                IF NEW.deployment_id = (SELECT id FROM deployments WHERE deployment_key = '{key}') THEN RAISE EXCEPTION 'broken'; END IF; \
                RETURN NEW; END $$"
            );
            execute(app, sql).await;
            execute(app, "CREATE TRIGGER broken BEFORE INSERT OR UPDATE ON metric_days FOR EACH ROW EXECUTE FUNCTION broken()".to_owned())
                .await;
        }
    }
}

async fn mend(app: &TestApp) {
    match app.db().dialect() {
        Dialect::Sqlite => {
            execute(app, "DROP TRIGGER broken_insert".to_owned()).await;
            execute(app, "DROP TRIGGER broken_update".to_owned()).await;
        }
        Dialect::Postgres => execute(app, "DROP TRIGGER broken ON metric_days".to_owned()).await,
    }
}

async fn execute(app: &TestApp, sql: String) {
    let mut tx = app.db().write().await.unwrap();
    tests::on_write!(tx, |conn| sqlx::query(sqlx::AssertSqlSafe(sql.as_str())).execute(conn).await).unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_deployment_does_not_block_others_and_is_retried() {
    let (app, ada, staging) = prepared(1).await;
    let mut keys = vec![staging];
    // IDs ascend with time, and a round processes them in order: one deployment comes before the broken one, another after it.
    for name in ["broken", "other"] {
        app.clock.advance(1);
        keys.push(ada.create_app(name).await.1);
        release(&ada, name, "one").await;
    }
    let first = today(&app);
    let install_in_each = async |device: &str| {
        for key in &keys {
            install(&app, key, device, "v1").await;
        }
    };
    install_in_each("a").await;
    round(&app).await;
    install_in_each("b").await;
    break_days(&app, &keys[1]).await;
    for device in ["c", "d"] {
        days_later(&app, 1);
        install_in_each(device).await;
        assert_eq!(jobs::history_round(&app.state()).await, 1, "the broken deployment fails");
    }
    let entry =
        |offset: i64, deltas: Option<[i64; 3]>| day(first.plus_days(offset), [("v1", values([2 + offset, 0, 2 + offset, 0], deltas))]);
    let all = json!([entry(0, None), entry(1, Some([0, 1, 0])), entry(2, Some([0, 1, 0]))]);
    for name in ["demo", "other"] {
        assert_eq!(history(&ada, name, "Staging", "").await["days"], all, "{name}");
    }
    // Its first day is still open, with the values of the last successful round.
    let broken = async || history(&ada, "broken", "Staging", "").await["days"].clone();
    assert_eq!(broken().await, json!([day(first, [("v1", values([1, 0, 1, 0], None))])]));
    mend(&app).await;
    round(&app).await;
    assert_eq!(
        broken().await,
        json!([entry(0, None), entry(2, None)]),
        "the day in between is missing, and the first one has its final values"
    );
}
