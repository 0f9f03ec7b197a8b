//! What devices with an earlier release download, on a release's page.

use shared::hash::PackageHash;
use shared::time::UnixMillis;

use super::place::{self, Link};
use crate::domain::diffs::Problem;
use crate::domain::diffs::listing::{Line, Listing, Obstacle, State};
use crate::domain::error::Result;
use crate::domain::releases::service::label as label_of;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::present;
use crate::infra::dates::RelativeTime;

/// The labels that a row shows.
const MAX_LABELS: usize = 5;
/// How much of a package hash a row shows, in digits.
const SHORT: usize = 12;

/// The diffs of a release.
pub(super) struct View {
    /// What has to be repaired, and how.
    pub faults: Vec<Fault>,
    /// What is special about the release.
    pub remarks: Vec<String>,
    /// What the rows are.
    pub lead: String,
    /// A row for each earlier package.
    pub rows: Vec<Row>,
}

/// Something that has to be repaired.
pub(super) struct Fault {
    /// What happened.
    pub what: String,
    /// When it was found.
    pub found: Option<RelativeTime>,
    /// From when on it is looked at again, if it is: it may have been repaired.
    pub again: Option<RelativeTime>,
    /// What to do.
    pub advice: &'static str,
}

/// What devices with an earlier package download.
pub(super) struct Row {
    /// The releases with this package, newest first.
    pub releases: Vec<Link>,
    /// What to add to them, or to say instead if there is none.
    pub more: String,
    /// What such devices download.
    pub download: String,
}

/// The view of a release's diffs.
pub(super) fn view(frame: &Frame, (app, deployment): (&str, &str), listing: &Listing, is_making: bool) -> Result<View> {
    let rows =
        listing.diffs.iter().map(|line| row(frame, (app, deployment), (listing.full_size, is_making), line)).collect::<Result<Vec<_>>>()?;
    let is_pending = listing.diffs.iter().any(|line| line.state == State::Pending);
    let mut remarks: Vec<String> = listing.reason.iter().map(|reason| reason.sentence(listing.label)).collect();
    if is_pending && !is_making {
        remarks.push("This service makes no diffs (UPDRAFT_DIFFS is off), so devices download the whole bundle.".to_owned());
    }
    let lead = if listing.is_offered {
        let full_size = view::bytes(listing.full_size);
        format!("What devices with these releases download. All others download the whole bundle, {full_size}.")
    } else {
        "These diffs were made before. They are deleted after a week, unless devices can be offered the release again.".to_owned()
    };
    Ok(View { faults: faults(frame, listing)?, remarks, lead, rows })
}

fn row(frame: &Frame, (app, deployment): (&str, &str), (full_size, is_making): (i64, bool), line: &Line) -> Result<Row> {
    let shown = line.labels.iter().take(MAX_LABELS).map(|number| -> Result<Link> {
        let label = label_of(*number)?;
        Ok(Link { text: label.to_string(), address: frame.path(&place::release(app, deployment, label)), is_current: false })
    });
    let more = match line.labels.len() {
        0 => format!("Package {}…, which is no longer in the history", short(&line.source_hash)),
        count if count > MAX_LABELS => format!(" and {} more", view::grouped(i64::try_from(count - MAX_LABELS).unwrap_or(i64::MAX))),
        _ => String::new(),
    };
    let full = view::bytes(full_size);
    let download = match &line.state {
        State::Ready(size) => format!("{} instead of {full} ({})", view::bytes(*size), view::share(*size, full_size)),
        State::Pending if is_making => format!("{full}, until the diff is made"),
        State::Pending => format!("{full}: no diffs are made"),
        State::Missing(obstacle) => format!("{full}: {obstacle}"),
    };
    Ok(Row { releases: shown.collect::<Result<Vec<_>>>()?, more, download })
}

fn short(hash: &PackageHash) -> String {
    hash.to_string().chars().take(SHORT).collect()
}

/// Each problem that needs a repair, once.
fn faults(frame: &Frame, listing: &Listing) -> Result<Vec<Fault>> {
    let label = listing.label;
    let mut faults = Vec::new();
    for problem in [Problem::TargetDamaged, Problem::BaseDamaged, Problem::NotApplicable, Problem::Unfinished] {
        let found = listing.diffs.iter().filter_map(|line| match &line.state {
            State::Missing(obstacle) if obstacle.problem == problem => Some((line, obstacle)),
            _ => None,
        });
        let lines: Vec<(&Line, &Obstacle)> = found.collect();
        let Some(advice) = present::diff_advice(problem).filter(|_| !lines.is_empty()) else { continue };
        let names = lines.iter().map(|(line, _)| match line.labels.first() {
            Some(number) => label_of(*number).map(|label| label.to_string()),
            None => Ok(short(&line.source_hash)),
        });
        let names = names.collect::<Result<Vec<_>>>()?.join(", ");
        let what = match problem {
            Problem::TargetDamaged => format!("The stored bundle of {label} is missing or damaged, so no diffs can be made."),
            Problem::BaseDamaged => format!("There is no diff from {names}: the stored bundle is missing or damaged."),
            Problem::Unfinished => {
                format!("There is no diff from {names}: the server stopped again and again while it made the diff, or it took too long.")
            }
            _ => format!("There is no diff from {names}: applying it did not give the files of {label}, so it is not offered."),
        };
        // If several were found, the last one says most.
        let time = |of: fn(&Obstacle) -> Option<UnixMillis>| {
            lines.iter().filter_map(|(_, obstacle)| of(obstacle)).max().map(|time| RelativeTime::of(time, frame.now()))
        };
        faults.push(Fault { what, found: time(|obstacle| obstacle.found), again: time(|obstacle| obstacle.retry), advice });
    }
    Ok(faults)
}
