//! The files of a release's package, and how they differ from those of another release: a part of two pages, and a page of its own with the whole list.
//!
//! Paths come from uploads. Nothing here trusts them.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::FieldErrors;
use shared::text::visible;

use super::place::{self, Link};
use crate::domain::access::grant::ReadApp;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::error::Result;
use crate::domain::releases::contents::{self, Contents, Difference, Line, Unreadable};
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::service::{self, label};
use crate::domain::releases::turns::Turn;
use crate::http::AppState;
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::http::extract::{DeploymentPath, LabelPath};

/// The files that the part shows.
const MAX_SHOWN: usize = 200;
/// The files of a page of the whole list.
const PAGE_SIZE: usize = 500;

/// A file as tables show it.
pub(super) struct Row {
    /// Its path.
    pub path: String,
    /// How it differs; empty if it does not.
    pub difference: &'static str,
    /// The class of the difference's mark.
    pub class: &'static str,
    /// Its size; of a changed file, the earlier one too.
    pub size: String,
}

impl Row {
    fn of(line: &Line<'_>) -> Self {
        let known = |size: Option<u64>| size.map_or_else(|| "unknown size".to_owned(), size_of);
        let (difference, class) = match line.difference {
            Difference::Added => ("Added", "good"),
            Difference::Changed => ("Changed", "warn"),
            Difference::Removed => ("Removed", "bad"),
            Difference::None => ("", ""),
        };
        let size = match line.difference {
            Difference::Removed => known(line.size_before),
            Difference::Changed if line.size_before != line.size => format!("{} → {}", known(line.size_before), known(line.size)),
            _ => known(line.size),
        };
        Self { path: path(line.path), difference, class, size }
    }
}

/// A file's path, as people can read it.
fn path(path: &str) -> String {
    if path.is_empty() { "The package is a single file.".to_owned() } else { visible(path) }
}

fn size_of(bytes: u64) -> String {
    view::bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// The contents of a release's package, compared with those of an earlier one.
pub(super) struct View {
    /// What cannot be shown, as a sentence.
    pub problem: Option<String>,
    /// How many files there are, and what they take.
    pub total: String,
    /// The release to compare with; `None` if there is none, or if its contents are unknown.
    pub earlier: Option<Link>,
    /// What differs, in numbers.
    pub summary: String,
    /// The first files that differ.
    pub changes: Vec<Row>,
    /// How many files that differ are not shown.
    pub more_changes: usize,
    /// The first files.
    pub files: Vec<Row>,
    /// How many files are not shown.
    pub more_files: usize,
    /// The page with the whole list.
    pub page: String,
}

/// How many files a package has, and what they take.
fn total(lines: &[Line<'_>]) -> String {
    let files: Vec<_> = lines.iter().filter(|line| line.difference != Difference::Removed).collect();
    let word = if files.len() == 1 { "file" } else { "files" };
    let sizes: Option<u64> = files.iter().map(|line| line.size).sum();
    let sizes = sizes.map_or_else(|| "sizes unknown: the package is missing or damaged".to_owned(), size_of);
    format!("{} {word}, {sizes}", grouped(files.len()))
}

fn grouped(count: usize) -> String {
    view::grouped(i64::try_from(count).unwrap_or(i64::MAX))
}

/// What differs, in numbers.
fn summary(lines: &[Line<'_>]) -> String {
    let all = [(Difference::Added, "added"), (Difference::Changed, "changed"), (Difference::Removed, "removed")];
    let part = |(difference, word): (Difference, &str)| {
        let of: Vec<_> = lines.iter().filter(|line| line.difference == difference).collect();
        let sizes: Option<u64> = of.iter().map(|line| if difference == Difference::Removed { line.size_before } else { line.size }).sum();
        match sizes.filter(|_| !of.is_empty()) {
            Some(bytes) => format!("{} {word} ({})", grouped(of.len()), size_of(bytes)),
            None => format!("{} {word}", grouped(of.len())),
        }
    };
    all.map(part).join(", ")
}

fn sentence(of: &str, unreadable: Unreadable) -> String {
    match unreadable {
        Unreadable::Damaged => format!("The list of files of {of} is missing or damaged. Ask your administrator to check the storage."),
        Unreadable::TooLarge => format!("{of} has too many files to list them."),
    }
}

/// Both packages, and what there is to say about those that cannot be read. The names are for sentences.
struct Both {
    earlier: Option<Contents>,
    later: Option<Contents>,
    problem: Option<String>,
}

impl Both {
    fn lines(&self) -> Vec<Line<'_>> {
        self.later.as_ref().map(|later| contents::compare(self.earlier.as_ref(), later)).unwrap_or_default()
    }
}

async fn both(
    app: &AppState,
    grant: &AppGrant<ReadApp>,
    (earlier_name, earlier): (&str, Option<&ReleaseRow>),
    (later_name, later): (&str, &ReleaseRow),
    turn: &Turn,
) -> Result<Both> {
    let later_contents = match contents::read(app, grant, later, turn).await? {
        Ok(contents) => contents,
        Err(unreadable) => return Ok(Both { earlier: None, later: None, problem: Some(sentence(later_name, unreadable)) }),
    };
    let (earlier, problem) = match earlier {
        None => (None, None),
        // A rollback or a promotion of the same bytes.
        Some(earlier) if earlier.manifest_sha256 == later.manifest_sha256 && earlier.blob_sha256 == later.blob_sha256 => {
            (Some(later_contents.clone()), None)
        }
        Some(earlier) => match contents::read(app, grant, earlier, turn).await? {
            Ok(contents) => (Some(contents), None),
            Err(unreadable) => (None, Some(sentence(earlier_name, unreadable))),
        },
    };
    Ok(Both { earlier, later: Some(later_contents), problem })
}

/// The contents of a release, compared with the release that the link leads to.
pub(super) async fn compared(
    app: &AppState,
    grant: &AppGrant<ReadApp>,
    earlier: Option<(Link, &ReleaseRow)>,
    (name, later): (&str, &ReleaseRow),
    page: String,
) -> Result<View> {
    let named = (earlier.as_ref().map_or("", |(link, _)| link.text.as_str()), earlier.as_ref().map(|(_, row)| *row));
    let turn = app.front.package_turns.take(grant.account()).await?;
    let both = both(app, grant, named, (name, later), &turn).await?;
    let earlier = earlier.map(|(link, _)| link).filter(|_| both.earlier.is_some());
    let view = move || {
        let lines = both.lines();
        let rows = |is_shown: fn(&Line<'_>) -> bool| {
            let all = lines.iter().filter(|line| is_shown(line));
            let count = all.clone().count();
            (all.take(MAX_SHOWN).map(Row::of).collect::<Vec<_>>(), count.saturating_sub(MAX_SHOWN))
        };
        let (changes, more_changes) = rows(|line| line.difference != Difference::None);
        let (files, more_files) = rows(|line| line.difference != Difference::Removed);
        let (total, summary) = (total(&lines), summary(&lines));
        View { total, summary, earlier, problem: both.problem, changes, more_changes, files, more_files, page }
    };
    turn.run(view).await
}

/// A page of the whole list.
#[derive(Template)]
#[template(path = "dashboard/contents.html")]
struct ContentsPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    label: String,
    problem: Option<String>,
    total: String,
    earlier: Option<Link>,
    summary: String,
    ranges: [Link; 2],
    rows: Vec<Row>,
    /// Which of the files are shown.
    shown: String,
    newer: Option<String>,
    older: Option<String>,
}

/// The files of a page of the whole list.
struct Listed {
    total: String,
    summary: String,
    rows: Vec<Row>,
    /// Which of the files are shown.
    shown: String,
    /// The number of the page, from 1.
    number: usize,
    pages: usize,
}

impl Listed {
    fn of(lines: &[Line<'_>], is_changes: bool, number: Option<&str>) -> Self {
        let shown: Vec<_> = lines.iter().filter(|line| !is_changes || line.difference != Difference::None).collect();
        let pages = shown.len().div_ceil(PAGE_SIZE).max(1);
        let number = number.and_then(|number| number.parse::<usize>().ok()).unwrap_or(1).clamp(1, pages);
        let first = (number - 1) * PAGE_SIZE;
        let rows: Vec<_> = shown.iter().skip(first).take(PAGE_SIZE).map(|line| Row::of(line)).collect();
        let range = format!("{}–{} of {}", grouped(first + 1), grouped(first + rows.len()), grouped(shown.len()));
        Self { total: total(lines), summary: summary(lines), rows, shown: range, number, pages }
    }
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let [only, number] = parameters(query.as_deref().unwrap_or_default(), ["only", "page"], &mut FieldErrors::default());
    let is_changes = only.is_some_and(|only| only == "changes");
    let number = number.map(Cow::into_owned);
    let name = grant.called();
    let (row, before) = service::with_previous(&mut app.db.read().await?, &grant, &deployment, label).await?;
    let earlier = before.as_ref().map(|before| link(&frame, (name, &deployment), before)).transpose()?;
    let named = (earlier.as_ref().map_or("", |link| link.text.as_str()), before.as_ref());
    let turn = app.front.package_turns.take(grant.account()).await?;
    let both = both(&app, &grant, named, (&label.to_string(), &row), &turn).await?;
    let (earlier, problem) = (earlier.filter(|_| both.earlier.is_some()), both.problem.clone());
    let listed = turn.run(move || Listed::of(&both.lines(), is_changes, number.as_deref())).await?;
    drop(turn);

    let release = place::release(name, &deployment, label);
    let page = frame.path(&format!("{release}/contents"));
    let only = if is_changes { "?only=changes&page=" } else { "?page=" };
    let choice = |text: &str, address: String, is_current| Link { text: text.to_owned(), address, is_current };
    view::page(&ContentsPage {
        crumbs: place::crumbs(
            &frame,
            &[(name, place::app(name)), (&deployment, place::deployment(name, &deployment)), (&label.to_string(), release)],
        ),
        label: label.to_string(),
        problem,
        total: listed.total,
        earlier,
        summary: listed.summary,
        ranges: [choice("All files", page.clone(), !is_changes), choice("Differences", format!("{page}?only=changes"), is_changes)],
        shown: listed.shown,
        newer: (listed.number > 1).then(|| format!("{page}{only}{}", listed.number - 1)),
        older: (listed.number < listed.pages).then(|| format!("{page}{only}{}", listed.number + 1)),
        rows: listed.rows,
        frame: &frame,
    })
}

/// The link to the release that another one is compared with.
pub(super) fn link(frame: &Frame, (app, deployment): (&str, &str), row: &ReleaseRow) -> Result<Link> {
    let label = label(row.label)?;
    Ok(Link { text: label.to_string(), address: frame.path(&place::release(app, deployment, label)), is_current: false })
}
