//! The form that changes a release: its rollout, target version, description, and whether it is mandatory or disabled.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::hash::Sha256Hex;
use shared::keys::Label;
use shared::rollout::Percent;
use shared::version::Range;
use shared::{FieldErrors, Invalid};

use super::audience::{audience, if_disabled, if_enabled};
use super::failing;
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
    /// The one thing that the page asks about.
    only: Option<Only>,
    page: String,
    label: Label,
    /// Who gets the release.
    audience: String,
    /// How many devices run the release.
    running: String,
    /// That it fails on many devices, while more can get it.
    warning: Option<String>,
    /// What devices get if it is disabled; if it is, what they get if it is enabled.
    instead: String,
    /// Why the form has no field for the description.
    why_no_description: Option<&'static str>,
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
    warning: Option<String>,
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
        let outlook = Outlook::read(&app.db, &app.front.outlook_turns, self.read, self.deployment).await?;
        let mut tx = app.db.read().await?;
        let row = service::find(&mut tx, self.read, self.deployment, self.label).await?.row;
        let (_, newest) = current::get(&mut tx, self.read, self.deployment).await?;
        let counters = counters::list(&mut tx, self.metrics, self.deployment).await?;
        let place = self.label.to_string();
        let warning = failing::warning_of(&place, &counters);
        let active = counters.into_iter().find(|counter| counter.place == place).map_or(0, |counter| counter.active);
        let has_rollout = row.rollout.is_some() && newest.is_some_and(|newest| newest.row.label == row.label);
        Ok(Found { row, has_rollout, active, warning, outlook })
    }
}

/// Why a release's description cannot be edited here; `None` if it can.
fn why_no_description(row: &ReleaseRow) -> Option<&'static str> {
    if row.release_method == ReleaseMethod::Promote {
        Some("A promoted release keeps its description. It can be changed while you promote.")
    } else {
        row.description.as_ref().filter(|text| text.contains('\n')).map(|_| SEVERAL_LINES)
    }
}

/// What to do with a description that a field for one line would destroy.
pub(super) const SEVERAL_LINES: &str = "The description has several lines, and stays as it is here. The CLI can change it.";

/// The fields. A promoted release keeps its description, and a complete rollout cannot change.
fn form(found: &Found) -> Form {
    let row = &found.row;
    let rollout = Field::text("rollout", "Rollout in percent")
        .hint("It can only grow. 100 completes it.")
        .value(&row.rollout.unwrap_or(100).to_string());
    let target = Field::text("appVersion", "Target version").hint("Such as ^1.2.0, or * for all.").value(&row.app_version);
    let text = Field::prose("description", "Description").optional().value(row.description.as_deref().unwrap_or_default());
    let text = why_no_description(row).is_none().then_some(text);
    Form::of(found.has_rollout.then_some(rollout).into_iter().chain([target]).chain(text))
}

/// A question about one thing, in place of the whole form: what links of other pages lead to. Only its button changes anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    /// Raise the rollout.
    Raise,
    /// Disable the release.
    Disable,
    /// Enable it.
    Enable,
}

impl Only {
    fn title(self) -> &'static str {
        match self {
            Self::Raise => "Raise the rollout of",
            Self::Disable => "Disable",
            Self::Enable => "Enable",
        }
    }

    fn is_raise(self) -> bool {
        self == Self::Raise
    }

    fn is_disable(self) -> bool {
        self == Self::Disable
    }

    fn button(self) -> &'static str {
        match self {
            Self::Raise => "Raise rollout",
            Self::Disable => "Disable release",
            Self::Enable => "Enable release",
        }
    }
}

/// What a link asks for, and a higher rollout in it. `None`: the whole form.
fn asked(query: &str, found: &Found) -> Option<(Only, Option<i64>)> {
    let mut errors = FieldErrors::default();
    let [rollout, disabled] = parameters(query, ["rollout", "isDisabled"], &mut errors);
    if !errors.is_empty() {
        return None;
    }
    match disabled.as_deref() {
        Some("on") if !found.row.is_disabled => return Some((Only::Disable, None)),
        Some("off") if found.row.is_disabled => return Some((Only::Enable, None)),
        _ => {}
    }
    let current = found.row.rollout.filter(|_| found.has_rollout && !found.row.is_disabled)?;
    let rollout = rollout.and_then(|text| text.parse::<i64>().ok()).filter(|rollout| (current..=100).contains(rollout))?;
    Some((Only::Raise, Some(rollout)))
}

/// The page. `flags`: whether the release is mandatory and disabled, in the form.
async fn page(
    app: &AppState,
    frame: &Frame,
    target: &Target<'_>,
    found: &Found,
    form: &Form,
    flags: (bool, bool),
    only: Option<Only>,
) -> Result<Response> {
    let (name, row) = (target.read.called(), &found.row);
    let release = target.page();
    let summary = Summary::of(frame, (name, target.deployment), row)?;
    let instead = if row.is_disabled {
        if_enabled(app, target.read, &summary, &found.outlook).await?
    } else {
        if_disabled(app, target.read, &summary, &found.outlook).await?
    };
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
        only,
        page: frame.path(&release),
        label: target.label,
        audience: audience(&summary, &found.outlook)?,
        why_no_description: why_no_description(row),
        running: view::sentence(&format!("{} it now", view::devices_run(found.active))),
        warning: found.warning.clone().filter(|_| only != Some(Only::Disable)),
        instead,
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
    let asked = asked(query.as_deref().unwrap_or_default(), &found);
    let mut form = form(&found);
    if let Some((_, rollout)) = asked {
        form.fields.retain(|field| field.name == "rollout" && rollout.is_some());
        for (field, rollout) in form.fields.iter_mut().zip(rollout) {
            field.value = rollout.to_string();
        }
    }
    let flags = (found.row.is_mandatory, found.row.is_disabled);
    page(&app, &frame, &target, &found, &form, flags, asked.map(|(only, _)| only)).await
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
                    field.value = sent.get(field.name).unwrap_or(&field.value).to_owned();
                }
                let flags = (found.row.is_mandatory, found.row.is_disabled);
                return page(&app, &frame, &target, &found, &form.refuse(error)?, flags, None).await;
            }
            // What was typed stays.
            form.keep(&sent);
            let flags = (sent.has("isMandatory"), sent.has("isDisabled"));
            page(&app, &frame, &target, &found, &form.refuse(error)?, flags, None).await
        }
    }
}
