//! Why two answers differ, in words.

use std::fmt::{self, Display, Formatter};

use super::model::KnownFault;
use shared::keys::Label;

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Old,
    New,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }

    /// At the beginning of a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Old => "The old server",
            Self::New => "The new server",
        }
    }
}

/// A release that both servers have, by its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Named {
    pub(super) here: Label,
    pub(super) there: Label,
}

impl From<Label> for Named {
    fn from(label: Label) -> Self {
        Self { here: label, there: label }
    }
}

impl Display for Named {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let Self { here, there } = self;
        if here == there { write!(to, "{here}") } else { write!(to, "{here} ({there} on the old server)") }
    }
}

/// A release that differs between the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Differing {
    /// Both have it.
    Both(Named),
    /// Only this server has it, under this label.
    Only(Side, Label),
}

impl Display for Differing {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Both(named) => named.fmt(to),
            Self::Only(Side::Old, label) => write!(to, "{label} (on the old server only)"),
            Self::Only(Side::New, label) => write!(to, "{label} (here only)"),
        }
    }
}

/// What to do about a rollback that was made on the old server only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rollback {
    /// The next import takes it over.
    Import,
    /// Roll back to this release here.
    To(Label),
    /// Release the package of this release here again: the newest one is for other app versions, so that a rollback would be refused.
    Again(Label),
    /// Release its package, which is not here.
    Release,
}

/// Why two answers differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cause {
    Known(KnownFault),
    /// The reference fails on an app version that is no range.
    NoRange,
    /// Updraft refuses a parameter that is there twice.
    Repeated,
    /// One server sends a diff.
    Diff(Side),
    /// The same files, in archives of different sizes.
    PackedDifferently,
    /// Released on one server only, after the import or after the histories parted.
    Newer(Side, Label),
    /// A rollback that was made on the old server only, by its label there.
    RolledBack(Label, Rollback),
    /// Missing on one server.
    Missing(Side, Label),
    /// Not offered by the old server: missing, disabled, for other versions, or in a smaller rollout. The answers do not tell which.
    NotOffered(Label),
    /// The same, of a release that is newer here than the import.
    NewerNotOffered(Label),
    /// A property of the release differs. `true` if the histories say so, and not only the answers.
    Differs(Property, Named, bool),
    /// The same package under another label.
    OtherLabel(Named),
    /// Both have it, in another order among the releases.
    OtherOrder(Named),
    /// A mandatory release that only this server has makes an update that both offer mandatory.
    MandatoryBetween(Side, Label),
    /// This server does not know the release that a device is on, so older mandatory releases count for it.
    DeviceUnknown(Side),
    /// The label that a device sends stands for another release on each server.
    DeviceLabel,
    /// Each server offers a release that the other one does not have.
    OtherPackage(Named),
    /// The labels of a staged release differ, and with them the devices that are in it.
    Staged(Named),
    /// The old server's history is empty, and the one here is not.
    Cleared,
    /// Several releases differ.
    Several(Vec<Differing>),
    /// Several things about one release differ.
    SeveralOf(Named, Vec<Property>),
    /// None of these: the members that differ.
    Unexplained(Vec<&'static str>),
    /// The new server does not answer by its own releases: the members that differ.
    NotItsReleases(Vec<&'static str>),
    /// One server gives no usable answer.
    Failed(Side, Failure),
}

/// What can differ about a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Property {
    /// Disabled on this server only.
    Disabled(Side),
    Rollout,
    /// Mandatory on this server only.
    Mandatory(Side),
    Range,
    Description,
    Package,
}

/// Why there is no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Failure {
    RateLimit,
    Status(u16),
    Unreadable,
    Nothing(String),
}

/// What a cause means for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Failed,
    Unexplained,
    Explained,
}

impl Cause {
    pub(super) fn class(&self) -> Class {
        match self {
            Self::Failed(..) => Class::Failed,
            Self::Unexplained(_) | Self::NotItsReleases(_) => Class::Unexplained,
            _ => Class::Explained,
        }
    }

    /// Whether the old server's history would tell it more exactly.
    pub(super) fn is_vague(&self) -> bool {
        matches!(self, Self::NotOffered(_) | Self::NewerNotOffered(_))
    }

    /// One or two plain sentences.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Known(fault) => known(*fault).to_owned(),
            Self::NoRange => {
                "Known fault of the old server: it fails because its newest enabled release has a target version that is not a range."
                    .to_owned()
            }
            Self::Repeated => "The check has a parameter twice. Updraft refuses it with status 400; the old server does not.".to_owned(),
            Self::Diff(side) => format!("{} sends a diff, the other one the full package. Both lead to the same release.", side.name()),
            Self::PackedDifferently => {
                "Both servers have the same files, in archives of different sizes: different tools packed them. Devices end up with the same release."
                    .to_owned()
            }
            Self::Newer(Side::Old, label) => format!(
                "{label} was released on the old server after the import. Import again, or release it here if this deployment has releases of its own."
            ),
            Self::Newer(Side::New, label) => format!("{label} was released here after the import. The old server does not have it."),
            Self::RolledBack(label, advice) => {
                format!("{label} on the old server is a rollback, which was made there only. {}", rolled_back(*advice))
            }
            Self::Missing(Side::Old, label) => format!("{label} is missing on the old server."),
            Self::Missing(Side::New, label) => format!("{label} is missing here. The old server has it."),
            Self::NotOffered(label) => format!(
                "The old server does not offer {label}: it is missing or disabled there, or has a smaller rollout or other target versions."
            ),
            Self::NewerNotOffered(label) => format!(
                "{label} was released here after the import. The old server does not offer it: it may be missing, disabled or rolled back there."
            ),
            Self::Differs(property, release, is_certain) => differs(*property, *release, *is_certain),
            Self::OtherLabel(Named { here, there }) => format!(
                "Both servers offer the same package: {here} here is {there} on the old server. Devices go by the package, so there is nothing to do."
            ),
            Self::OtherOrder(release) => format!(
                "Both servers have the package of {release}, in another order among their releases. Devices of an app version that several \
                 releases are for get the newest of them. To fix it, release that one once more on both servers."
            ),
            Self::MandatoryBetween(side, label) => {
                let (only, where_) = if *side == Side::Old { ("the old server", "there") } else { ("this server", "here") };
                format!(
                    "{label}, which only {only} has, is mandatory: devices before it get the newer update {where_} as a mandatory one. \
                     There is nothing to release: both servers offer the same package."
                )
            }
            Self::DeviceUnknown(side) => format!(
                "{} does not know the device's release, so older mandatory releases count there, and the update is mandatory there only. Both \
                 servers offer the same package: there is nothing to do.",
                side.name()
            ),
            Self::DeviceLabel => "The device's label stands for another release on each server, so the update is mandatory on one of them only. \
                 Both servers offer the same package: there is nothing to do."
                .to_owned(),
            Self::OtherPackage(Named { here, there }) => format!(
                "{here} here has no counterpart on the old server, and {there} there has none here: each server has another package."
            ),
            Self::Staged(release) => format!(
                "{release} is in a staged rollout. The label decides which devices are in it, so each server chose others, as many of them."
            ),
            Self::Cleared => {
                "The old server's history is empty: it was cleared there. Devices that ask here still get what is here. If they should \
                 not, delete the deployment here, whose key stays yours, and import again."
                    .to_owned()
            }
            Self::Several(releases) => {
                let releases: Vec<_> = releases.iter().map(ToString::to_string).collect();
                format!("Several releases differ between the servers: {}.", releases.join(", "))
            }
            Self::SeveralOf(release, properties) => {
                let properties: Vec<_> = properties.iter().map(|property| noun(*property)).collect();
                format!("Several things about {release} differ between the servers: {}.", properties.join(", "))
            }
            Self::Unexplained(members) => format!("No reason found. Different: {}.", members.join(", ")),
            Self::NotItsReleases(members) => format!(
                "The new server's answer does not match its own releases. Does its address (--to) lead to this server, and not to the old one? Is its \
                 edge up to date? Different: {}.",
                members.join(", ")
            ),
            Self::Failed(side, failure) => failed(*side, failure),
        }
    }
}

fn known(fault: KnownFault) -> &'static str {
    match fault {
        KnownFault::LabelUndefined => {
            "Known fault of the old server: without a label, it does not recognize the device's release by its hash. Mandatory releases that \
             the device already has make the update mandatory there."
        }
        KnownFault::NewIsFound => {
            "Known fault of the old server: for a new installation, only the newest release decides whether the update is mandatory. Here \
             every mandatory release counts."
        }
        KnownFault::ClientUndefined => {
            "Known fault of the old server: devices without a client ID all enter a staged rollout together. Here they stay outside of it."
        }
        KnownFault::ShortVersionLost => {
            "Known fault of the old server: in a staged rollout it answers a short app version such as 1.0 with 1.0.0. Devices then download \
             the update at every start."
        }
        KnownFault::EmptyRange => "The release has an empty target version on the old server. Here it is *, which means the same.",
    }
}

/// What to do about a rollback on the old server.
fn rolled_back(advice: Rollback) -> String {
    match advice {
        Rollback::Import => "Import again.".to_owned(),
        Rollback::To(label) => format!("Its package is that of {label} here: `updraft release rollback --to {label}`."),
        Rollback::Again(label) => format!(
            "Its package is that of {label} here: release that one again, because the newest release here is for other app versions."
        ),
        Rollback::Release => "Its package is not here: release it here.".to_owned(),
    }
}

fn noun(property: Property) -> &'static str {
    match property {
        Property::Disabled(_) => "whether it is disabled",
        Property::Rollout => "rollout",
        Property::Mandatory(_) => "mandatory flag",
        Property::Range => "target versions",
        Property::Description => "description",
        Property::Package => "package",
    }
}

fn differs(property: Property, release: Named, is_certain: bool) -> String {
    let only = |side| match side {
        Side::Old => "on the old server only",
        Side::New => "here only",
    };
    match (property, is_certain) {
        (Property::Disabled(side), _) => format!("{release} is disabled {}.", only(side)),
        (Property::Rollout, _) => format!("The rollout of {release} differs."),
        (Property::Mandatory(side), true) => format!("{release} is mandatory {}.", only(side)),
        (Property::Mandatory(side), false) => {
            format!("{release}, or a release between it and the device's, is mandatory {}.", only(side))
        }
        (Property::Range, true) => format!("The target versions of {release} differ."),
        (Property::Range, false) => format!("The target versions of {release} differ, or the old server has a newer release."),
        (Property::Description, _) => format!("The description of {release} differs."),
        (Property::Package, _) => format!("{release} has another package on each server."),
    }
}

fn failed(side: Side, failure: &Failure) -> String {
    let name = side.name();
    match failure {
        Failure::RateLimit => format!("{name} limits the rate of requests (status 429). Use a lower --rate."),
        Failure::Status(404) => format!(
            "{name} does not know the deployment key, or has no update checks at this address (status 404). An import with --dry-run \
             says if the deployment's key was changed here."
        ),
        Failure::Status(status) => format!("{name} answers with status {status}."),
        Failure::Unreadable => format!("{name} answers with something that is no answer to an update check."),
        Failure::Nothing(text) => format!("{name} does not answer: {text}."),
    }
}
