//! Which counter a binary version gets: its own while its deployment has room, otherwise [`OTHER`].
//!
//! This is the only part of counting that is first come, first served. Once all counters are taken, an hourly job assigns them to the versions with the most
//! devices ([`super::versions`]).

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::DeploymentId;
use shared::keys::Label;

use super::rules::{Changes, Event, OTHER, Place};
use crate::domain::counting::counters as metrics;
use crate::domain::deployments;
use crate::infra::db::WriteTx;

/// The buckets of a batch's binary versions, by deployment and version.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<(DeploymentId, String), String>);

impl Buckets {
    /// The event for a binary report; `wanted` is the version's own place.
    pub fn of(&self, wanted: &Place) -> Event {
        match self.0.get(&(wanted.deployment.clone(), wanted.bucket.clone())) {
            Some(bucket) => Event::Binary { bucket: bucket.clone(), waiting: None },
            None => Event::Binary { bucket: OTHER.to_owned(), waiting: is_name(&wanted.bucket).then(|| wanted.bucket.clone()) },
        }
    }
}

/// Finds or assigns the buckets of these versions, each given as its own [`Place`]. A new bucket is added to `changes` with zeros, so its row exists even if
/// a report turns out too late to move its device. The visible rows thus depend only on the set of reports.
pub async fn find(tx: &mut WriteTx, wanted: &BTreeSet<Place>, max_named: usize, changes: &mut Changes) -> sqlx::Result<Buckets> {
    let mut buckets = BTreeMap::new();
    let (plain, odd): (Vec<&Place>, Vec<&Place>) = wanted.iter().partition(|place| is_name(&place.bucket));
    let existing = metrics::repo::existing(tx, &plain).await?;
    let mut missing: BTreeMap<(&DeploymentId, i64), Vec<&Place>> = BTreeMap::new();
    for place in plain {
        if existing.contains(place) {
            buckets.insert((place.deployment.clone(), place.bucket.clone()), place.bucket.clone());
        } else {
            missing.entry((&place.deployment, place.epoch)).or_default().push(place);
        }
    }
    let mut others: BTreeSet<(&DeploymentId, i64)> = odd.into_iter().map(|place| (&place.deployment, place.epoch)).collect();
    for ((deployment, epoch), places) in missing {
        let mut taken = binary_versions(tx, deployment, epoch).await?;
        if taken.len() < max_named {
            // Two replicas may both see the last free name, so the deployment is locked and the names are read again. This is rare: once all names are taken,
            // nobody gets here. Deployments are locked in the order of their IDs, before devices' rows.
            deployments::repo::lock(tx, deployment).await?;
            taken = binary_versions(tx, deployment, epoch).await?;
        }
        for place in places {
            let has_room = taken.len() < max_named;
            if taken.contains(&place.bucket) || (has_room && taken.insert(place.bucket.clone())) {
                changes.touch(place.clone());
                buckets.insert((deployment.clone(), place.bucket.clone()), place.bucket.clone());
            } else {
                others.insert((deployment, epoch));
            }
        }
    }
    for (deployment, epoch) in others {
        changes.touch(Place { deployment: deployment.clone(), epoch, bucket: OTHER.to_owned() });
    }
    Ok(Buckets(buckets))
}

async fn binary_versions(tx: &mut WriteTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<BTreeSet<String>> {
    let places = metrics::repo::places(tx, deployment, epoch).await?;
    Ok(places.into_iter().filter(|place| is_name(place)).collect())
}

/// Whether a binary version may have a counter with this name. A version called v3 must not be mistaken for the release, and such names must not bypass the
/// limit.
pub fn is_name(version: &str) -> bool {
    version != OTHER && Label::try_from(version).is_err()
}
