//! The form that releases a release's contents to another deployment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use shared::FieldErrors;
use shared::ids::{DeploymentId, ReleaseId};
use shared::keys::Label;
use shared::version::Range;

use super::contents;
use super::edit::{SEVERAL_LINES, percent};
use super::place::{self, Link};
use super::release::Summary;
use super::{failing, once};
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::counting::counters;
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::info::ReleaseInfoInput;
use crate::domain::releases::promotion::{self, Pinned, Promotion};
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::{current, service};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameter;
use crate::http::extract::{DeploymentPath, LabelPath, encode_segment};

/// A deployment that the release can go to, and what is there now.
struct Destination {
    id: DeploymentId,
    name: String,
    current: Option<Summary>,
    /// How many devices it has.
    active: String,
    /// Shows what would change there.
    preview: String,
    /// Whether the rollout of the current release is unfinished: nothing can follow it.
    is_unfinished: bool,
}

#[derive(Template)]
#[template(path = "dashboard/promote.html")]
struct PromotePage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    page: String,
    release: Summary,
    /// That it fails on many devices.
    warning: Option<String>,
    /// The ID of the release.
    release_id: ReleaseId,
    destinations: Vec<Destination>,
    chosen: String,
    /// Why the form has no field for the description.
    why_no_description: Option<&'static str>,
    is_mandatory: bool,
    is_disabled: bool,
    /// What would change in the chosen destination.
    contents: contents::View,
    once: String,
}

/// The fields, with the values of the promoted release. A description of several lines stays as it is.
fn form(row: &ReleaseRow) -> Form {
    let rollout = Field::text("rollout", "Rollout in percent").hint("100 gives it to all devices at once.").value("100");
    let target = Field::text("appVersion", "Target version").hint("Such as ^1.2.0, or * for all.").value(&row.app_version);
    let text = row.description.as_deref().unwrap_or_default();
    let description = Field::prose("description", "Description").optional().value(text);
    Form::of([target, rollout].into_iter().chain((!text.contains('\n')).then_some(description)))
}

/// The values of a sent form.
fn read(sent: &Fields, errors: &mut FieldErrors) -> ReleaseInfoInput {
    ReleaseInfoInput {
        app_version: errors.take("appVersion", sent.get("appVersion").map(|text| Range::parse(text.trim())).transpose()).flatten(),
        description: errors.take("description", sent.get("description").map(str::parse).transpose()).flatten(),
        is_mandatory: Some(sent.has("isMandatory")),
        is_disabled: Some(sent.has("isDisabled")),
        rollout: errors.take("rollout", percent(sent.text("rollout"))),
        package_hash: None,
    }
}

async fn page(
    app: &AppState,
    frame: &Frame,
    (grant, metrics): (&AppGrant<ReadApp>, &AppGrant<ReadMetrics>),
    (deployment, label): (&str, Label),
    chosen: &str,
    refused: Option<(&Fields, Error)>,
) -> Result<Response> {
    let name = grant.called();
    let mut tx = app.db.read().await?;
    let row = service::find(&mut tx, grant, deployment, label).await?.row;
    let all = current::list(&mut tx, grant).await?;
    let totals = counters::totals(&mut tx, metrics).await?;
    let counters = counters::list(&mut tx, metrics, deployment).await?;
    drop(tx);
    let (mut is_mandatory, mut is_disabled) = (row.is_mandatory, row.is_disabled);
    let mut form = form(&row);
    if let Some((sent, error)) = refused {
        form.keep(sent);
        (is_mandatory, is_disabled) = (sent.has("isMandatory"), sent.has("isDisabled"));
        form = match error {
            Error::NotFound(Thing::Destination | Thing::Release) => {
                let text =
                    "A deployment was renamed, deleted or created since you opened this page. Check the destination, and promote again.";
                form.refuse_with_text(StatusCode::NOT_FOUND, text)
            }
            other => form.refuse(other)?,
        };
    }
    let release = place::release(name, deployment, label);
    let address = frame.path(&release);
    let (mut destinations, mut currents) = (Vec::new(), BTreeMap::new());
    for (one, newest) in all.into_iter().filter(|(one, _)| one.name != deployment) {
        let current = newest.as_ref().map(|newest| Summary::of(frame, (name, &one.name), &newest.row)).transpose()?;
        currents.extend(newest.map(|newest| (one.name.clone(), newest.row)));
        destinations.push(Destination {
            is_unfinished: current.as_ref().is_some_and(Summary::is_unfinished),
            current,
            preview: format!("{address}/promote?destination={}#differences", encode_segment(&one.name)),
            active: view::active_devices(totals.get(&one.id).map_or(0, |totals| totals.active)),
            name: one.name,
            id: one.id,
        });
    }
    let only = destinations.first().filter(|_| destinations.len() == 1).map(|one| one.name.clone());
    let chosen = if chosen.is_empty() { only.unwrap_or_default() } else { chosen.to_owned() };
    // Only the chosen one's: each is a package to read.
    let current = currents.get(&chosen).map(|row| contents::link(frame, (name, &chosen), row).map(|link| (link, row))).transpose()?;
    let contents = contents::compared(app, grant, current, (&label.to_string(), &row), format!("{address}/contents")).await?;
    form.page(&PromotePage {
        frame,
        crumbs: place::crumbs(
            frame,
            &[(name, place::app(name)), (deployment, place::deployment(name, deployment)), (&label.to_string(), release.clone())],
        ),
        form: &form,
        page: address,
        why_no_description: row.description.as_ref().filter(|text| text.contains('\n')).map(|_| SEVERAL_LINES),
        release: Summary::of(frame, (name, deployment), &row)?,
        warning: failing::warning_of(&label.to_string(), &counters),
        release_id: row.id,
        chosen,
        is_mandatory,
        is_disabled,
        contents,
        destinations,
        once: once::new(app)?,
    })
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    _right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let chosen = query.and_then(|query| parameter(&query, "destination").ok().flatten().map(Cow::into_owned));
    page(&app, &frame, (&grant, &metrics), (&deployment, label), &chosen.unwrap_or_default(), None).await
}

#[expect(clippy::too_many_arguments, reason = "extractors")]
pub(super) async fn submit(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    right: AppGrant<ManageReleases>,
    grant: AppGrant<ReadApp>,
    metrics: AppGrant<ReadMetrics>,
    DeploymentPath(deployment): DeploymentPath,
    LabelPath(label): LabelPath,
    sent: Fields,
) -> Result<Response> {
    let mut errors = FieldErrors::default();
    let overrides = read(&sent, &mut errors);
    // The ID of the deployment that the page showed, and its name there.
    let (id, to) = sent.text("destination").split_once('/').unwrap_or_default();
    let to = to.to_owned();
    if to.is_empty() {
        errors.add("destination", "is required");
    }
    let pinned = match (ReleaseId::try_from(sent.text("release")), DeploymentId::try_from(id)) {
        (Ok(release), Ok(destination)) => Some(Pinned { release, destination }),
        _ => None,
    };
    let promoted = match pinned {
        Some(pinned) if errors.is_empty() => {
            let promotion = Promotion { from: deployment.clone(), to: to.clone(), label: Some(label), overrides, pinned: Some(pinned) };
            promotion::promote(&app, &right, &promotion, once::read(&sent).as_ref()).await
        }
        None if errors.is_empty() => Err(Error::NotFound(Thing::Destination)),
        _ => Err(Error::from(errors)),
    };
    match promoted {
        Ok(answer) => {
            let text = format!(
                "Promoted {label} of {deployment}. The new release of {to} is v{}: devices get it within a minute.",
                answer.value.label
            );
            frame.redirect_with_flash(&place::deployment(grant.called(), &to), &Flash::good(text))
        }
        Err(error) => page(&app, &frame, (&grant, &metrics), (&deployment, label), &to, Some((&sent, error))).await,
    }
}
