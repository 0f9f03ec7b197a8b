//! Forty days of two owners with different retention: days with many rounds of the job, one, none or a late one, a cleared history, and late,
//! repeated and ignored reports. Every field of every response is compared with the model.

use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::time::{UnixMillis, UtcDay};
use tests::random::Random;
use tests::reports::report;
use tests::{Client, TestApp};

use crate::v1::apps::deployments::metrics::model::{Event, Model};
use crate::v1::apps::deployments::metrics::{DAY, HOUR, days_later, go_to, history, release, round, stored, today};

const DAYS: i64 = 40;
/// Days without a round of the job but with reports, counted from the first day.
const MISSING: [i64; 11] = [3, 4, 9, 14, 15, 16, 17, 18, 27, 33, 34];
/// The day on which both histories are cleared.
const CLEARED: i64 = 21;

/// One owner's app.
struct Owner {
    name: &'static str,
    client: Client,
    retention: i64,
    key: String,
    model: Model,
    labels: Vec<String>,
    /// The reports, and the day each was sent.
    sent: Vec<(UtcDay, Value)>,
}

impl Owner {
    async fn sign_up(app: &TestApp, name: &'static str, retention: i64) -> Self {
        let client = app.sign_up(name).await;
        let sql = "UPDATE accounts SET retention_days = CAST($2 AS BIGINT) WHERE email = $1";
        assert_eq!(app.change(sql, &[&format!("{name}@example.com"), &retention.to_string()]).await, 1);
        let (_, key) = client.create_app(name).await;
        Self { name, client, retention, key, model: Model::default(), labels: Vec::new(), sent: Vec::new() }
    }

    async fn release(&mut self, content: &str) {
        let label = release(&self.client, self.name, content).await;
        self.model.release(&label);
        self.labels.push(label);
    }

    /// A random event; an old one was received up to nine days ago and is delivered only now.
    async fn report(&mut self, app: &TestApp, random: &mut Random, number: u32) {
        let device = (!random.chance(10)).then(|| format!("device-{}", random.below(12)));
        let what = *random.one_of(&["downloaded", "installed", "installed", "failed", "binary"]);
        let place = match what {
            "binary" => (*random.one_of(&["1.0.0", "2.0.0"])).to_owned(),
            _ if random.chance(5) => "v999".to_owned(),
            _ => random.one_of(&self.labels).clone(),
        };
        app.clock.advance(1);
        let delay = if random.chance(20) { i64::try_from(random.below(9 * 86_400_000)).unwrap() } else { 0 };
        let received = app.clock.now().0 - delay;
        let mut entropy = [0; 10];
        entropy[..4].copy_from_slice(&number.to_be_bytes());
        let id = ReportId::v7(UnixMillis(received), entropy).to_string();
        let sent = report(&id, received, &self.key, device.as_deref(), what, &place);
        // A duplicate has no effect.
        let times = if random.chance(10) { 2 } else { 1 };
        for _ in 0..times {
            app.deliver(std::slice::from_ref(&sent)).await;
        }
        self.sent.push((today(app), sent));
        self.model.report(today(app), Event { device, what, place, received });
    }

    /// Repeats a report from the last two weeks, even if its day is closed or its release was cleared. The model ignores it.
    async fn repeat(&mut self, app: &TestApp, random: &mut Random) {
        let oldest = today(app).plus_days(-13);
        self.sent.retain(|(day, _)| *day >= oldest);
        if !self.sent.is_empty() {
            let (_, sent) = random.one_of(&self.sent);
            app.deliver(std::slice::from_ref(sent)).await;
        }
    }

    /// Compares every possible response.
    async fn assert(&self, app: &TestApp, random: &mut Random) {
        let today = today(app);
        let earliest =
            self.model.starts().map_or(today.plus_days(1 - self.retention), |starts| starts.max(today.plus_days(1 - self.retention)));
        let bounded = |day: UtcDay| day.clamp(earliest, today);
        let compare = async |query: &str, from: UtcDay, to: UtcDay| {
            let answer = history(&self.client, self.name, "Staging", query).await;
            let (from, to) = (bounded(from), bounded(to));
            assert_same(&answer, &self.model.answer(from, to), &format!("{} on {today}: {query}", self.name));
        };
        compare("", today.plus_days(-29), today).await;
        compare("?from=1970-01-01&to=9999-12-31", UtcDay(0), UtcDay(2_932_896)).await;
        for _ in 0..3 {
            let from = today.plus_days(3 - i64::try_from(random.below(50)).unwrap());
            let to = from.plus_days(i64::try_from(random.below(20)).unwrap());
            compare(&format!("?from={from}&to={to}"), from, to).await;
        }
    }
}

/// Like `assert_eq!`, with the first difference in the message.
fn assert_same(answer: &Value, expected: &Value, asked: &str) {
    let days = |answer: &Value| answer["days"].as_array().unwrap().clone();
    for (day, expected) in days(answer).iter().zip(&days(expected)) {
        assert_eq!(day, expected, "{asked}");
    }
    assert_eq!(answer, expected, "{asked}");
}

/// The stored days of a deployment's current history.
async fn stored_days(app: &TestApp, key: &str) -> Vec<i64> {
    let sql = "SELECT CAST(m.day AS TEXT) FROM metric_days m JOIN deployments d ON d.id = m.deployment_id AND d.counting_epoch = m.epoch \
        WHERE d.deployment_key = $1 ORDER BY m.day";
    app.texts(sql, &[key]).await.iter().map(|day| day.parse().unwrap()).collect()
}

async fn forty_days(seed: u64) {
    let app = TestApp::spawn().await;
    let mut random = Random::new(seed);
    let first = days_later(&app, 1);
    let mut owners = [Owner::sign_up(&app, "ada", 90).await, Owner::sign_up(&app, "bob", 7).await];
    for owner in &mut owners {
        owner.assert(&app, &mut random).await;
        owner.release("first").await;
        owner.assert(&app, &mut random).await;
    }
    let mut number = 0;
    for offset in 0..DAYS {
        let day = first.plus_days(offset);
        let runs = if MISSING.contains(&offset) { 0 } else { 1 + random.below(3) };
        for part in 0..4 {
            go_to(&app, day, 5 * HOUR * part + HOUR);
            if part == 0 && offset == CLEARED {
                for owner in &mut owners {
                    owner.client.delete(&format!("/v1/apps/{}/deployments/Staging/history", owner.name)).await.assert(204);
                    owner.model.clear();
                    owner.labels.clear();
                    owner.assert(&app, &mut random).await;
                    owner.release("after it was cleared").await;
                }
            }
            for owner in &mut owners {
                if part == 1 && offset % 6 == 5 {
                    owner.release(&format!("release of day {offset}")).await;
                }
                for _ in 0..random.below(4) {
                    number += 1;
                    owner.report(&app, &mut random, number).await;
                }
                owner.repeat(&app, &mut random).await;
            }
            // A single round may run in the morning, before most of the day's reports.
            if part < i64::try_from(runs).unwrap() {
                round(&app).await;
                for owner in &mut owners {
                    owner.model.run(day);
                }
            }
        }
        for owner in &owners {
            owner.assert(&app, &mut random).await;
        }
    }
    // The closed days are those within the retention, plus the one before, for the deltas of the first; without gaps.
    let today = today(&app);
    for owner in &owners {
        let days: Vec<i64> = owner.model.days().map(|day| day.0).collect();
        let newest_closed = days.iter().rev().nth(1).copied();
        let from = newest_closed.map(|closed| today.0.min(closed + 1) - owner.retention);
        let kept: Vec<i64> = days.into_iter().filter(|day| from.is_none_or(|from| *day >= from)).collect();
        assert_eq!(stored_days(&app, &owner.key).await, kept, "{}", owner.name);
    }
    // Closed days never change.
    let closed = async || stored(&app).await.into_iter().filter(|row| row.ends_with("closed")).collect::<Vec<_>>();
    let before = closed().await;
    for owner in &mut owners {
        for _ in 0..10 {
            number += 1;
            owner.report(&app, &mut random, number).await;
        }
    }
    round(&app).await;
    app.clock.advance(-3 * DAY);
    round(&app).await;
    assert_eq!(closed().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_days_match_the_model() {
    forty_days(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_other_days_match_the_model() {
    forty_days(20_260_131).await;
}

/// The comparison distinguishes two different bodies.
#[test]
fn the_comparison_detects_differences() {
    let mut model = Model::default();
    model.release("v1");
    model.report(UtcDay(5), Event { device: Some("a".to_owned()), what: "installed", place: "v1".to_owned(), received: 1 });
    model.run(UtcDay(5));
    let counted = json!({ "active": 1, "downloaded": 0, "installed": 1, "failed": 0, "downloadedDelta": null, "installedDelta": null, "failedDelta": null });
    let expected = json!({ "from": "1970-01-05", "to": "1970-01-06", "historyStartsAt": "1970-01-06",
        "days": [{ "date": "1970-01-06", "labels": { "v1": counted } }] });
    assert_same(&model.answer(UtcDay(4), UtcDay(5)), &expected, "the model");
}
