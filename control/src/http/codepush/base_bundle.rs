//! The bundle that devices have, for clients that compile the next one against it.

use axum::extract::{RawQuery, State};
use serde::Serialize;
use shared::hash::BlobKey;
use shared::keys::Label;
use shared::signature::download_url;
use shared::version::{AppVersion, Range};
use shared::{FieldErrors, Invalid};

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ManageReleases;
use crate::domain::error::Result;
use crate::domain::releases::base_bundle::{self, Binaries};
use crate::domain::releases::service::label;
use crate::http::AppState;
use crate::http::extract::query::parameter;
use crate::http::extract::{DeploymentPath, Json};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    bundle_blob_url: String,
    label: Label,
}

/// The answer: an empty object if there is no such bundle.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct BaseBundle {
    basebundle: Basebundle,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Basebundle {
    #[serde(flatten)]
    found: Option<Found>,
}

/// The archive of the newest release for `appVersion` that is enabled and fully rolled out. `buildNumber`, which clients may send, decides nothing here.
pub(super) async fn find(
    State(app): State<AppState>,
    grant: AppGrant<ManageReleases>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> Result<Json<BaseBundle>> {
    let asked = parameter(query.as_deref().unwrap_or_default(), "appVersion")?;
    let binaries = asked.ok_or(Invalid::REQUIRED).and_then(|text| read(&text)).map_err(|error| FieldErrors::of("appVersion", error))?;
    let Some(release) = base_bundle::find(&app, &grant, &deployment, &binaries).await? else { return Ok(Json(BaseBundle::default())) };
    let blob = BlobKey { app: grant.app().clone(), sha256: release.blob_sha256 };
    let found = Found { bundle_blob_url: download_url(&app.download_urls(), &blob), label: label(release.label)? };
    Ok(Json(BaseBundle { basebundle: Basebundle { found: Some(found) } }))
}

/// A version, as devices send it, or a range, as releases have it.
fn read(text: &str) -> Result<Binaries, Invalid> {
    AppVersion::parse(text).map(Binaries::Version).or_else(|_| Range::parse(text).map(Binaries::Range))
}
