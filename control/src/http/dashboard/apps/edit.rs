//! The form that changes a release: its rollout, target version, description, and whether it is mandatory or disabled.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::hash::Sha256Hex;
use shared::keys::Label;
use shared::rollout::Percent;
use shared::version::Range;
use shared::{FieldErrors, Invalid};

use super::audience::if_disabled;
use super::place::{self, Link};
use super::release::Summary;
use crate::domain::access::grant::{ManageReleases, ReadApp, ReadMetrics};
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::conflict::Conflict;
use crate::domain::counting::counters;
use crate::domain::error::{Error, Result};
use crate::domain::releases::change::{self, ReleaseChange, fingerprint};
use crate::domain::releases::info::ReleaseInfoInput;
use crate::domain::releases::outlook::Outlook;
use crate::domain::releases::repo::ReleaseRow;
use crate::domain::releases::{ReleaseMethod, current, service};
use crate::http::AppState;
use crate::http::dashboard::fields::Fields;
use crate::http::dashboard::flash::Flash;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::dashboard::view;
use crate::http::extract::query::parameters;
use crate::http::extract::{DeploymentPath, LabelPath};

/// The field with the fingerprint of what the form showed.
const SEEN: &str = "seen";

#[derive(Template)]
#[template(path = "dashboard/release_edit.html")]
struct Edit<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    form: &'p Form,
    page: String,
    label: Label,
    /// How many devices run the release.
    running: String,
    /// What devices get if it is disabled. `None` if it is.
    instead: Option<String>,
    is_mandatory: bool,
    is_disabled: bool,
    seen: Sha256Hex,
}

/// A release and what its form needs to know.
struct Found {
    row: ReleaseRow,
    /// Whether its rollout can grow.
    has_rollout: bool,
    active: i64,
    outlook: Outlook,
}

/// What a request names.
struct Target<'p> {
    read: &'p AppGrant<ReadApp>,
    metrics: &'p AppGrant<ReadMetrics>,
    deployment: &'p str,
    label: Label,
}

impl Target<'_> {
    /// Its page.
    fn page(&self) -> String {
        place::release(self.read.called(), self.deployment, self.label)
    }

    async fn find(&self, app: &AppState) -> Result<Found> {
        let mut tx = app.db.read().await?;
        let row = service::find(&mut tx, self.read, self.deployment, self.label).await?.row;
        let (_, newest) = current::get(&mut tx, self.read, self.deployment).await?;
        let counters = counters::list(&mut tx, self.metrics, self.deployment).await?;
        let outlook = Outlook::read(&mut tx, self.read, self.deployment).await?;
        let place = self.label.to_string();
        let active = counters.into_iter().find(|counter| counter.place == place).map_or(0, |counter| counter.active);
        let has_rollout = row.rollout.is_some() && newest.is_some_and(|newest| newest.row.label == row.label);
        Ok(Found { row, has_rollout, active, outlook })
    }
}

/// The fields. A promoted release keeps its description, and a complete rollout cannot change.
fn form(found: &Found) -> Form {
    let row = &found.row;
    let rollout = Field::text("rollout", "Rollout in percent")
        .hint("It can only grow. 100 completes it.")
        .value(&row.rollout.unwrap_or(100).to_string());
    let target = Field::text("appVersion", "Target version").hint("Such as ^1.2.0, or * for all.").value(&row.app_version);
    let text = Field::text("description", "Description").optional().value(row.description.as_deref().unwrap_or_default());
    let has_description = row.release_method != ReleaseMethod::Promote && !row.description.as_ref().is_some_and(|text| text.contains('\n'));
    Form::of(found.has_rollout.then_some(rollout).into_iter().chain([target]).chain(has_description.then_some(text)))
}

/// What a link puts into the form: a higher rollout, or that the release is disabled. Only the form's button changes anything.
#[derive(Default)]
struct Prefill {
    rollout: Option<i64>,
    is_disabled: bool,
}

impl Prefill {
    fn of(query: &str, found: &Found) -> Self {
        let mut errors = FieldErrors::default();
        let [rollout, disabled] = parameters(query, ["rollout", "isDisabled"], &mut errors);
        if !errors.is_empty() {
            return Self::default();
        }
        let current = found.row.rollout.unwrap_or(100);
        let rollout = rollout.and_then(|text| text.parse::<i64>().ok()).filter(|rollout| (current..=100).contains(rollout));
        Self { rollout, is_disabled: disabled.is_some_and(|text| text == "on") }
    }
}

/// The page. `flags`: whether the release is mandatory and disabled, in the form.
fn page(frame: &Frame, target: &Target<'_>, found: &Found, form: &Form, flags: (bool, bool)) -> Result<Response> {
    let (name, row) = (target.read.called(), &found.row);
    let release = target.page();
    let summary = Summary::of(frame, (name, target.deployment), row)?;
    form.page(&Edit {
        frame,
        crumbs: place::crumbs(
            frame,
            &[
                (name, place::app(name)),
                (target.deployment, place::deployment(name, target.deployment)),
                (&target.label.to_string(), release.clone()),
            ],
        ),
        form,
        page: frame.path(&release),
        label: target.label,
        running: view::sentence(&format!("{} it now", view::devices_run(found.active))),
        instead: if row.is_disabled { None } else { Some(if_disabled(&summary, &found.outlook)?) },
        is_mandatory: flags.0,
        is_disabled: flags.1,
        seen: fingerprint(row),
    })
}

/// A rollout that was typed. Errors: not 1 to 100.
pub fn percent(text: &str) -> Result<Percent, Invalid> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<u64>().ok();
    number.and_then(Percent::new).ok_or_else(|| Invalid::from("must be a whole number from 1 to 100"))
}

/// The new values. A field that the form does not have stays as it is.
fn read(sent: &Fields) -> Result<ReleaseInfoInput, FieldErrors> {
    let mut errors = FieldErrors::default();
    let info = ReleaseInfoInput {
        app_version: errors.take("appVersion", sent.get("appVersion").map(|text| Range::parse(text.trim())).transpose()).flatten(),
        description: errors.take("description", sent.get("description").map(str::parse).transpose()).flatten(),
        is_mandatory: Some(sent.has("isMandatory")),
        is_disabled: Some(sent.has("isDisabled")),
        rollout: errors.take("rollout", sent.get("rollout").map(percent).transpose()).flatten(),
        package_hash: None,
    };
    if errors.is_empty() { Ok(info) } else { Err(errors) }
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
    let target = Target { read: &grant, metrics: &metrics, deployment: &deployment, label };
    let found = target.find(&app).await?;
    let prefill = Prefill::of(query.as_deref().unwrap_or_default(), &found);
    let mut form = form(&found);
    for field in form.fields.iter_mut().filter(|field| field.name == "rollout") {
        field.value = prefill.rollout.map_or(field.value.clone(), |rollout| rollout.to_string());
    }
    let flags = (found.row.is_mandatory, found.row.is_disabled || prefill.is_disabled);
    page(&frame, &target, &found, &form, flags)
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
    let target = Target { read: &grant, metrics: &metrics, deployment: &deployment, label };
    let seen = Sha256Hex::try_from(sent.text(SEEN)).map_err(|_| Error::invalid(SEEN, "is not valid"));
    let changed = match (read(&sent), seen) {
        (Ok(info), Ok(seen)) => {
            let requested = ReleaseChange { label: Some(label), info, seen: Some(seen) };
            change::change(&app, &right, &deployment, &requested).await
        }
        (Err(errors), _) => Err(errors.into()),
        (_, Err(error)) => Err(error),
    };
    match changed {
        Ok(Some(_)) => frame.redirect_with_flash(&target.page(), &Flash::good(format!("{label} was changed."))),
        Ok(None) => frame.redirect_with_flash(&target.page(), &Flash::good("Nothing was changed.")),
        Err(error) => {
            let found = target.find(&app).await?;
            let mut form = form(&found);
            if matches!(error, Error::Conflict(Conflict::ReleaseChanged(_))) {
                // Somebody else changed the release: the form shows what it is now, or the next click would undo that. Only a text stays, which would be
                // lost work.
                for field in form.fields.iter_mut().filter(|field| field.name == "description") {
                    sent.text(field.name).clone_into(&mut field.value);
                }
                let flags = (found.row.is_mandatory, found.row.is_disabled);
                return page(&frame, &target, &found, &form.refuse(error)?, flags);
            }
            // What was typed stays.
            form.keep(&sent);
            page(&frame, &target, &found, &form.refuse(error)?, (sent.has("isMandatory"), sent.has("isDisabled")))
        }
    }
}
