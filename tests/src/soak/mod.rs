//! Soak test: random events of many devices reach a control plane that is killed repeatedly, with repeated and reordered deliveries, and the final
//! counters must match the set of events.
//!
//! `events` generates the events from a seed; `delivery` sends them in batches and directly; `server` runs the real program; `model` calculates the
//! counters from the events alone. `attacks` is a separate soak test with attacks on connections, `import` one of imports that are killed, `upgrade` one of the
//! way from the previous release. Start reading at [`run`].

pub mod attacks;
pub mod delivery;
pub mod diffs;
pub mod events;
pub mod import;
pub mod model;
pub mod samples;
pub mod server;
pub mod storage;
pub mod upgrade;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use control::testing::Clock;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Client;
use crate::program::Serving;
use crate::random::Random;
use crate::reports::Counts;
use crate::wait::patience;
use delivery::{Line, Tally};
use events::{APPS, Deployment, Events};
use server::{Caller, Place};

/// Concurrent batches, as many as production's consumer has.
const CONSUMERS: usize = 4;

/// Concurrent direct senders.
const SENDERS: usize = 12;

/// The maximum memory of the control plane at any time, in bytes.
pub const MOST_MEMORY: u64 = 200_000_000;

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Events, including those sent directly.
    pub events: usize,
    /// Devices.
    pub clients: usize,
    /// The number of kills.
    pub kills: usize,
    /// The seed.
    pub seed: u64,
}

impl Plan {
    /// The number of named binary versions: fewer than devices run.
    fn binary_versions(&self) -> usize {
        (self.events / 500).clamp(20, 200)
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    plan: Plan,
    tally: Tally,
    /// The control plane's peak memory, in bytes.
    peak: u64,
    summary: BTreeMap<&'static str, i64>,
    /// Descriptions of all errors; empty on success.
    pub faults: Vec<String>,
}

impl Display for Outcome {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let (plan, tally) = (self.plan, self.tally);
        writeln!(to, "{} events of {} clients, seed {}, {} kills of control", plan.events, plan.clients, plan.seed, plan.kills)?;
        writeln!(
            to,
            "delivered: {} batches, {} of them again, {} connections hung up; {} reports sent directly; {} requests failed",
            tally.batches, tally.redelivered, tally.hung_up, tally.direct, tally.in_vain
        )?;
        let summary = |name| self.summary.get(name).copied().unwrap_or_default();
        writeln!(
            to,
            "counted: {} active, {} downloaded, {} installed, {} failed in {} counters, read {} times meanwhile",
            summary("active"),
            summary("downloaded"),
            summary("installed"),
            summary("failed"),
            summary("counters"),
            tally.reads
        )?;
        writeln!(to, "greatest memory of control: {} MB (at most {})", self.peak / 1_000_000, MOST_MEMORY / 1_000_000)?;
        for fault in self.faults.iter().take(20) {
            writeln!(to, "WRONG: {fault}")?;
        }
        match self.faults.len() {
            0 => write!(to, "every counter is what the set of events says, and none was ever negative"),
            count => write!(to, "{count} faults"),
        }
    }
}

/// Runs a plan on the database of `TEST_DATABASE`.
pub async fn run(plan: Plan) -> Outcome {
    let (place, token) = Place::make(plan.binary_versions()).await;
    let serving = place.start().await;
    let owner = Client::new(&serving.base, Some(token.clone()));
    let deployments = server::publish(&owner).await;
    let mut random = Random::new(plan.seed);
    let events = events::make(&plan, &deployments, Clock::System.now(), &mut random);
    let line = Arc::new(Line::pack(&events, &mut random));

    let (base, listening) = watch::channel(Some(serving.base.clone()));
    let (over, is_over) = watch::channel(false);
    let mut delivering = JoinSet::new();
    for _ in 0..CONSUMERS {
        let (line, caller, random) = (Arc::clone(&line), Caller::new(listening.clone(), None), Random::new(random.bits()));
        delivering.spawn(async move { line.deliver(caller, random).await });
    }
    for sender in 0..SENDERS {
        let clients = events.direct.iter().skip(sender).step_by(SENDERS).cloned().collect();
        let (line, caller, random) = (Arc::clone(&line), Caller::new(listening.clone(), None), Random::new(random.bits()));
        delivering.spawn(async move { line.report(clients, caller, random).await });
    }
    let watching = {
        let (line, caller, paths) = (Arc::clone(&line), Caller::new(listening, Some(token.clone())), paths(&deployments));
        tokio::spawn(async move { line.watch(&paths, caller, is_over).await })
    };

    let (serving, mut peak) = kill(&plan, &place, serving, &base, &line, &mut random).await;
    delivering.join_all().await;
    over.send_replace(true);
    watching.await.unwrap();
    let before = counted(&serving, &token, &deployments).await;
    peak = peak.max(serving.process().peak());
    serving.stop().await;
    // Anything that was only in memory would be lost now.
    let serving = place.start().await;
    let (counted, differences) = settled(&serving, &token, &deployments, &events, plan.binary_versions()).await;
    serving.stop().await;

    let (mut faults, peak) = (line.faults(), peak * 1024);
    faults.extend(line.tally().quiet(plan.kills));
    faults.extend(differences);
    if model::without_names(&before) != model::without_names(&counted) {
        faults.push("after a restart other counters were there".to_owned());
    }
    if peak > MOST_MEMORY {
        faults.push(format!("control had {peak} bytes of memory"));
    }
    Outcome { plan, tally: line.tally(), peak, summary: model::summary(&counted), faults }
}

/// Kills the control plane at random times during the deliveries, and restarts it each time. Returns the last program, and the peak memory, in KiB.
async fn kill(
    plan: &Plan,
    place: &Place,
    mut serving: Serving,
    base: &watch::Sender<Option<String>>,
    line: &Line,
    random: &mut Random,
) -> (Serving, u64) {
    let (mut done, mut peak) = (line.done.subscribe(), 0);
    let stretch = plan.events / (plan.kills + 1);
    for kill in 1..=plan.kills {
        // At least a quarter of the interval lies between two kills.
        let due = stretch * kill - random.place(stretch * 3 / 4 + 1);
        done.wait_for(|events| *events >= due).await.unwrap();
        peak = peak.max(serving.process().peak());
        base.send_replace(None);
        serving.kill().await;
        serving = place.start().await;
        base.send_replace(Some(serving.base.clone()));
    }
    (serving, peak)
}

fn paths(deployments: &[Deployment]) -> Vec<String> {
    deployments.iter().map(|deployment| format!("/v1/apps/{}/deployments/{}/metrics", APPS[deployment.app].0, deployment.name)).collect()
}

/// The counters and their errors, once the round of binary versions at startup is done. While that round changes a name, a batch of reports may still
/// count under the old one; the next round corrects it. So names are final only without new reports.
async fn settled(
    serving: &Serving,
    token: &str,
    deployments: &[Deployment],
    events: &Events,
    most_names: usize,
) -> (Vec<Counts>, Vec<String>) {
    let mut last = (Vec::new(), Vec::new());
    let compared = timeout(patience() / 2, async {
        loop {
            let counted = counted(serving, token, deployments).await;
            let differences = model::differences(deployments, events, most_names, &counted);
            last = (counted, differences);
            if last.1.is_empty() {
                return;
            }
        }
    });
    // Remaining differences are returned as errors.
    let _ = compared.await;
    last
}

async fn counted(serving: &Serving, token: &str, deployments: &[Deployment]) -> Vec<Counts> {
    let client = Client::new(&serving.base, Some(token.to_owned()));
    let mut counted = Vec::new();
    for deployment in deployments {
        counted.push(client.counts(APPS[deployment.app].0, deployment.name).await);
    }
    counted
}
