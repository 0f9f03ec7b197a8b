//! Under which name a binary version is counted: its own, as long as its deployment has room, else [`OTHER`].
//!
//! This is the one part of counting in which the first come are served first; once given, a name stays with the version for the epoch.

use std::collections::{BTreeMap, BTreeSet};

use shared::ids::DeploymentId;
use shared::keys::Label;

use super::counting::{Changes, OTHER, Place};
use super::repo;
use crate::db::WriteTx;
use crate::metrics;

/// The buckets of a batch's binary versions, by deployment and version.
#[derive(Debug, Default)]
pub struct Buckets(BTreeMap<(DeploymentId, String), String>);

impl Buckets {
    /// The bucket of one version.
    pub fn of(&self, deployment: &DeploymentId, version: &str) -> String {
        self.0.get(&(deployment.clone(), version.to_owned())).map_or(OTHER, String::as_str).to_owned()
    }
}

/// Finds or gives the buckets of these versions, each as the [`Place`] it would have alone. A bucket that is new is added to `changes`
/// with zeros: its row then exists whether or not a report turns out too late to move its client, so that the rows shown depend on the
/// set of reports only.
pub async fn find(tx: &mut WriteTx, wanted: &BTreeSet<Place>, most: usize, changes: &mut Changes) -> sqlx::Result<Buckets> {
    let mut buckets = BTreeMap::new();
    // A binary that calls itself v3 must not be taken for the release; nor may such names pass the limit by looking like labels.
    let (plain, odd): (Vec<&Place>, Vec<&Place>) =
        wanted.iter().partition(|place| place.bucket != OTHER && Label::try_from(place.bucket.as_str()).is_err());
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
            // Two replicas may both see the last free name, so the deployment is locked and asked again. That happens at most `most` times
            // per epoch: once all names are given, nobody gets here. Locks are taken in the order of the ids, before those of clients.
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
    Ok(places.into_iter().filter(|place| place != OTHER && Label::try_from(place.as_str()).is_err()).collect())
}
