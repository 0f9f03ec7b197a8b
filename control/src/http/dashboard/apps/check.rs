//! "What does a device get?": the answer to an update check, why, and what became of each release. The same code decides as for devices.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use shared::explanation::{ConsideredRelease, Explanation};
use shared::select::Outcome;
use shared::wire::check::parse_query_without_key;

use super::place::{self, Link, Section};
use crate::domain::access::grant::ReadApp;
use crate::domain::access::{AppGrant, DashboardSession};
use crate::domain::error::{Error, Result};
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
        Field::text(hash, "Package hash").hint("That of the installed release, from the SDK's log.").optional().value(value(hash)),
        Field::text(client, "Device ID").hint("Decides whether a staged rollout includes the device.").optional().value(value(client)),
    ])
}

pub(super) async fn show(
    State(app): State<AppState>,
    frame: Frame,
    _session: DashboardSession,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let query = query.unwrap_or_default();
    let mut form = form(&query);
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
