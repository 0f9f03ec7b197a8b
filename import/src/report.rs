//! What an import says at its end.

mod planned;

use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};
use shared::keys::Label;
use shared::text::shell;

use crate::packages::Packages;
use crate::plan::{Plan, Remark, printable};
use crate::room::{Differences, Room};
use planned::Planned;

/// What became of a collaborator of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Joined {
    /// Has an account here, and access.
    Added,
    /// Has no access: the app was imported before, and only its first import adds collaborators.
    NotAdded,
    /// Has no account here: gets access when somebody confirms the address.
    Awaited,
    /// Cannot have an account: the address is none that mail can be sent to.
    NoAddress,
}

/// What became of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "camelCase")]
pub enum Outcome {
    /// It is the source's now.
    Imported {
        /// Releases that were not here.
        added: usize,
        /// Releases that were changed at the source.
        updated: usize,
        /// Releases that were changed here and there, and keep what they have here.
        kept: Vec<Label>,
    },
    /// Releases have another package at the source than here: nothing was changed.
    OtherPackages {
        /// Their labels.
        labels: Vec<Label>,
    },
    /// Somebody has released here, or cleared the history: nothing was changed.
    #[serde(rename = "hasOwnReleases")]
    HasOwn,
}

/// An import, or a dry run. Its text is for people, its JSON for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    source: String,
    account: String,
    apps: usize,
    deployments: usize,
    releases: usize,
    /// New packages, and their size in bytes.
    packages: usize,
    bytes: u64,
    /// Whether all of them were downloaded and checked.
    has_all_packages: bool,
    /// Where downloaded packages are kept until they are imported.
    #[serde(skip)]
    pub(crate) folder: Option<String>,
    /// Whether none was, because the target refuses the import anyway.
    #[serde(skip)]
    pub(crate) are_packages_unchecked: bool,
    /// What raises the limit of a package's size, if one is larger.
    #[serde(skip)]
    pub(crate) larger_packages: Option<String>,
    /// What breaks a rule here: nothing was written if there is any.
    pub problems: Vec<Remark>,
    /// Whether the import is possible without some of the releases.
    pub can_leave_out: bool,
    /// Releases that are left out on request.
    pub left_out: Vec<Remark>,
    /// Releases that are here, and about which the source now says something that cannot be taken over.
    pub(crate) kept: Vec<Remark>,
    /// What is carried over in another form.
    notes: Vec<Remark>,
    /// What an import would do.
    planned: Vec<Planned>,
    /// Apps that were imported earlier, and that the key does not see now: their names here.
    pub(crate) unseen: Vec<String>,
    /// What was written; `None` if nothing was.
    pub imported: Option<Vec<Imported>>,
}

/// An app that was imported.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Its name here.
    pub name: String,
    /// Its deployments.
    pub deployments: Vec<ImportedDeployment>,
    /// Deployments here that the source does not have any more.
    pub gone: Vec<String>,
    /// The collaborators of the source, other than the owner here.
    #[serde(serialize_with = "by_email")]
    pub collaborators: Vec<(String, Joined)>,
}

/// A deployment that was imported.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedDeployment {
    /// Its name here.
    pub name: String,
    /// How many releases the source has.
    pub releases: usize,
    /// The oldest one.
    pub first: Option<Label>,
    /// The newest one.
    pub last: Option<Label>,
    /// Releases whose package hash covers directory entries.
    pub marked: Vec<Label>,
    /// What of its history differs from the one here, and was not taken over.
    pub differences: Differences,
    /// What became of its history.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl ImportedDeployment {
    /// Whether it was left as it was.
    fn is_left_alone(&self) -> bool {
        self.outcome == Outcome::HasOwn || self.differences.is_cleared
    }
}

impl Report {
    /// Of a plan whose packages were checked.
    pub fn new(source: &str, account: &str, plan: &Plan, packages: &Packages) -> Self {
        let deployments = || plan.apps.iter().flat_map(|app| &app.deployments);
        Self {
            source: source.to_owned(),
            account: account.to_owned(),
            apps: plan.apps.len(),
            deployments: deployments().count(),
            releases: deployments().map(|deployment| deployment.releases.len()).sum(),
            packages: packages.count(),
            bytes: packages.bytes(),
            has_all_packages: !packages.is_cut(),
            folder: None,
            are_packages_unchecked: false,
            larger_packages: None,
            problems: Vec::new(),
            can_leave_out: false,
            left_out: Vec::new(),
            kept: Vec::new(),
            notes: plan.notes.clone(),
            planned: Vec::new(),
            unseen: Vec::new(),
            imported: None,
        }
    }

    /// Notes what an import of this plan would do.
    pub(crate) fn plan(&mut self, plan: &Plan, room: &Room) {
        self.planned = plan.apps.iter().map(|app| Planned::new(app, room)).collect();
    }

    /// What was found and would be imported, with a line for each deployment. For the question before an import.
    pub fn offer(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.write_found(&mut text);
        let _ = self.write_planned(&mut text);
        text
    }

    fn write_planned(&self, formatter: &mut impl fmt::Write) -> fmt::Result {
        writeln!(formatter, "\nWould be imported into the account {}:", printable(&self.account))?;
        self.planned.iter().try_for_each(|app| write!(formatter, "{app}"))?;
        self.write_unseen(formatter)
    }

    fn write_unseen(&self, formatter: &mut impl fmt::Write) -> fmt::Result {
        if self.unseen.is_empty() {
            return Ok(());
        }
        let names = printable(&self.unseen.join(", "));
        writeln!(formatter, "\nImported earlier, but this key does not see them on the other server now: {names}. They stay as they are.")
    }

    fn write_found(&self, formatter: &mut impl fmt::Write) -> fmt::Result {
        let Self { source, apps, deployments, releases, packages, bytes, .. } = self;
        writeln!(
            formatter,
            "Found at {source}: apps {apps}, deployments {deployments}, releases {releases}, new packages {packages} ({bytes} bytes)."
        )?;
        if *apps == 0 {
            writeln!(formatter, "The key sees no apps. Does it belong to the account that has them?")?;
        }
        list(formatter, "Carried over in another form:", &self.notes)?;
        list(formatter, "Kept as they are here, because what the other server says about them now cannot be taken over:", &self.kept)?;
        list(formatter, "Left out, because an upload here would be refused:", &self.left_out)?;
        self.write_larger_packages(formatter, !self.left_out.is_empty())
    }

    fn write_larger_packages(&self, formatter: &mut impl fmt::Write, is_here: bool) -> fmt::Result {
        let text = self.larger_packages.as_ref().filter(|_| is_here);
        text.map_or(Ok(()), |text| writeln!(formatter, "  {text}"))
    }

    /// Whether the source has no deployments at all.
    pub fn is_empty(&self) -> bool {
        self.deployments == 0
    }

    /// The address of the other server.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether nothing blocks the import.
    pub fn is_possible(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether some deployments were left as they were, because of what was done here or there since.
    pub fn leaves_some_alone(&self) -> bool {
        self.imported.iter().flatten().flat_map(|app| &app.deployments).any(ImportedDeployment::is_left_alone)
    }

    /// What was not imported although nothing blocked it; `None` if everything was.
    pub fn objection(&self) -> Option<&'static str> {
        let mut deployments = self.imported.iter().flatten().flat_map(|app| &app.deployments);
        let differs = deployments.any(|deployment| matches!(deployment.outcome, Outcome::OtherPackages { .. }));
        differs.then_some("some histories were not changed: their releases have other packages at the other server; they are named above")
    }
}

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.write_found(formatter)?;
        list(formatter, "What blocks the import:", &self.problems)?;
        self.write_larger_packages(formatter, self.left_out.is_empty())?;
        if !self.is_possible() {
            writeln!(formatter, "\nNothing was imported.")?;
            if self.are_packages_unchecked {
                writeln!(formatter, "The packages were not downloaded. --dry-run downloads and checks them, too.")?;
            }
            if let Some(folder) = &self.folder {
                writeln!(formatter, "Downloaded packages are kept for the next run in {folder}")?;
            }
            if self.can_leave_out {
                writeln!(formatter, "--leave-out-refused imports the rest without the releases named above.")?;
            }
            return Ok(());
        }
        let Some(imported) = &self.imported else {
            self.write_planned(formatter)?;
            writeln!(formatter, "\nThe import is possible. Nothing was imported: this was a dry run.")?;
            if let Some(folder) = &self.folder {
                writeln!(formatter, "The packages are kept for the import in {folder}")?;
            }
            return Ok(());
        };
        writeln!(formatter, "\nImported into the account {}:", printable(&self.account))?;
        for app in imported {
            write_empty(formatter, &app.name, app.deployments.is_empty())?;
            app.deployments.iter().try_for_each(|deployment| write_deployment(formatter, &app.name, deployment))?;
            app.gone.iter().try_for_each(|name| write_gone(formatter, &app.name, name))?;
        }
        self.write_unseen(formatter)?;
        write_rest(formatter, imported)
    }
}

fn list(formatter: &mut impl fmt::Write, title: &str, remarks: &[Remark]) -> fmt::Result {
    if remarks.is_empty() {
        return Ok(());
    }
    writeln!(formatter, "\n{title}")?;
    remarks.iter().try_for_each(|remark| writeln!(formatter, "  {}: {}", remark.place, printable(&remark.text)))
}

fn by_email<S: Serializer>(collaborators: &[(String, Joined)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(collaborators.iter().map(|(email, joined)| (email, joined)))
}

fn write_deployment(formatter: &mut Formatter<'_>, app: &str, deployment: &ImportedDeployment) -> fmt::Result {
    let ImportedDeployment { name, releases, first, last, marked, differences, outcome } = deployment;
    // Of a deployment that is left alone, these are the other server's and not those that are here.
    let there = if deployment.is_left_alone() { "on the other server " } else { "" };
    write!(formatter, "  {app} / {name}: {there}{}", range(*releases, *first, *last))?;
    match outcome {
        Outcome::Imported { .. } if differences.is_cleared => {
            writeln!(formatter, "; left alone, because {}", cleared(&differences.gone))?;
            let (name, app) = (shell::quoted(name), shell::option("--app", app));
            writeln!(
                formatter,
                "    To take that over, delete the deployment here, whose key stays yours, and import again: `updraft deployment delete {name} {app}`."
            )?;
        }
        Outcome::Imported { added: 0, updated: 0, .. } => writeln!(formatter, "; nothing new")?,
        Outcome::Imported { added, updated: 0, .. } => writeln!(formatter, "; new: {added}")?,
        Outcome::Imported { added, updated, .. } => writeln!(formatter, "; new: {added}, changed: {updated}")?,
        Outcome::HasOwn => {
            writeln!(formatter, "; left alone, because {OWN_RELEASES}{}", not_taken(differences))?;
            write_disable(formatter, app, name, &differences.disabled, "To disable one here, too")?;
        }
        Outcome::OtherPackages { labels } => writeln!(
            formatter,
            "; NOT changed, because {} has another package at the other server than here. If the history there was cleared, delete the deployment \
             here, keep its key, and import again",
            joined(labels)
        )?,
    }
    if let Outcome::Imported { kept, .. } = outcome
        && !kept.is_empty()
    {
        writeln!(formatter, "    Changed both here and on the other server, so they keep what they have here: {}.", joined(kept))?;
    }
    if !differences.not_taken.is_empty() && !deployment.is_left_alone() {
        let labels = joined(&differences.not_taken);
        writeln!(
            formatter,
            "    Not here, because an earlier import left them out: {labels}. To get them, delete the deployment here and import again."
        )?;
    }
    if !differences.gone.is_empty() && !deployment.is_left_alone() {
        let labels = joined(&differences.gone);
        writeln!(formatter, "    No longer on the other server, but devices that ask here still get them: {labels}.")?;
        write_disable(formatter, app, name, &differences.gone, "To disable one here")?;
    }
    if !marked.is_empty() {
        let labels = joined(marked);
        writeln!(
            formatter,
            "    The package hash of {labels} covers the archive's directory entries, as the old server computed it. It is kept: devices that run the \
             release report it. Their SDK cannot verify the package with it."
        )?;
    }
    Ok(())
}

/// What to say of a deployment that the source does not have any more.
const GONE: &str = "no longer on the other server, so devices that ask there get status 404. Devices that ask here still get its releases";

/// Says that the source has no deployments of an app.
fn write_empty(formatter: &mut Formatter<'_>, app: &str, is_empty: bool) -> fmt::Result {
    if is_empty { writeln!(formatter, "  {}: the other server has no deployments of this app", printable(app)) } else { Ok(()) }
}

fn write_gone(formatter: &mut Formatter<'_>, app: &str, deployment: &str) -> fmt::Result {
    writeln!(formatter, "  {}: {GONE}", printable(&format!("{app} / {deployment}")))?;
    let (deployment, app) = (shell::quoted(deployment), shell::option("--app", app));
    writeln!(formatter, "    If they should not, delete it here, too: `updraft deployment delete {deployment} {app}`.")
}

/// Why an import leaves a deployment alone.
const OWN_RELEASES: &str = "somebody has released here, or cleared its history here";

/// The same, if the history was cleared there.
fn cleared(here: &[Label]) -> String {
    let range = match here {
        [first, .., last] => format!("{first} to {last}"),
        _ => joined(here),
    };
    format!("its history was cleared on the other server. Devices that ask here still get {range}")
}

/// What of a history is not taken over, as the rest of a line.
fn not_taken(differences: &Differences) -> String {
    let part = |what: &str, labels: &[Label]| if labels.is_empty() { String::new() } else { format!("{what} {}", joined(labels)) };
    let Differences { not_taken, disabled, .. } = differences;
    format!(
        "{}{}",
        part(". Not taken over, by their labels there:", not_taken),
        part(". Disabled there, but not here, by their labels here:", disabled)
    )
}

/// The command that disables the first of these releases.
fn write_disable(formatter: &mut Formatter<'_>, app: &str, deployment: &str, labels: &[Label], why: &str) -> fmt::Result {
    let Some(label) = labels.first() else { return Ok(()) };
    let (app, deployment) = (shell::option("--app", app), shell::option("--deployment", deployment));
    writeln!(formatter, "    {why}: `updraft release disable {label} {app} {deployment}`.")
}

/// How many releases, and from which label to which.
fn range(releases: usize, first: Option<Label>, last: Option<Label>) -> String {
    match (first, last) {
        (Some(first), Some(last)) if first != last => format!("{releases} releases, {first} to {last}"),
        (Some(first), _) => format!("1 release, {first}"),
        _ => "no releases".to_owned(),
    }
}

fn joined(labels: &[Label]) -> String {
    labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What was not carried over.
fn write_rest(formatter: &mut Formatter<'_>, imported: &[Imported]) -> fmt::Result {
    // Of several apps, each with its own people.
    let with = |wanted: Joined| {
        let of_app = |app: &Imported| {
            let mut emails: Vec<&str> = Vec::new();
            for (email, _) in app.collaborators.iter().filter(|(_, joined)| *joined == wanted) {
                if !emails.contains(&email.as_str()) {
                    emails.push(email);
                }
            }
            let of = if imported.len() > 1 { format!("{}: ", app.name) } else { String::new() };
            (!emails.is_empty()).then(|| printable(&format!("{of}{}", emails.join(", "))))
        };
        imported.iter().filter_map(of_app).collect::<Vec<_>>().join("; ")
    };
    let (awaited, without) = (with(Joined::Awaited), with(Joined::NoAddress));
    let (added, not_added) = (with(Joined::Added), with(Joined::NotAdded));
    if !added.is_empty() {
        writeln!(formatter, "\nCollaborators with access: {added}.")?;
    }
    writeln!(formatter, "\nNot carried over: passwords, access keys and sessions. Everybody needs an account and keys here.")?;
    writeln!(formatter, "Counts are carried over as a starting level, and shown apart from what is counted here.")?;
    if !awaited.is_empty() {
        writeln!(
            formatter,
            "Collaborators without an account here: {awaited}. Anyone who confirms such an address within 90 days gets access."
        )?;
    }
    if !not_added.is_empty() {
        writeln!(
            formatter,
            "Collaborators who have no access, because only the first import of an app adds them: {not_added}. Add them by hand if they should."
        )?;
    }
    if !without.is_empty() {
        writeln!(formatter, "Collaborators whose address no account can have: {without}.")?;
    }
    let is_own = |deployment: &ImportedDeployment| deployment.outcome == Outcome::HasOwn;
    let mut deployments = imported.iter().flat_map(|app| &app.deployments).peekable();
    let next = if deployments.peek().is_some() && deployments.clone().all(is_own) {
        "Imports take over nothing more here: release here, too, what is released there."
    } else if deployments.any(is_own) {
        "Run the import again to take over what is released there, except for what is left alone: release that here, too, if devices should get it now."
    } else {
        "Run the import again to take over what is released there until your devices ask here."
    };
    writeln!(formatter, "\nThe other server was only read. {next}")
}
