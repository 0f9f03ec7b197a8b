//! What clients do: random events of a seed, stamped with time and id as the edge does, and those that are sent to control directly.

use serde_json::{Map, Value, json};
use shared::ids::ReportId;
use shared::time::UnixMillis;
use shared::wire::path::{Case, Job};

use super::Plan;
use crate::random::Random;
use crate::reports::report;

/// The deployments of each app.
pub const APPS: [(&str, &[&str]); 2] = [("north", &["Production", "Staging", "Beta"]), ("south", &["Production", "Staging"])];

/// The deployment whose clients run more binary versions than have names.
const CROWDED: &str = "Beta";

/// Releases of each deployment; a report of a higher label is of none.
pub const RELEASES: u64 = 6;

/// Between two events, on the average: what reaches a deployment within ten minutes fills several batches.
const STEP_MILLIS: i64 = 432;

const HOUR_MILLIS: i64 = 3_600_000;

/// A deployment that clients report to.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its app: a place in [`APPS`].
    pub app: usize,
    /// Its name.
    pub name: &'static str,
    /// Its key.
    pub key: String,
}

/// What happened at a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// It runs a store binary.
    Binary,
    /// It has the release's file.
    Downloaded,
    /// It runs the release.
    Installed,
    /// It fell back from the release.
    Failed,
}

/// Something that a client reports.
#[derive(Clone, Debug)]
pub struct Event {
    /// The deployment, as a place in the list of them; none when the key is nobody's.
    pub deployment: Option<usize>,
    /// The key as it is reported.
    pub key: String,
    /// None when the client does not say who it is.
    pub client: Option<String>,
    /// What happened.
    pub what: What,
    /// The label or the binary version.
    pub place: String,
}

/// An event with the stamp that the edge gives it.
#[derive(Clone, Debug)]
pub struct Stamped {
    /// When it came in, in Unix milliseconds.
    pub received: i64,
    /// Its id.
    pub id: String,
    /// What it says.
    pub event: Event,
}

/// Everything that happens in one run.
#[derive(Debug)]
pub struct Events {
    /// What the edge has taken in, in the order of time.
    pub stamped: Vec<Stamped>,
    /// What clients send to control directly, later than all of the above: a list for each client, in its order.
    pub direct: Vec<Vec<Event>>,
}

impl Event {
    /// As a client posts it: the job of its path, and the body.
    pub fn body(&self, case: Case, random: &mut Random) -> (Job, Value) {
        let mut body = json!({ "deployment_key": self.key, "client_unique_id": self.client, "app_version": "1.0.0" });
        let job = if self.what == What::Downloaded { Job::DownloadReport } else { Job::DeployReport };
        match self.what {
            What::Binary => body["app_version"] = json!(self.place),
            _ => body["label"] = json!(self.place),
        }
        match self.what {
            What::Failed => body["status"] = json!("DeploymentFailed"),
            // Absent, it means the same.
            What::Installed if random.chance(80) => body["status"] = json!("DeploymentSucceeded"),
            _ => {}
        }
        if random.chance(50) {
            // Of no account, however wrong.
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
    /// As the edge's consumer delivers it.
    pub fn value(&self) -> Value {
        let event = match self.event.what {
            What::Binary => "binary",
            What::Downloaded => "downloaded",
            What::Installed => "installed",
            What::Failed => "failed",
        };
        report(&self.id, self.received, &self.event.key, self.event.client.as_deref(), event, &self.event.place)
    }
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// Makes the events of a plan. The last one came in well before `end`.
pub fn make(plan: &Plan, deployments: &[Deployment], end: UnixMillis, random: &mut Random) -> Events {
    let direct_events = plan.events / 10;
    let stamped_events = plan.events - direct_events;
    let mut maker = Maker { plan, deployments, random };
    let mut time = end.as_millis() - HOUR_MILLIS - STEP_MILLIS * i64::try_from(stamped_events).unwrap();
    let mut stamped: Vec<Stamped> = Vec::with_capacity(stamped_events);
    while stamped.len() < stamped_events {
        let previous = stamped.last();
        // Some come in in one millisecond, of one client even.
        let is_tied = previous.is_some() && maker.random.chance(10);
        if !is_tied {
            time += 1 + i64::try_from(maker.random.below(2 * STEP_MILLIS.unsigned_abs() - 1)).unwrap();
        }
        let event = match previous {
            Some(Stamped { event, .. }) if is_tied && maker.random.chance(50) => maker.event(event.client.clone()),
            // Said again, as by a client that was not answered: another report, with an id of its own.
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
    /// A client, or somebody without an id.
    fn client(&mut self) -> Option<String> {
        let number = self.random.place(self.plan.clients);
        (!self.random.chance(8)).then(|| client_name(number))
    }

    fn event(&mut self, client: Option<String>) -> Event {
        let place = self.random.place(self.deployments.len());
        let deployment = &self.deployments[place];
        let what = match self.random.below(100) {
            0..20 => What::Binary,
            20..50 => What::Downloaded,
            50..88 => What::Installed,
            _ => What::Failed,
        };
        let is_crowded = deployment.name == CROWDED;
        let name = match what {
            What::Binary if self.random.chance(3) => (*self.random.one_of(&["v1", "v4", "v999", "other"])).to_owned(),
            // Half as many again as have names.
            What::Binary if is_crowded => format!("2.{}", self.random.place(self.plan.binary_versions() * 3 / 2)),
            What::Binary => format!("1.{}.0", self.random.below(12)),
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
        Event { deployment, key, client, what, place: name }
    }

    /// Every tenth client sends some of its reports to control itself.
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
    // Not all ids are plain.
    match number % 7 {
        0 => format!("クライアント {number} 😀"),
        1 => format!("E621E1F8-C36C-495A-93FC-{number:012X}"),
        _ => format!("client-{number}"),
    }
}
