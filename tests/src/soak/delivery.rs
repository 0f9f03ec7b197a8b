//! Delivery of events to the control plane: in batches, like the edge's consumer with many failures, and directly.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use control::testing::Clock;
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use shared::ids::ReportId;
use shared::time::UnixMillis;
use shared::wire::path;
use shared::wire::report::{BatchAnswer, MAX_BATCH_REPORTS};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::events::{Event, Events};
use super::model::is_plain;
use super::server::Caller;
use crate::random::Random;
use crate::raw;
use crate::reports::{Counts, batch};

/// The maximum delay of an event's first delivery, in milliseconds: within it the order is random.
const REORDERED_MILLIS: u64 = 10 * 60_000;

/// The percentage of events that are delivered twice, in separate batches.
const TWICE: u64 = 5;

/// The outcome of delivering a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryOutcome {
    /// It is sent until it is acknowledged.
    Delivered,
    /// … and again later: the Queue missed the acknowledgment.
    DeliveredAgain,
    /// It is acknowledged, but the response is lost.
    AnswerLost,
    /// The connection is closed before the response.
    HungUp,
}

#[derive(Clone, Debug)]
struct Batch {
    reports: Vec<Value>,
    /// The reports that will be dropped, in order.
    dropped: Vec<String>,
    /// Events that are in no earlier batch.
    news: usize,
    outcome: DeliveryOutcome,
}

/// Statistics for the summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Batches, without repetitions.
    pub batches: u64,
    /// Batches that were acknowledged and delivered again, or whose response was lost.
    pub redelivered: u64,
    /// Connections closed before their response.
    pub hung_up: u64,
    /// Acknowledged reports sent directly by clients.
    pub direct: u64,
    /// Requests of both kinds without a response, or refused temporarily.
    pub in_vain: u64,
    /// The number of reads of counters.
    pub reads: u64,
}

/// Data shared by the tasks.
#[derive(Debug)]
pub struct Line {
    batches: Mutex<VecDeque<Batch>>,
    /// The number of acknowledged events.
    pub done: watch::Sender<usize>,
    tally: Mutex<Tally>,
    faults: Mutex<Vec<String>>,
}

impl Tally {
    /// Descriptions of expected failures that did not occur in a run with kills. A kill or two may happen without requests in flight; ten do not.
    pub fn quiet(&self, kills: usize) -> Vec<String> {
        let kinds = [
            (self.reads, 1, "a counter was read meanwhile"),
            (self.redelivered, 1, "a batch was delivered again"),
            (self.hung_up, 1, "a connection ended before its answer"),
            (self.in_vain, 10, "a request failed"),
        ];
        let quiet = kinds.into_iter().filter(|(count, least, _)| kills >= *least && *count == 0);
        quiet.map(|(_, _, what)| format!("never has it happened that {what}")).collect()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// Packs the events received by the edge.
    pub fn pack(events: &Events, random: &mut Random) -> Self {
        let mut deliveries = Vec::new();
        for (number, stamped) in events.stamped.iter().enumerate() {
            for _ in 0..if random.chance(TWICE) { 2 } else { 1 } {
                deliveries.push((stamped.received.unsigned_abs() + random.below(REORDERED_MILLIS), number));
            }
        }
        deliveries.sort_unstable();
        let (mut batches, mut rest) = (VecDeque::new(), deliveries.as_slice());
        let mut is_new = vec![true; events.stamped.len()];
        while !rest.is_empty() {
            let size = if random.chance(60) { MAX_BATCH_REPORTS } else { 1 + random.place(MAX_BATCH_REPORTS) };
            let (first, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            let mut batch = Batch { reports: Vec::new(), dropped: Vec::new(), news: 0, outcome: outcome(random) };
            for (_, number) in first {
                let stamped = &events.stamped[*number];
                batch.reports.push(stamped.value());
                batch.news += usize::from(std::mem::take(&mut is_new[*number]));
                if stamped.event.deployment.is_none() {
                    batch.dropped.push(stamped.id.clone());
                }
            }
            if random.chance(5) && batch.reports.len() < MAX_BATCH_REPORTS {
                let id = ReportId::v7(UnixMillis(1), [u8::try_from(random.below(256)).unwrap(); 10]).to_string();
                batch.reports.insert(random.place(batch.reports.len()), json!({ "id": id, "event": "exploded", "received": 1 }));
                batch.dropped.push(id);
            }
            batch.dropped.sort_unstable();
            batches.push_back(batch);
        }
        Self { batches: Mutex::new(batches), done: watch::Sender::new(0), tally: Mutex::default(), faults: Mutex::default() }
    }

    /// Records an error.
    pub fn fault(&self, fault: String) {
        locked(&self.faults).push(fault);
    }

    /// Every recorded error.
    pub fn faults(&self) -> Vec<String> {
        locked(&self.faults).clone()
    }

    /// The statistics.
    pub fn tally(&self) -> Tally {
        *locked(&self.tally)
    }

    /// Changes the tally.
    pub fn note(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut locked(&self.tally));
    }

    /// Records an error that makes it pointless to continue; nothing waits for the rest.
    fn give_up(&self, fault: String) {
        self.fault(fault);
        self.done.send_replace(usize::MAX);
    }

    fn finished(&self, events: usize) {
        self.done.send_modify(|done| *done = done.saturating_add(events));
    }

    /// Delivers batches until none is left.
    pub async fn deliver(&self, mut caller: Caller, mut random: Random) {
        loop {
            let Some(mut next) = locked(&self.batches).pop_front() else { return };
            if next.outcome == DeliveryOutcome::HungUp {
                self.hang_up(&mut caller, &next.reports).await;
            }
            let asked = caller.ask(|client| batch(client, Clock::System.now(), &next.reports)).await;
            match asked {
                Ok((answer, in_vain)) => {
                    self.validate(&next, answer.status.as_u16(), &answer.body);
                    self.note(|tally| tally.in_vain += in_vain);
                }
                Err(fault) => return self.give_up(format!("batches are not answered: {fault}")),
            }
            self.note(|tally| match next.news {
                0 => tally.redelivered += 1,
                _ => tally.batches += 1,
            });
            self.finished(next.news);
            let later = match next.outcome {
                DeliveryOutcome::Delivered | DeliveryOutcome::HungUp => continue,
                // Among the next batches, or immediately.
                DeliveryOutcome::DeliveredAgain => random.place(40),
                DeliveryOutcome::AnswerLost => 0,
            };
            (next.outcome, next.news) = (DeliveryOutcome::Delivered, 0);
            let mut batches = locked(&self.batches);
            let place = later.min(batches.len());
            batches.insert(place, next);
        }
    }

    /// Sends a batch without waiting for the response.
    async fn hang_up(&self, caller: &mut Caller, reports: &[Value]) {
        let (base, client) = caller.up().await;
        let (mut bytes, body) = raw::parts(batch(&client, Clock::System.now(), reports).build().unwrap()).await;
        bytes.extend(body);
        // It does not matter whether it arrives.
        if let Ok(mut stream) = TcpStream::connect(base.trim_start_matches("http://")).await
            && stream.write_all(&bytes).await.is_ok()
        {
            self.note(|tally| tally.hung_up += 1);
        }
    }

    fn validate(&self, batch: &Batch, status: u16, body: &[u8]) {
        let answer: Option<BatchAnswer> = serde_json::from_slice(body).ok().filter(|_| status == 200);
        let Some(answer) = answer else {
            return self.fault(format!("a batch was answered {status}: {}", String::from_utf8_lossy(body)));
        };
        let accepted = batch.reports.len() - batch.dropped.len();
        let mut dropped: Vec<String> = answer.dropped.into_iter().map(|dropped| dropped.id).collect();
        dropped.sort_unstable();
        if usize::try_from(answer.accepted).unwrap() != accepted || dropped != batch.dropped {
            self.fault(format!(
                "{accepted} reports were to be accepted and {:?} dropped, not {} and {dropped:?}",
                batch.dropped, answer.accepted
            ));
        }
    }

    /// Sends reports of these clients: each waits for a response before continuing, and retries without one.
    pub async fn report(&self, clients: Vec<Vec<Event>>, mut caller: Caller, mut random: Random) {
        let paths = path::all();
        let headers = [&b"4.2.3"[..], b"^4.2.2", b"", b"\xff garbage"].map(|value| HeaderValue::from_bytes(value).unwrap());
        // In turns.
        let longest = clients.iter().map(Vec::len).max().unwrap_or(0);
        for turn in 0..longest {
            for event in clients.iter().filter_map(|events| events.get(turn)) {
                // Every path accepts both naming styles.
                let case = random.one_of(&paths).1.case;
                let (job, body) = event.body(case, &mut random);
                let fitting: Vec<&String> = paths.iter().filter(|(_, endpoint)| endpoint.job == job).map(|(path, _)| path).collect();
                let path = *random.one_of(&fitting);
                let header = random.one_of(&headers).clone();
                let asked = caller
                    .ask(|client| client.request(Method::POST, path).header("x-codepush-sdk-version", header.clone()).json(&body))
                    .await;
                let expected = if event.deployment.is_some() { 200 } else { 404 };
                match asked {
                    Ok((answer, in_vain)) if answer.status == expected => self.note(|tally| {
                        tally.direct += 1;
                        tally.in_vain += in_vain;
                    }),
                    Ok((answer, _)) => self.fault(format!("{path} with {body} was answered {}: {}", answer.status, answer.text())),
                    Err(fault) => return self.give_up(format!("direct reports are not answered: {fault}")),
                }
                self.finished(1);
            }
            // A client's reports are ordered by time: the next one must not arrive within the same millisecond.
            let answered = Clock::System.now();
            while Clock::System.now() <= answered {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Reads the counters continuously until `is_over` and once after: none is ever negative, and events are never undone.
    pub async fn watch(&self, deployments: &[String], mut caller: Caller, is_over: watch::Receiver<bool>) {
        let mut seen = vec![Counts::new(); deployments.len()];
        loop {
            let is_last = *is_over.borrow();
            for (path, seen) in deployments.iter().zip(&mut seen) {
                let answer = match caller.ask(|client| client.request(Method::GET, path)).await {
                    Ok((answer, _)) => answer,
                    Err(fault) => return self.give_up(format!("counters are not answered: {fault}")),
                };
                let counts = crate::reports::read(&answer.assert(200)["metrics"]);
                self.note(|tally| tally.reads += u64::try_from(counts.len()).unwrap());
                for fault in undone(seen, &counts) {
                    self.fault(format!("{path}, {fault}"));
                }
                *seen = counts;
            }
            if is_last {
                return;
            }
        }
    }
}

/// Descriptions of impossible changes between these counts: a counter that is negative, decreased or disappeared. That of a binary version may
/// disappear if others have more devices.
fn undone(before: &Counts, counts: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, counts) in counts {
        // Active may decrease; the rest may only increase.
        let floor = before.get(place).copied().unwrap_or_default();
        if counts[0] < 0 || (1..4).any(|column| counts[column] < floor[column]) {
            faults.push(format!("{place}: {counts:?} after {floor:?}"));
        }
    }
    let gone = before.iter().filter(|(place, _)| !counts.contains_key(*place) && !is_plain(place));
    faults.extend(gone.map(|(place, before)| format!("{place}: gone after {before:?}")));
    faults
}

fn outcome(random: &mut Random) -> DeliveryOutcome {
    match random.below(100) {
        0..8 => DeliveryOutcome::DeliveredAgain,
        8..14 => DeliveryOutcome::AnswerLost,
        14..20 => DeliveryOutcome::HungUp,
        _ => DeliveryOutcome::Delivered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reports::counts;

    #[test]
    fn a_counter_that_decreases_turns_negative_or_vanishes_is_a_failure() {
        let before = counts([("1.0", [2, 0, 0, 0]), ("v1", [1, 2, 3, 4])]);
        let after = |place: &str, numbers| {
            let mut after = before.clone();
            after.insert(place.to_owned(), numbers);
            undone(&before, &after).len()
        };
        for well in [[1, 2, 3, 4], [0, 2, 3, 4], [9, 3, 4, 5]] {
            assert_eq!(after("v1", well), 0, "{well:?}");
        }
        for wrong in [[-1, 2, 3, 4], [1, 1, 3, 4], [1, 2, 2, 4], [1, 2, 3, 3]] {
            assert_eq!(after("v1", wrong), 1, "{wrong:?}");
        }
        assert_eq!((after("v2", [1, 1, 1, 1]), after("v2", [-1, 0, 0, 0])), (0, 1));
        for (place, faults) in [("1.0", 0), ("v1", 1)] {
            let mut after = before.clone();
            after.remove(place);
            assert_eq!(undone(&before, &after).len(), faults, "{place}");
        }
    }

    #[test]
    fn a_run_with_kills_but_without_errors_is_a_failure() {
        let well = Tally { redelivered: 1, hung_up: 1, in_vain: 1, reads: 1, ..Tally::default() };
        assert_eq!(well.quiet(10), Vec::<String>::new());
        for quiet in
            [Tally { redelivered: 0, ..well }, Tally { hung_up: 0, ..well }, Tally { in_vain: 0, ..well }, Tally { reads: 0, ..well }]
        {
            let least = if quiet.in_vain == 0 { 10 } else { 1 };
            assert_eq!((quiet.quiet(least).len(), quiet.quiet(least - 1).len()), (1, 0), "{quiet:?}");
        }
    }
}
