//! A deployment's metrics: adoption, downloads, installs, failures and binary versions by day, and what changes now.
//!
//! Every chart is drawn from a table on the page (`charts.js`). The part for the last hour is also a page of its own, which replaces it every few seconds.

use std::cmp::Reverse;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use shared::FieldErrors;
use shared::keys::Label;
use shared::time::{UnixMillis, UtcDay};

use super::failing;
use super::place::{self, Link, Section};
use crate::domain::access::grant::ReadMetrics;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters::{self, repo::CounterRow};
use crate::domain::counting::history::days::DayRange;
use crate::domain::counting::history::summary::{self, Summary, SummaryDay};
use crate::domain::counting::recent::{self, Recent};
use crate::domain::error::Result;
use crate::domain::imports::{self, StartingLevel};
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::DeploymentPath;
use crate::http::extract::query::parameters;
use crate::infra::dates::{self, RelativeTime};

/// The ranges that links lead to, in days.
pub(super) const RANGES: [i64; 5] = [7, 14, 30, 90, 365];
/// The minutes of the part that is updated.
const LIVE_MINUTES: u16 = 60;

/// A number of a table: as people read it, and for the chart.
pub(super) struct Number {
    pub(super) plain: i64,
    pub(super) text: String,
}

impl Number {
    fn of(number: i64) -> Self {
        Self { plain: number, text: view::grouped(number) }
    }

    /// A change: with its sign.
    fn change(number: i64) -> Self {
        Self { plain: number, text: if number > 0 { format!("+{}", view::grouped(number)) } else { view::grouped(number) } }
    }
}

/// A row of a table with times.
pub(super) struct Row {
    /// For the chart.
    pub(super) iso8601: String,
    pub(super) time: String,
    /// `None` where it is not known.
    pub(super) numbers: Vec<Option<Number>>,
}

/// A range that a link leads to.
pub(super) struct RangeLink {
    pub(super) text: String,
    pub(super) address: String,
    pub(super) is_current: bool,
}

/// The last hour.
#[derive(Template)]
#[template(path = "dashboard/metrics_live.html")]
struct Live<'p> {
    /// Where its next version is.
    address: &'p str,
    time: String,
    rows: Vec<Row>,
    counts: Vec<CountRow>,
    /// The number of counters that are left out.
    hidden: usize,
    /// How much diffs have saved, if they have.
    saved: Option<String>,
}

/// The counts of a release or a binary version.
struct CountRow {
    name: String,
    /// The release's page.
    page: Option<String>,
    is_release: bool,
    active: String,
    share: String,
    /// The same as a whole number of percent, for the bar.
    percent: i64,
    downloaded: String,
    installed: String,
    failed: String,
    failure_rate: String,
    /// Whether it fails on many devices.
    is_failing: bool,
}

/// What the server that the deployment was imported from had counted.
struct Imported {
    source: String,
    time: RelativeTime,
    counts: Vec<CountRow>,
    /// The number of counters that are left out.
    hidden: usize,
}

#[derive(Template)]
#[template(path = "dashboard/metrics.html")]
struct Metrics<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    deployment: &'p str,
    live: Live<'p>,
    ranges: Vec<RangeLink>,
    from: String,
    to: String,
    /// What is wrong with the range that was asked for.
    error: Option<String>,
    step: i64,
    curves: Vec<String>,
    adoption: Vec<Row>,
    added: Vec<Row>,
    versions: Vec<String>,
    binaries: Vec<Row>,
    csv: String,
    imported: Option<Imported>,
}

/// A number of days in words.
pub(super) fn length(days: i64) -> String {
    if days == 365 { "1 year".to_owned() } else { format!("{days} days") }
}

/// The address of the page.
fn page_of(app: &str, deployment: &str) -> String {
    format!("{}/metrics", place::deployment(app, deployment))
}

/// The range of a query, and what is wrong with it.
fn range(query: &str) -> (DayRange, Option<String>) {
    let mut errors = FieldErrors::default();
    let [from, to] = parameters(query, ["from", "to"], &mut errors);
    let mut day =
        |name, value: Option<std::borrow::Cow<'_, str>>| errors.take(name, value.as_deref().map(UtcDay::try_from).transpose()).flatten();
    let asked = DayRange { from: day("from", from), to: day("to", to) };
    if !errors.is_empty() {
        return (DayRange::default(), Some("Write dates as YYYY-MM-DD.".to_owned()));
    }
    match (asked.from, asked.to) {
        (Some(from), Some(to)) if from > to => (DayRange::default(), Some("The first day must not be after the last one.".to_owned())),
        _ => (asked, None),
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let name = grant.called();
    let page = page_of(name, &deployment);
    let (asked, error) = range(query.as_deref().unwrap_or_default());
    let found = summary::read(&app, &grant, &deployment, &asked).await?;
    let address = frame.path(&format!("{page}/live"));
    let live = live(&app, &frame, &grant, &deployment, &address).await?;
    let level = imports::starting_level(&mut app.db.read().await?, &grant, &deployment).await?;
    let imported = level.filter(|level| !level.counts.is_empty()).map(|level| imported(&frame, level));
    let today = app.now().utc_day();
    let current = found.to.0 - found.from.0 + 1;
    let ranges = RANGES.map(|days| RangeLink {
        text: length(days),
        address: frame.path(&format!("{page}?from={}", today.plus_days(1 - days))),
        is_current: found.to == today && current == days,
    });
    view::page(&Metrics {
        frame: &frame,
        crumbs: place::crumbs(&frame, &[(name, place::app(name)), (&deployment, place::deployment(name, &deployment))]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        deployment: &deployment,
        live,
        ranges: ranges.into(),
        from: found.from.to_string(),
        to: found.to.to_string(),
        error,
        step: found.step,
        curves: curves(&found),
        adoption: adoption(&found),
        added: found
            .days
            .iter()
            .map(|day| row(day.date, (0..3).map(|index| day.added.and_then(|added| added.get(index).copied()).map(Number::of)).collect()))
            .collect(),
        versions: versions(&found),
        binaries: binaries(&found),
        imported,
        csv: frame.path(&format!("{page}/days.csv?from={}&to={}", found.from, found.to)),
    })
}

fn imported(frame: &Frame, level: StartingLevel) -> Imported {
    let row = |(place, counts): (String, import::source::Counts)| CounterRow {
        place,
        active: counts.active,
        downloaded: counts.downloaded,
        installed: counts.installed,
        failed: counts.failed,
        ..CounterRow::default()
    };
    // Without links: the source may have counts of releases that it does not have any more.
    let (counts, hidden) = counts(level.counts.into_iter().map(row).collect(), |_| String::new());
    Imported { source: level.source, time: RelativeTime::of(level.time, frame.now()), counts, hidden }
}

/// The active devices of each day.
pub(super) fn adoption(found: &Summary) -> Vec<Row> {
    found.days.iter().map(|day| row(day.date, day.active.iter().map(|number| Some(Number::of(*number))).collect())).collect()
}

/// The names of the releases in it.
pub(super) fn curves(found: &Summary) -> Vec<String> {
    let others = found.has_others.then(|| "Other releases".to_owned());
    found.releases.iter().map(Label::to_string).chain(others).collect()
}

/// The devices of each day that run the bundle of the app store build.
fn binaries(found: &Summary) -> Vec<Row> {
    let count = versions(found).len();
    let numbers = |day: &SummaryDay| match &day.binaries {
        Some(active) => active.iter().map(|number| Some(Number::of(*number))).collect(),
        None => (0..count).map(|_| None).collect(),
    };
    found.days.iter().map(|day| row(day.date, numbers(day))).collect()
}

/// The binary versions in it.
fn versions(found: &Summary) -> Vec<String> {
    let others = found.has_other_binaries.then(|| "Other versions".to_owned());
    found.binaries.iter().cloned().chain(others).collect()
}

fn row(date: UtcDay, numbers: Vec<Option<Number>>) -> Row {
    Row { iso8601: date.to_string(), time: date.to_string(), numbers }
}

/// The part that is updated.
pub(super) async fn show_live(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
) -> Result<Response> {
    let address = frame.path(&format!("{}/live", page_of(grant.called(), &deployment)));
    view::page(&live(&app, &frame, &grant, &deployment, &address).await?)
}

async fn live<'p>(app: &AppState, frame: &Frame, grant: &AppGrant<ReadMetrics>, deployment: &str, address: &'p str) -> Result<Live<'p>> {
    let recent = recent::read(app, grant, deployment, LIVE_MINUTES).await?;
    let rows = counters::list(&mut app.db.read().await?, grant, deployment).await?;
    let saved = view::saved(rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.bytes_saved)));
    let (counts, hidden) = counts(rows, |label| frame.path(&place::release(grant.called(), deployment, label)));
    Ok(Live { address, time: dates::second(app.now()), rows: minutes(&recent), counts, hidden, saved })
}

/// Every minute of the last hour: what was downloaded, installed and failed.
fn minutes(recent: &Recent) -> Vec<Row> {
    let step = i64::from(recent.step) * 60_000;
    let times = (0..).map(|number| recent.from.plus_millis(number * step)).take_while(|time| *time < recent.to);
    let row = |time: UnixMillis| {
        let mut sums = [0; 3];
        for change in recent.points.get(&time).into_iter().flat_map(|labels| labels.values()) {
            for (sum, more) in sums.iter_mut().zip([change.downloaded, change.installed, change.failed]) {
                *sum += more;
            }
        }
        let iso8601 = time.iso8601();
        Row { time: iso8601.get(11..16).unwrap_or_default().to_owned(), iso8601, numbers: sums.map(|sum| Some(Number::change(sum))).into() }
    };
    times.map(row).collect()
}

/// The counters that the part for the last hour shows: it is fetched every few seconds.
const MAX_COUNTS: usize = 50;

/// The most used counts and how many are left out: releases, newest first, then binary versions, most used first. The newest release is always there.
fn counts(rows: Vec<CounterRow>, page: impl Fn(Label) -> String) -> (Vec<CountRow>, usize) {
    let all = rows.iter().fold(0_i64, |sum, row| sum.saturating_add(row.active));
    let mut rows: Vec<_> = rows.into_iter().map(|row| (Label::try_from(row.place.as_str()).ok(), row)).collect();
    let newest = rows.iter().filter_map(|(label, _)| *label).max();
    let hidden = rows.len().saturating_sub(MAX_COUNTS);
    // A new release first, which few devices run yet.
    rows.sort_by_key(|(label, row)| (label.is_none() || *label != newest, Reverse(row.active), Reverse(*label)));
    rows.truncate(MAX_COUNTS);
    rows.sort_by(|(left, left_row), (right, right_row)| {
        right.cmp(left).then(right_row.active.cmp(&left_row.active)).then_with(|| left_row.place.cmp(&right_row.place))
    });
    let shown = |(label, row): (Option<Label>, CounterRow)| CountRow {
        is_release: label.is_some(),
        page: label.map(&page),
        active: view::grouped(row.active),
        share: view::share(row.active, all),
        percent: row.active.saturating_mul(100).checked_div(all).unwrap_or(0),
        downloaded: view::grouped(row.downloaded),
        installed: view::grouped(row.installed),
        failed: view::grouped(row.failed),
        failure_rate: view::share(row.failed, row.installed.saturating_add(row.failed)),
        is_failing: label.is_some() && failing::is_failing(row.installed, row.failed),
        name: row.place,
    };
    (rows.into_iter().map(shown).collect(), hidden)
}

/// The days as comma-separated values (RFC 4180).
pub(super) async fn csv(
    State(app): State<AppState>,
    _session: DashboardSession,
    grant: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let (asked, _) = range(query.as_deref().unwrap_or_default());
    let found = summary::read(&app, &grant, &deployment, &asked).await?;
    let mut text = String::from("date");
    text.extend(curves(&found).iter().map(|name| format!(",active {name}")));
    text.push_str(",downloaded,installed,failed");
    let versions = versions(&found);
    // Devices send any text as their version.
    text.extend(versions.iter().map(|version| format!(",\"binary {}\"", version.replace('"', "\"\""))));
    text.push_str("\r\n");
    for day in &found.days {
        text.push_str(&day.date.to_string());
        text.extend(day.active.iter().map(|number| format!(",{number}")));
        match day.added {
            Some(added) => text.extend(added.iter().map(|number| format!(",{number}"))),
            None => text.push_str(",,,"),
        }
        match &day.binaries {
            Some(active) => text.extend(active.iter().map(|number| format!(",{number}"))),
            None => text.extend(versions.iter().map(|_| ',')),
        }
        text.push_str("\r\n");
    }
    let headers =
        [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, "attachment; filename=\"metrics.csv\"")];
    Ok((headers, text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_and_the_most_used_counts_are_shown() {
        let row = |place: String, active| CounterRow { place, active, ..CounterRow::default() };
        let mut rows: Vec<_> = (1..=60).map(|label| row(format!("v{label}"), 100 - label)).collect();
        rows.push(row("1.0.0".to_owned(), 1_000));
        let (shown, hidden) = counts(rows, |label| label.to_string());
        let names: Vec<&str> = shown.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names.len(), hidden), (MAX_COUNTS, 11));
        assert_eq!((names[0], names[1], names[48], names[49]), ("v60", "v48", "v1", "1.0.0"));
        let (shown, hidden) = counts(vec![row("v1".to_owned(), 0)], |label| label.to_string());
        assert_eq!((shown.len(), hidden), (1, 0));
    }
}
