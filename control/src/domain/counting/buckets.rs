//! Under which name a binary version is counted: its own, as long as its deployment has room, else [`OTHER`].
//!
//! This is the one part of counting in which the first come are served first. Once all names are given, an hourly job sees to it that the versions with the
//! most devices have them ([`super::versions`]).

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::DeploymentId;
use shared::keys::Label;

use super::repo;
use super::rules::{Changes, Event, OTHER, Place};
use crate::domain::counting::counters as metrics;
use crate::infra::db::WriteTx;

/// The buckets of a batch's binary versions, by deployment and version.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<(DeploymentId, String), String>);

impl Buckets {
    /// What a report of a binary says, which would have this place if there were room for all.
    pub fn of(&self, wanted: &Place) -> Event {
        match self.0.get(&(wanted.deployment.clone(), wanted.bucket.clone())) {
            Some(bucket) => Event::Binary { bucket: bucket.clone(), waiting: None },
            None => Event::Binary { bucket: OTHER.to_owned(), waiting: is_name(&wanted.bucket).then(|| wanted.bucket.clone()) },
        }
    }
}

/// Finds or gives the buckets of these versions, each as the [`Place`] it would have alone. A bucket that is new is added to `changes`
/// with zeros: its row then exists whether or not a report turns out too late to move its client, so that the rows shown depend on the
/// set of reports only.
pub async fn find(tx: &mut WriteTx, wanted: &BTreeSet<Place>, most: usize, changes: &mut Changes) -> sqlx::Result<Buckets> {
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
        if taken.len() < most {
            // Two replicas may both see the last free name, so the deployment is locked and asked again. That happens seldom:
            // once all names are given, nobody gets here. Locks are taken in the order of the ids, before those of clients.
            repo::lock_deployment(tx, deployment).await?;
            taken = binary_versions(tx, deployment, epoch).await?;
        }
        for place in places {
            let has_room = taken.len() < most;
            if taken.contains(&place.bucket) || (has_room && taken.insert(place.bucket.clone())) {
                changes.at(deployment, epoch, place.bucket.clone());
                buckets.insert((deployment.clone(), place.bucket.clone()), place.bucket.clone());
            } else {
                others.insert((deployment, epoch));
            }
        }
    }
    for (deployment, epoch) in others {
        changes.at(deployment, epoch, OTHER.to_owned());
    }
    Ok(Buckets(buckets))
}

async fn binary_versions(tx: &mut WriteTx, deployment: &DeploymentId, epoch: i64) -> sqlx::Result<BTreeSet<String>> {
    let places = metrics::repo::places(tx, deployment, epoch).await?;
    Ok(places.into_iter().filter(|place| is_name(place)).collect())
}

/// Whether a binary version may have a counter of this name. One that calls itself v3 must not be taken for the release; nor may such names pass the limit by
/// looking like labels.
pub fn is_name(version: &str) -> bool {
    version != OTHER && Label::try_from(version).is_err()
}
