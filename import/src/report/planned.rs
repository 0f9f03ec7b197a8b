//! What an import would do, for a dry run and for the question before an import.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;
use shared::keys::Label;

use super::{GONE, OWN_RELEASES, cleared, joined, not_taken, range, write_empty};
use crate::plan::{App, Deployment, Place, printable};
use crate::room::{Differences, Room};

/// An app that would be imported.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Planned {
    /// Its name at the source.
    name: String,
    deployments: Vec<PlannedDeployment>,
    /// Deployments here that the source does not have any more: their names here.
    gone: Vec<String>,
    /// Who would be added; nobody if the app was imported before.
    collaborators: Vec<String>,
}

/// A deployment that would be imported.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlannedDeployment {
    /// Its name at the source.
    name: String,
    /// The names of the app and the deployment here, if they are other ones.
    here: Option<(String, String)>,
    /// How many releases the source has.
    releases: usize,
    first: Option<Label>,
    last: Option<Label>,
    /// Releases that are not here.
    new: usize,
    /// Whether imports leave it alone.
    is_left_alone: bool,
    differences: Differences,
}

impl Planned {
    pub(super) fn new(app: &App, room: &Room) -> Self {
        let collaborators = app.collaborators.iter().map(|collaborator| collaborator.email.clone());
        Self {
            name: app.name.as_str().to_owned(),
            deployments: app.deployments.iter().map(|deployment| PlannedDeployment::new(app, deployment, room)).collect(),
            gone: room.gone(&app.source_name).to_vec(),
            collaborators: if room.knows(&app.source_name) { Vec::new() } else { collaborators.collect() },
        }
    }
}

impl PlannedDeployment {
    fn new(app: &App, deployment: &Deployment, room: &Room) -> Self {
        let place = |label| Place { app: app.source_name.clone(), deployment: Some(deployment.source_name.clone()), label };
        let other_names = room.other_names(&app.source_name, &deployment.source_name);
        Self {
            name: deployment.name.as_str().to_owned(),
            here: other_names.map(|(app, name)| (app.to_owned(), name.to_owned())),
            releases: deployment.releases.len(),
            first: deployment.releases.first().map(|release| release.label),
            last: deployment.releases.last().map(|release| release.label),
            new: deployment.releases.iter().filter(|release| !room.is_settled(&place(Some(release.label)))).count(),
            is_left_alone: room.leaves_alone(&place(None)),
            differences: room.differences(&app.source_name, deployment),
        }
    }

    fn effect(&self) -> String {
        let Differences { changed, not_taken: left_out, gone, is_cleared, .. } = &self.differences;
        if self.is_left_alone {
            return format!("; would be left alone, because {OWN_RELEASES}{}", not_taken(&self.differences));
        }
        if *is_cleared {
            return format!("; would be left alone, because {}", cleared(gone));
        }
        let new = match (self.releases, self.new) {
            (0, _) => String::new(),
            (_, 0) => "; nothing new".to_owned(),
            (_, new) => format!("; new: {new}"),
        };
        let part = |what: &str, labels: &[Label]| if labels.is_empty() { String::new() } else { format!("; {what} {}", joined(labels)) };
        let changed = part("taken over as far as it was not changed here:", changed);
        let left_out = part("not here, because an earlier import left them out:", left_out);
        format!("{new}{changed}{left_out}{}", part("no longer there, but devices that ask here still get", gone))
    }
}

impl Display for Planned {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, deployments, gone, collaborators } = self;
        write_empty(formatter, name, deployments.is_empty())?;
        for deployment in deployments {
            let here = deployment.here.as_ref().map(|(app, name)| format!(" (here {app} / {name})")).unwrap_or_default();
            let releases = range(deployment.releases, deployment.first, deployment.last);
            writeln!(formatter, "  {name} / {}{here}: {releases}{}", deployment.name, deployment.effect())?;
        }
        gone.iter().try_for_each(|deployment| writeln!(formatter, "  {}: {GONE}", printable(&format!("{name} / {deployment}"))))?;
        if collaborators.is_empty() {
            return Ok(());
        }
        writeln!(formatter, "  {}", printable(&format!("{name}: collaborators {}", collaborators.join(", "))))
    }
}
