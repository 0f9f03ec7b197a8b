//! The events of devices: random, from a seed, stamped with time and ID like by the edge, and those sent directly to the control plane.

use serde_json::{Map, Value, json};
use shared::ids::ReportId;
use shared::time::UnixMillis;
use shared::wire::path::{Case, Job};

use super::Plan;
use crate::random::Random;
use crate::reports::report;

/// The deployments of each app.
pub const APPS: [(&str, &[&str]); 2] = [("north", &["Production", "Staging", "Beta"]), ("south", &["Production", "Staging"])];

/// The deployment whose devices run more binary versions than can be named.
const CROWDED: &str = "Beta";

/// Releases of each deployment; higher labels do not exist.
pub const RELEASES: u64 = 6;

/// The average time between two events: ten minutes of a deployment fill several batches.
const STEP_MILLIS: i64 = 432;

const HOUR_MILLIS: i64 = 3_600_000;

/// A deployment with devices.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The index of its app in [`APPS`].
    pub app: usize,
    /// Its name.
    pub name: &'static str,
    /// Its key.
    pub key: String,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// The device runs a binary version.
    Binary,
    /// It has downloaded the release.
    Downloaded,
    /// It runs the release.
    Installed,
    /// It rolled back from the release.
    Failed,
}

/// An event reported by a device.
#[derive(Clone, Debug)]
pub struct Event {
    /// The index of the deployment; `None` for an unknown key.
    pub deployment: Option<usize>,
    /// The reported key.
    pub key: String,
    /// `None` without a client ID.
    pub client: Option<String>,
    /// The kind.
    pub kind: EventKind,
    /// The label or the binary version.
    pub place: String,
}

/// An event stamped by the edge.
#[derive(Clone, Debug)]
pub struct Stamped {
    /// Time of receipt, in Unix milliseconds.
    pub received: i64,
    /// Its id.
    pub id: String,
    /// The event.
    pub event: Event,
}

/// Everything that happens in a run.
#[derive(Debug)]
pub struct Events {
    /// Events received by the edge, in order of time.
    pub stamped: Vec<Stamped>,
    /// Events that devices send directly to the control plane, later than all of the above: a list for each device, in order.
    pub direct: Vec<Vec<Event>>,
}

impl Event {
    /// As posted by a client: the kind of its path, and the body.
    pub fn body(&self, case: Case, random: &mut Random) -> (Job, Value) {
        let mut body = json!({ "deployment_key": self.key, "client_unique_id": self.client, "app_version": "1.0.0" });
        let job = if self.kind == EventKind::Downloaded { Job::DownloadReport } else { Job::DeployReport };
        match self.kind {
            EventKind::Binary => body["app_version"] = json!(self.place),
            _ => body["label"] = json!(self.place),
        }
        match self.kind {
            EventKind::Failed => body["status"] = json!("DeploymentFailed"),
            // The default.
            EventKind::Installed if random.chance(80) => body["status"] = json!("DeploymentSucceeded"),
            _ => {}
        }
        if random.chance(50) {
            // Ignored, however wrong.
            body["previous_label_or_app_version"] = json!(format!("v{}", random.below(9)));
            body["previous_deployment_key"] = json!(self.key);
        }
        let body = match case {
            Case::Snake => body,
            Case::Camel => body.as_object().unwrap().iter().map(|(name, value)| (camel(name), value.clone())).collect::<Map<_, _>>().into(),
        };
        (job, body)
    }
}

impl Stamped {
    /// As delivered by the edge's consumer.
    pub fn value(&self) -> Value {
        let event = match self.event.kind {
            EventKind::Binary => "binary",
            EventKind::Downloaded => "downloaded",
            EventKind::Installed => "installed",
            EventKind::Failed => "failed",
        };
        report(&self.id, self.received, &self.event.key, self.event.client.as_deref(), event, &self.event.place)
    }
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// Generates the events of a plan. The last one is received well before `end`.
pub fn make(plan: &Plan, deployments: &[Deployment], end: UnixMillis, random: &mut Random) -> Events {
    let direct_events = plan.events / 10;
    let stamped_events = plan.events - direct_events;
    let mut maker = Maker { plan, deployments, random };
    let mut time = end.as_millis() - HOUR_MILLIS - STEP_MILLIS * i64::try_from(stamped_events).unwrap();
    let mut stamped: Vec<Stamped> = Vec::with_capacity(stamped_events);
    while stamped.len() < stamped_events {
        let previous = stamped.last();
        // Some are received in the same millisecond, even from one device.
        let is_tied = previous.is_some() && maker.random.chance(10);
        if !is_tied {
            time += 1 + i64::try_from(maker.random.below(2 * STEP_MILLIS.unsigned_abs() - 1)).unwrap();
        }
        let event = match previous {
            Some(Stamped { event, .. }) if is_tied && maker.random.chance(50) => maker.event(event.client.clone()),
            // Retried, as without a response: another report, with its own ID.
            Some(Stamped { event, .. }) if event.client.is_some() && maker.random.chance(8) => event.clone(),
            _ => {
                let client = maker.client();
                maker.event(client)
            }
        };
        let id = ReportId::v7(UnixMillis(time), entropy(maker.random)).to_string();
        stamped.push(Stamped { received: time, id, event });
    }
    Events { stamped, direct: maker.direct(direct_events) }
}

fn entropy(random: &mut Random) -> [u8; 10] {
    let mut entropy = [0; 10];
    entropy[..8].copy_from_slice(&random.bits().to_le_bytes());
    entropy[8..].copy_from_slice(&random.bits().to_le_bytes()[..2]);
    entropy
}

struct Maker<'m> {
    plan: &'m Plan,
    deployments: &'m [Deployment],
    random: &'m mut Random,
}

impl Maker<'_> {
    /// A device, or `None` for one without an ID.
    fn client(&mut self) -> Option<String> {
        let number = self.random.place(self.plan.clients);
        (!self.random.chance(8)).then(|| client_name(number))
    }

    fn event(&mut self, client: Option<String>) -> Event {
        let place = self.random.place(self.deployments.len());
        let deployment = &self.deployments[place];
        let kind = match self.random.below(100) {
            0..20 => EventKind::Binary,
            20..50 => EventKind::Downloaded,
            50..88 => EventKind::Installed,
            _ => EventKind::Failed,
        };
        let is_crowded = deployment.name == CROWDED;
        let name = match kind {
            EventKind::Binary if self.random.chance(3) => (*self.random.one_of(&["v1", "v4", "v999", "other"])).to_owned(),
            // 50 % more than can be named.
            EventKind::Binary if is_crowded => format!("2.{}", self.random.place(self.plan.binary_versions() * 3 / 2)),
            EventKind::Binary => format!("1.{}.0", self.random.below(12)),
            _ => {
                let labels = if self.random.chance(4) { RELEASES + 300 } else { RELEASES };
                format!("v{}", 1 + self.random.below(labels))
            }
        };
        let (deployment, key) = if self.random.chance(2) {
            (None, format!("nobody-has-{:016x}", self.random.bits()))
        } else {
            (Some(place), deployment.key.clone())
        };
        Event { deployment, key, client, kind, place: name }
    }

    /// Every tenth device sends some of its reports directly to the control plane.
    fn direct(&mut self, events: usize) -> Vec<Vec<Event>> {
        let clients = self.plan.clients.div_ceil(10);
        let mut direct = vec![Vec::new(); clients];
        for _ in 0..events {
            let client = self.random.place(clients);
            let event = self.event(Some(client_name(client * 10)));
            direct[client].push(event);
        }
        direct
    }
}

fn client_name(number: usize) -> String {
    // Not all IDs are simple.
    match number % 7 {
        0 => format!("クライアント {number} 😀"),
        1 => format!("E621E1F8-C36C-495A-93FC-{number:012X}"),
        _ => format!("client-{number}"),
    }
}
