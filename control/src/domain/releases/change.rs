//! The PATCH of a release: what it says of itself changes, its contents never do.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use shared::hash::{BlobKey, PackageHash, Sha256Hex};
use shared::ids::{AppId, ReleaseId};
use shared::keys::Label;
use shared::package::Manifest;
use tokio::io::AsyncReadExt;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::info::{GivenInfo, ReleaseChanges, given_label, stored_rollout};
use super::repo::{self, ReleaseRow};
use super::service;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::audit::{self, Action, Actor, Event};
use crate::domain::context::Context;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult};
use crate::domain::snapshot::size::{self, Change};
use crate::http::AppState;
use crate::http::api::releases::ReleaseAnswer;
use crate::http::extract::{DeploymentPath, Json, Member};
use crate::infra::db::{ReadTx, WriteTx};
use shared::FieldErrors;

/// A change of a release.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({ "packageInfo": { "rollout": 100 } }))]
pub struct ReleasePatch {
    /// A text: which release; the newest unless given.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$")]
    pub label: Member,
    /// What changes.
    #[serde(default)]
    #[schema(value_type = Option<ReleaseChanges>)]
    pub package_info: Member,
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(patch_release))
}

/// Change what a release says of itself.
#[utoipa::path(
    patch,
    path = "/v1/apps/{app}/deployments/{deployment}/release",
    tag = "releases",
    security(("bearer" = ["releases.manage"])),
    request_body = ReleasePatch,
    responses(
        (status = 200, body = ReleaseAnswer),
        (status = 204, description = "the release is so already"),
        (status = 404, description = "there is no such app, deployment or release"),
        (
            status = 409,
            description = "the rollout would become lower, or it is complete: for everybody, or of a release that is not the newest; a release that is \
                not the newest would be enabled with an unfinished rollout; the description is a promoted release's; the hash is another one's; the deployment \
                has no room for a longer description or another range of versions"
        ),
    )
)]
pub async fn patch_release(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    actor: Actor,
    DeploymentPath(deployment): DeploymentPath,
    Json(patch): Json<ReleasePatch>,
) -> AppResult<Response> {
    let patch = Patch::read(&patch)?;
    let proven = prove_hash(&app, grant.app(), &deployment, &patch).await?;
    let mut tx = grant.begin_tx(&app).await?;
    let Some(row) = change(&mut tx, &app, &grant, &actor, &deployment, &patch, proven).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let diffs = repo::diffs_of(&mut tx, &row.id).await?;
    tx.commit().await?;
    app.publisher.wake();
    let package = service::out(grant.app(), &diffs, row, &app.download_urls())?;
    Ok(Json(ReleaseAnswer { package }).into_response())
}

/// A sound change.
struct Patch {
    label: Option<Label>,
    info: GivenInfo,
}

impl Patch {
    fn read(patch: &ReleasePatch) -> AppResult<Self> {
        let mut errors = FieldErrors::default();
        let label = errors.take("label", given_label(&patch.label));
        let info = GivenInfo::of(&patch.package_info, &mut errors);
        match label {
            Some(label) if errors.is_empty() => Ok(Self { label, info }),
            _ => Err(errors.into()),
        }
    }
}

/// Changes a release, in the transaction's last statements. None when it is so already, which is asked before any refusal.
async fn change(
    tx: &mut WriteTx,
    app: &Context,
    grant: &AppGrant<ManageReleases>,
    actor: &Actor,
    deployment: &str,
    patch: &Patch,
    proven: Option<(ReleaseId, PackageHash)>,
) -> AppResult<Option<ReleaseRow>> {
    let now = app.now();
    grant.confirm(tx).await?;
    let locked = repo::lock(tx, grant.app(), deployment).await?.ok_or(AppError::NotFound("deployment"))?;
    grant.confirm(tx).await?;
    let newest = repo::newest(tx, &locked.id).await?.ok_or(AppError::NotFound("release"))?;
    let newest_label = newest.label;
    let old = match patch.label {
        Some(label) => repo::find(tx, &locked.id, label).await?.ok_or(AppError::NotFound("release"))?,
        None => newest,
    };
    let (new, changes) = changed(&old, &patch.info);
    if changes.is_empty() {
        return Ok(None);
    }
    check(&old, &new, old.label == newest_label)?;
    if new.package_hash != old.package_hash && proven != Some((old.id.clone(), new.package_hash.clone())) {
        return Err(AppError::Conflict(format!("packageHash: is not the hash of the contents of v{}", old.label)));
    }
    size::admit(tx, app, grant.app(), &locked.id, Change::Edit(&new)).await?;
    repo::update(tx, &new).await?;
    service::publish(tx, &locked, now).await?;
    let details = json!({ "deployment": deployment, "label": format!("v{}", new.label), "changes": changes });
    audit::note(tx, actor, Event::new(Action::UpdateRelease, &new.id).of_app(grant.app()).with(details), &app.dice, now).await?;
    Ok(Some(new))
}

/// The release as it is to be, and what differs: by the members' names, with the new values of all but long texts.
fn changed(old: &ReleaseRow, info: &GivenInfo) -> (ReleaseRow, Map<String, Value>) {
    let (mut new, mut changes) = (old.clone(), Map::new());
    let mut note = |name: &str, value: Value| {
        changes.insert(name.to_owned(), value);
    };
    if let Some(range) = info.app_version.as_ref().map(shared::version::Range::text).filter(|range| **range != old.app_version) {
        range.clone_into(&mut new.app_version);
        note("appVersion", json!(range));
    }
    // No notes and empty notes are the same to whoever reads them.
    if let Some(text) = info.description.as_ref().filter(|text| **text != old.description.as_deref().unwrap_or_default()) {
        new.description = Some(text.clone());
        note("description", Value::Null);
    }
    if let Some(flag) = info.is_mandatory.filter(|flag| *flag != old.is_mandatory) {
        new.is_mandatory = flag;
        note("isMandatory", json!(flag));
    }
    if let Some(flag) = info.is_disabled.filter(|flag| *flag != old.is_disabled) {
        new.is_disabled = flag;
        note("isDisabled", json!(flag));
    }
    if let Some(rollout) = info.rollout.map(|rollout| stored_rollout(rollout).map(i64::from)).filter(|rollout| *rollout != old.rollout) {
        new.rollout = rollout;
        note("rollout", json!(rollout));
    }
    if let Some(hash) = info.package_hash.as_ref().filter(|hash| **hash != old.package_hash) {
        new.package_hash = hash.clone();
        note("packageHash", json!(hash));
    }
    (new, changes)
}

/// Refuses what the rules of decisions section 3 refuse.
fn check(old: &ReleaseRow, new: &ReleaseRow, is_newest: bool) -> AppResult<()> {
    let name = format!("v{}", old.label);
    if new.rollout != old.rollout {
        let Some(current) = old.rollout else {
            return Err(AppError::Conflict(format!("rollout: {name} is for everybody already")));
        };
        if !is_newest {
            return Err(AppError::Conflict(format!("rollout: {name} is not the newest release, so that its rollout is complete")));
        }
        if new.rollout.is_some_and(|rollout| rollout < current) {
            return Err(AppError::Conflict(format!("rollout: must not be lower than {current}, which it is now")));
        }
    }
    if old.is_disabled && !new.is_disabled && !is_newest && new.rollout.is_some() {
        let text = format!("isDisabled: {name} is not the newest release and its rollout is unfinished, so that it stays disabled");
        return Err(AppError::Conflict(text));
    }
    if new.description != old.description && old.release_method == "Promote" {
        let text = format!("description: {name} was promoted with it, and keeps it; release again to have another");
        return Err(AppError::Conflict(text));
    }
    Ok(())
}

/// The hash of what is really stored for the release, when the patch says another one than its row: the row may be corrected, by that hash alone.
async fn prove_hash(app: &Context, of: &AppId, deployment: &str, patch: &Patch) -> AppResult<Option<(ReleaseId, PackageHash)>> {
    let Some(said) = &patch.info.package_hash else { return Ok(None) };
    let row = {
        let mut tx = app.db.read().await?;
        let deployment = deployments::find(&mut tx, of, deployment).await?;
        asked_for(&mut tx, &deployment.id, patch.label).await?
    };
    match row {
        Some(row) if row.package_hash != *said => {
            let hash = stored_hash(app, of, &row).await?;
            Ok(Some((row.id, hash)))
        }
        _ => Ok(None),
    }
}

async fn asked_for(tx: &mut ReadTx, deployment: &shared::ids::DeploymentId, label: Option<Label>) -> sqlx::Result<Option<ReleaseRow>> {
    match label {
        Some(label) => repo::find(tx, deployment, label).await,
        None => repo::newest(tx, deployment).await,
    }
}

/// The hash of the package by what is stored: of a single file that of its bytes, else that of its manifest, whose own name is proven.
async fn stored_hash(app: &Context, of: &AppId, row: &ReleaseRow) -> AppResult<PackageHash> {
    let Some(manifest) = &row.manifest_sha256 else { return Ok(row.blob_sha256.clone()) };
    let key = BlobKey { app: of.clone(), sha256: manifest.clone() };
    let found = app.storage.open(&key, None).await.map_err(AppError::unavailable)?;
    let mut reader = found.ok_or_else(|| AppError::unavailable("the manifest of a release is not in the store"))?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.map_err(AppError::unavailable)?;
    if Sha256Hex::of(&bytes) != *manifest {
        return Err(AppError::internal("the manifest of a release is damaged"));
    }
    Ok(Manifest::from_json(&bytes).map_err(AppError::internal)?.package_hash())
}
