//! What a device has reported about each label, as the compact JSON in `report_clients.flags`:
//! `{"<deployment id>":{"e":<epoch>,"l":{"<label number>":<bits>}}}`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::ids::DeploymentId;
use shared::keys::Label;

use super::rules::Epochs;

/// What a device can report about a label; each counts once per device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// The device has downloaded the release.
    Downloaded,
    /// The release ran.
    Installed,
    /// The device rolled back from the release.
    Failed,
}

impl Flag {
    const fn bit(self) -> u8 {
        match self {
            Self::Downloaded => 1,
            Self::Installed => 2,
            Self::Failed => 4,
        }
    }
}

/// The flags of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Flags(BTreeMap<DeploymentId, DeploymentFlags>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DeploymentFlags {
    #[serde(rename = "e")]
    epoch: i64,
    #[serde(rename = "l")]
    labels: BTreeMap<u32, u8>,
}

impl Flags {
    /// Sets a flag; false when it was already set. Flags of another epoch count as absent and are removed.
    pub fn raise(&mut self, deployment: &DeploymentId, epoch: i64, label: Label, flag: Flag) -> bool {
        let of = self.0.entry(deployment.clone()).or_insert_with(|| DeploymentFlags { epoch, labels: BTreeMap::new() });
        if of.epoch != epoch {
            *of = DeploymentFlags { epoch, labels: BTreeMap::new() };
        }
        let bits = of.labels.entry(label.number()).or_default();
        let was_set = *bits & flag.bit() != 0;
        *bits |= flag.bit();
        !was_set
    }

    /// Removes what counts as absent: flags of deleted deployments and of older epochs.
    pub fn prune(&mut self, epochs: &Epochs) {
        self.0.retain(|deployment, of| epochs.get(deployment) == Some(&of.epoch));
    }

    /// The deployments with flags.
    pub fn deployments(&self) -> impl Iterator<Item = &DeploymentId> {
        self.0.keys()
    }
}
