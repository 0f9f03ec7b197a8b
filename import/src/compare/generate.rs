//! Checks generated from histories: every kind of app version, of device and of request, the same for the same seed.

use std::collections::{BTreeSet, HashSet};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shared::hash::Sha256Hex;
use shared::snapshot::HistoryRelease;
use shared::version::{Range, parse_strict};

use super::Deployment;
use super::check::{Check, NEW, OLD};

/// Client IDs per combination of the others.
const CLIENTS: u64 = 4;
/// Client IDs per combination without an unfinished rollout: none, and one.
const FEW_CLIENTS: u64 = 2;

/// Generated checks.
#[derive(Debug)]
pub struct Generated {
    /// The checks.
    pub checks: Vec<Check>,
    /// How many combinations there are, without further client IDs.
    pub combinations: u64,
}

impl Generated {
    /// Whether every combination is among the checks.
    pub fn is_all(&self) -> bool {
        self.checks.len() as u64 >= self.combinations
    }
}

/// Generates `most` checks, spread over all deployments; fewer if there are fewer combinations and no unfinished rollout.
pub fn generate(deployments: &[Deployment], most: usize, seed: u64) -> Generated {
    let spaces: Vec<Space> = deployments.iter().enumerate().map(|(index, deployment)| Space::of(index, deployment)).collect();
    let most = most as u64;
    let mut random = Random(seed);
    let mut by_size: Vec<&Space> = spaces.iter().collect();
    by_size.sort_by_key(|space| space.size());
    let (mut checks, mut left) = (Vec::new(), most);
    for (done, space) in by_size.iter().enumerate() {
        let share = (left / (by_size.len() - done) as u64).min(space.size());
        left -= share;
        if share == space.size() {
            checks.extend((0..share).map(|index| space.check(index, None)));
        } else {
            let mut chosen = HashSet::new();
            while (chosen.len() as u64) < share {
                chosen.insert(random.below(space.size()));
            }
            let mut chosen: Vec<_> = chosen.into_iter().collect();
            chosen.sort_unstable();
            for index in chosen {
                // There is no room for more client IDs later, and the few fixed ones can all be on one side of a rollout.
                let client = (space.is_staged && space.has_client(index)).then(|| random.client_id());
                checks.push(space.check(index, client));
            }
        }
    }
    // Rollouts decide by client ID: more of them are more to see.
    let staged: Vec<&Space> = spaces.iter().filter(|space| space.is_staged).collect();
    for number in 0..if staged.is_empty() { 0 } else { left } {
        let space = staged.get(usize::try_from(number).unwrap_or(0) % staged.len());
        checks.extend(space.map(|space| space.check(random.below(space.size()), Some(random.client_id()))));
    }
    Generated { checks, combinations: spaces.iter().map(Space::size).sum() }
}

/// What can be combined for a deployment.
struct Space<'d> {
    index: usize,
    deployment: &'d Deployment,
    versions: Vec<String>,
    devices: Vec<Device>,
    clients: u64,
    is_staged: bool,
}

/// What a device runs: label and hash, as far as it sends them.
type Device = (Option<String>, Option<String>);

/// How a device asks.
const SHAPES: u64 = 4;

impl<'d> Space<'d> {
    fn of(index: usize, deployment: &'d Deployment) -> Self {
        let releases = &deployment.releases;
        let unknown = || Some(Sha256Hex::of(b"a package that no release has").to_string());
        let mut devices: Vec<Device> =
            vec![(None, None), (None, unknown()), (Some("v999999998".to_owned()), None), (Some("v999999998".to_owned()), unknown())];
        for release in releases {
            let (label, hash) = (Some(release.label.to_string()), Some(release.package_hash.to_string()));
            devices.extend([(label.clone(), hash.clone()), (None, hash), (label, None)]);
        }
        let mut seen = HashSet::new();
        devices.retain(|device| seen.insert(device.clone()));
        let is_staged = releases.iter().any(|release| !release.is_disabled && release.rollout.is_some_and(|rollout| rollout < 100));
        let clients = if is_staged { CLIENTS } else { FEW_CLIENTS };
        Self { index, deployment, versions: versions(releases), devices, clients, is_staged }
    }

    fn size(&self) -> u64 {
        self.versions.len() as u64 * self.devices.len() as u64 * self.clients * SHAPES
    }

    /// Whether the combination with this number has a client ID.
    fn has_client(&self, index: u64) -> bool {
        !(index / SHAPES).is_multiple_of(self.clients)
    }

    /// The combination with this number, with another client ID if one is given.
    fn check(&self, index: u64, client: Option<String>) -> Check {
        let mut rest = index;
        let mut next = |count: u64| {
            let one = rest % count.max(1);
            rest /= count.max(1);
            usize::try_from(one).unwrap_or(0)
        };
        let (shape, number) = (next(SHAPES), next(self.clients));
        let device = self.devices.get(next(self.devices.len() as u64));
        let version = self.versions.get(next(self.versions.len() as u64)).map_or("1.0.0", String::as_str);
        let (label, hash) = device.cloned().unwrap_or_default();
        // A fixed ID per number: the same device, asking from different states.
        let client = client.or_else(|| (number > 0).then(|| Random(number as u64).client_id()));
        let key = self.deployment.key.as_str();
        let (path, names) = if matches!(shape, 0 | 3) {
            (NEW, ["deployment_key", "app_version", "package_hash", "label", "client_unique_id", "is_companion"])
        } else {
            (OLD, ["deploymentKey", "appVersion", "packageHash", "label", "clientUniqueId", "isCompanion"])
        };
        // SDKs of the older family also send parameters that are empty.
        let sends_empty = shape == 2;
        let companion = (shape == 3).then(|| "true".to_owned());
        let values = [Some(key.to_owned()), Some(version.to_owned()), hash, label, client, companion];
        let mut sent = Vec::new();
        for (name, value) in names.into_iter().zip(values) {
            // None of them sends an empty client ID.
            let is_sent = value.is_some() || (sends_empty && !name.starts_with("client"));
            if is_sent {
                let value = value.unwrap_or_default();
                sent.push(format!("{name}={}", utf8_percent_encode(&value, NOT_IN_QUERY)));
            }
        }
        Check { deployment: self.index, path, query: sent.join("&") }
    }
}

/// What is encoded in a value.
const NOT_IN_QUERY: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// App versions inside, at both ends of, below and above every range; also short ones and pre-releases.
fn versions(releases: &[HistoryRelease]) -> Vec<String> {
    let mut found: BTreeSet<String> = ["0.0.1", "1.0.0", "1.0", "1", "999.0.0"].map(str::to_owned).into();
    let ranges: BTreeSet<&str> = releases.iter().map(|release| release.range.as_str()).collect();
    for range in ranges {
        let Ok(range) = Range::parse(range) else { continue };
        let bounds = range.canonical().split(['|', ' ']).map(|part| part.trim_start_matches(['<', '>', '=', '^', '~'])).collect::<Vec<_>>();
        for bound in bounds.iter().filter_map(|bound| parse_strict(bound)) {
            let (major, minor, patch) = (bound.major, bound.minor, bound.patch);
            let full = |major: u64, minor: u64, patch: u64| format!("{major}.{minor}.{patch}");
            found.insert(bound.to_string());
            found.insert(full(major, minor, patch));
            found.insert(full(major, minor, patch + 1));
            found.insert(full(major, minor + 1, 0));
            found.insert(full(major + 1, 0, 0));
            found.insert(format!("{major}.{minor}"));
            found.insert(format!("{major}.{minor}.{patch}-rc.1"));
            found.insert(match (major, minor, patch) {
                (0, 0, 0) => "0.0.0-alpha".to_owned(),
                (major, 0, 0) => full(major - 1, 99, 99),
                (major, minor, 0) => full(major, minor - 1, 99),
                (major, minor, patch) => full(major, minor, patch - 1),
            });
        }
    }
    found.into_iter().collect()
}

/// Reproducible randomness (splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    fn client_id(&mut self) -> String {
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            self.below(1 << 32),
            self.below(1 << 16),
            self.below(1 << 12),
            self.below(1 << 12),
            { self.below(1 << 48) }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::release;
    use super::*;

    fn deployment(releases: Vec<HistoryRelease>) -> Deployment {
        Deployment::new("ada:App/Production".to_owned(), "key-of-production".parse().unwrap(), releases, None)
    }

    #[test]
    fn checks_cover_every_kind_and_are_reproducible() {
        let mut staged = release(2, "^1.2.3");
        staged.rollout = Some(25);
        let deployments = [deployment(vec![staged, release(1, ">=1.0.0 <2.1.0")]), deployment(vec![release(1, "*")])];
        let generated = generate(&deployments, 10_000, 1);
        assert_eq!(generated.checks, generate(&deployments, 10_000, 1).checks);
        assert_eq!(generated.checks.len(), 10_000, "filled up with client IDs");
        assert!(generated.is_all() && generated.combinations < 10_000, "{}", generated.combinations);
        let few = generate(&deployments, 500, 1);
        assert!(!few.is_all() && few.checks.len() == 500 && few.checks != generate(&deployments, 500, 2).checks);
        let of = |index| few.checks.iter().filter(|check| check.deployment == index).count();
        assert_eq!((of(0), of(1)), (250, 250));
        for check in &generated.checks {
            assert!(check.request().is_some(), "{}", check.target());
        }
        let has = |part: &str| generated.checks.iter().any(|check| check.target().contains(part));
        for part in [
            "app_version=1.2.2&",
            "app_version=1.2.3&",
            "app_version=1.2&",
            "app_version=2.0.0&",
            "app_version=1.2.3-rc.1&",
            "app_version=2.1.0&",
            "app_version=2.0.99&",
            "packageHash=&label=&",
            "is_companion=true",
            "label=v2",
            "label=v999999998",
        ] {
            assert!(has(part), "{part}");
        }
    }

    #[test]
    fn checks_of_a_long_history_with_a_rollout_have_many_client_ids() {
        let mut staged = release(13, "^1.2.3");
        staged.rollout = Some(25);
        let releases = std::iter::once(staged).chain((1..13).rev().map(|number| release(number, "^1.2.3"))).collect();
        let generated = generate(&[deployment(releases)], 100, 1);
        assert!(!generated.is_all() && generated.checks.len() == 100);
        let client = |check: &Check| {
            let query = check.target().replace("clientUniqueId=", "client_unique_id=");
            query.split_once("client_unique_id=").and_then(|(_, rest)| rest.split('&').next().map(str::to_owned))
        };
        let clients: HashSet<_> = generated.checks.iter().filter_map(client).collect();
        assert!(clients.len() > 50, "{} client IDs", clients.len());
    }

    #[test]
    fn without_rollouts_all_combinations_are_fewer() {
        let generated = generate(&[deployment(vec![release(1, "1.0.0")])], 10_000, 1);
        assert!(generated.is_all() && (generated.checks.len() as u64) == generated.combinations);
        assert!(generated.checks.len() > 100 && generated.checks.len() < 10_000, "{}", generated.checks.len());
        let distinct: HashSet<_> = generated.checks.iter().collect();
        assert_eq!(distinct.len(), generated.checks.len());
    }
}
