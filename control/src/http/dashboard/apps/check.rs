//! "What does a device get?": the answer to an update check, why, and what became of each release. The same code decides as for devices.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use shared::explanation::{ConsideredRelease, Explanation};
use shared::hash::PackageHash;
use shared::keys::Label;
use shared::select::Outcome;
use shared::wire::check::parse_query_without_key;

use super::place::{self, Link, Section};
use crate::domain::access::grant::ReadApp;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::error::{Error, Result, Thing};
use crate::domain::releases::service;
use crate::domain::snapshot::of_deployment;
use crate::http::AppState;
use crate::http::dashboard::form::{Field, Form};
use crate::http::dashboard::frame::Frame;
use crate::http::extract::DeploymentPath;

/// The parameters that the form shows, as in an update check.
const PARAMETERS: [&str; 4] = ["appVersion", "label", "packageHash", "clientUniqueId"];

/// What a device gets.
struct Answer {
    gets: String,
    why: String,
    bucket: Option<u8>,
    considered: Vec<ConsideredRelease>,
}

#[derive(Template)]
#[template(path = "dashboard/check.html")]
struct CheckPage<'p> {
    frame: &'p Frame,
    crumbs: Vec<Link>,
    sections: Vec<Link>,
    form: &'p Form,
    deployment: &'p str,
    page: String,
    answer: Option<Answer>,
}

fn form(query: &str) -> Form {
    let sent: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    let value = |name: &str| sent.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_ref()).unwrap_or_default();
    let [version, label, hash, client] = PARAMETERS;
    Form::of([
        Field::text(version, "App version").hint("That of the app's binary, such as 1.2.0.").value(value(version)),
        Field::text(label, "Installed release")
            .hint("Its label, such as v3. Leave it empty for a fresh install.")
            .optional()
            .value(value(label)),
        Field::text(hash, "Package hash")
            .hint("That of the installed release, from the SDK's log. Without it, it is that of the label.")
            .optional()
            .value(value(hash)),
        Field::text(client, "Client ID")
            .hint(
                "The ID that the SDK creates for each device and sends with its update checks (clientUniqueId). It decides whether a staged \
                    rollout includes the device. Empty: no staged rollout does.",
            )
            .optional()
            .value(value(client)),
    ])
}

/// There is no release of the label.
struct NoSuchRelease;

/// The hash of the release whose label the query gives without a hash. Devices are told apart by the hash: with the label alone, the answer would be that
/// for the app's own bundle.
async fn known_release(
    app: &AppState,
    grant: &AppGrant<ReadApp>,
    deployment: &str,
    query: &str,
) -> Result<Option<Result<PackageHash, NoSuchRelease>>> {
    let sent: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).collect();
    let value = |name: &str| sent.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let [_, label, hash, _] = PARAMETERS;
    let Some(label) = value(label).and_then(|label| Label::try_from(label).ok()).filter(|_| value(hash).is_none()) else { return Ok(None) };
    let mut tx = app.db.read().await?;
    match service::find(&mut tx, grant, deployment, label).await {
        Ok(release) => Ok(Some(Ok(release.row.package_hash))),
        Err(Error::NotFound(Thing::Release)) => Ok(Some(Err(NoSuchRelease))),
        Err(error) => Err(error),
    }
}

/// The parameters of a query that the form shows: the answer must not depend on others.
fn only_shown(query: &str) -> String {
    let shown = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| PARAMETERS.contains(&name.as_ref()));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(shown).finish()
}

/// The query with this package hash instead of an empty one.
fn with_hash(query: &str, hash: &PackageHash) -> String {
    let [.., name, _] = PARAMETERS;
    let mut with = form_urlencoded::Serializer::new(String::new());
    with.extend_pairs(form_urlencoded::parse(query.as_bytes()).filter(|(sent, _)| sent != name));
    with.append_pair(name, hash.as_ref()).finish()
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let mut query = only_shown(&query.unwrap_or_default());
    let mut form = form(&query);
    let known = known_release(&app, &grant, &deployment, &query).await?;
    if let Some(Ok(hash)) = &known {
        query = with_hash(&query, hash);
    }
    let (key, snapshot) = of_deployment(&app, &app.snapshots, &grant, &deployment).await?;
    let request_with = if query.is_empty() { None } else { Some(parse_query_without_key(&query)) };
    let mut answer = None;
    match request_with {
        None => {}
        Some(Ok(request_with)) => {
            let Explanation { decision, text, bucket, considered } = Explanation::of(&snapshot, &request_with(key));
            let gets = match decision.outcome {
                Outcome::Update { release, is_mandatory: true, .. } => format!("{}, mandatory", release.label),
                Outcome::Update { release, .. } => release.label.to_string(),
                Outcome::NoUpdate { .. } => "No update".to_owned(),
            };
            answer = Some(Answer { gets, why: text, bucket, considered });
        }
        Some(Err(errors)) => form = form.refuse(Error::from(errors))?,
    }
    if let Some(Err(NoSuchRelease)) = known {
        let text = format!("{deployment} has no release of this label. For one that was cleared, give the package hash as well.");
        form = form.refuse_one("label", StatusCode::NOT_FOUND, "There is no such release.", text);
        answer = None;
    }
    let name = grant.called();
    let page = place::deployment(name, &deployment);
    form.page(&CheckPage {
        crumbs: place::crumbs(&frame, &[(name, place::app(name)), (&deployment, page.clone())]),
        sections: place::sections(&frame, &grant, Section::Deployments),
        form: &form,
        deployment: &deployment,
        page: frame.path(&page),
        answer,
        frame: &frame,
    })
}
