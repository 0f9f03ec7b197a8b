//! The list of a deployment's releases: in pages that stay where they are while releases are added, and filtered.

use axum::extract::{RawQuery, State};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use shared::hash::PackageHash;
use shared::ids::DeploymentId;
use shared::keys::Label;
use shared::time::UnixMillis;
use shared::{FieldErrors, Invalid};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::repo::{self, ListFilter, ReleaseRow};
use super::service::label;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::deployments::service as deployments;
use crate::domain::error::{AppError, AppResult};
use crate::http::AppState;
use crate::http::api::releases::ReleaseMethod;
use crate::http::extract::{DeploymentPath, Json};
use crate::infra::db::ReadTx;

/// Releases on a page that names no number.
const DEFAULT_LIMIT: u8 = 25;

/// The most releases on a page.
const MAX_LIMIT: u8 = 100;

/// Releases that are looked through at once for a text.
const BATCH: i64 = 200;

/// A release in a list: all but what it takes a signature to give.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedRelease {
    /// The binary versions it is for, as given.
    pub app_version: String,
    /// Release notes.
    pub description: Option<String>,
    /// Whether it is offered to nobody.
    pub is_disabled: bool,
    /// Whether clients must take it.
    pub is_mandatory: bool,
    /// Its label.
    #[schema(value_type = String, pattern = "^v[1-9][0-9]{0,8}$")]
    pub label: Label,
    /// The deployment it was promoted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_deployment: Option<String>,
    /// The label it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^v[1-9][0-9]{0,8}$")]
    pub original_label: Option<Label>,
    /// The hash of its contents.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    pub package_hash: PackageHash,
    /// The address of the account that made it.
    pub released_by: String,
    /// Upload, Promote or Rollback.
    #[schema(value_type = ReleaseMethod)]
    pub release_method: String,
    /// 1-99 for a staged rollout, null for everybody.
    #[schema(minimum = 1, maximum = 99)]
    pub rollout: Option<i64>,
    /// The bundle's size in bytes.
    pub size: i64,
    /// When it was made.
    pub upload_time: UnixMillis,
}

impl TryFrom<ReleaseRow> for ListedRelease {
    type Error = AppError;

    fn try_from(row: ReleaseRow) -> AppResult<Self> {
        Ok(Self {
            app_version: row.app_version,
            description: row.description,
            is_disabled: row.is_disabled,
            is_mandatory: row.is_mandatory,
            label: label(row.label)?,
            original_deployment: row.original_deployment,
            original_label: row.original_label.map(label).transpose()?,
            package_hash: row.package_hash,
            released_by: row.released_by,
            release_method: row.release_method,
            rollout: row.rollout,
            size: row.size,
            upload_time: row.upload_time,
        })
    }
}

/// A page of releases.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleasesAnswer {
    releases: Vec<ListedRelease>,
    /// What leads to the next page; null on the last one.
    next_cursor: Option<String>,
}

/// The order of a list. It is for the document only.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "no value is made of what only describes")]
enum Order {
    /// From the oldest on.
    Asc,
    /// From the newest on.
    Desc,
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_releases))
}

/// List a deployment's releases, newest first unless the query says otherwise. Releases that are added meanwhile move nothing to another page.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/releases",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "How many releases at most; 25 unless given"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before; the order must be the same"),
        ("appVersion" = Option<String>, Query, description = "Only those for exactly this version or range, as it was given"),
        ("releaseMethod" = inline(Option<ReleaseMethod>), Query, description = "Only those that came to be so"),
        ("isDisabled" = Option<bool>, Query, description = "Only those that are offered to nobody, or only the others"),
        ("isMandatory" = Option<bool>, Query, description = "Only those that clients must take, or only the others"),
        ("search" = Option<String>, Query, description = "Only those with this text in the label or the description, in upper or lower case"),
        ("order" = inline(Option<Order>), Query, description = "By age; `desc` unless given"),
    ),
    responses((status = 200, body = ReleasesAnswer))
)]
pub async fn list_releases(
    State(app): State<AppState>,
    grant: AppGrant<ReadApp>,
    DeploymentPath(deployment): DeploymentPath,
    RawQuery(query): RawQuery,
) -> AppResult<Json<ReleasesAnswer>> {
    let page = Page::parse(query.as_deref().unwrap_or_default())?;
    let mut tx = app.db.read().await?;
    let deployment = deployments::find(&mut tx, grant.app(), &deployment).await?;
    Ok(Json(list(&mut tx, &deployment.id, &page).await?))
}

/// Which part of the list is asked for.
#[derive(Debug)]
struct Page {
    limit: u8,
    /// The number of the label that it follows.
    after: Option<i64>,
    filter: ListFilter,
    /// In lower case.
    search: Option<String>,
}

impl Page {
    /// Reads the query; empty is absent. Errors: 400, with every bad parameter.
    fn parse(query: &str) -> AppResult<Self> {
        let filter = ListFilter { is_ascending: false, app_version: None, release_method: None, is_disabled: None, is_mandatory: None };
        let (mut page, mut cursor, mut errors) =
            (Self { limit: DEFAULT_LIMIT, after: None, filter, search: None }, None, FieldErrors::default());
        for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
            match name.as_ref() {
                "limit" => {
                    let number = value.parse().ok().filter(|number| (1..=MAX_LIMIT).contains(number));
                    page.limit = errors.take("limit", number.ok_or("must be a whole number from 1 to 100")).unwrap_or(DEFAULT_LIMIT);
                }
                "order" => {
                    let order = choice(&value, &[("asc", true), ("desc", false)]).ok_or("must be asc or desc");
                    page.filter.is_ascending = errors.take("order", order).unwrap_or(false);
                }
                "cursor" => cursor = Some(value.into_owned()),
                "appVersion" => page.filter.app_version = errors.take("appVersion", storable(&value)),
                "releaseMethod" => {
                    let methods = [("Upload", "Upload"), ("Promote", "Promote"), ("Rollback", "Rollback")];
                    page.filter.release_method =
                        errors.take("releaseMethod", choice(&value, &methods).ok_or("must be Upload, Promote or Rollback"));
                }
                "isDisabled" => page.filter.is_disabled = errors.take("isDisabled", flag(&value)),
                "isMandatory" => page.filter.is_mandatory = errors.take("isMandatory", flag(&value)),
                "search" => page.search = Some(value.to_lowercase()),
                _ => {}
            }
        }
        let after = cursor.map(|cursor| Place::read(&cursor, page.filter.is_ascending)).transpose();
        page.after = errors.take("cursor", after.map_err(|()| "is not one of this list and order")).flatten();
        if errors.is_empty() { Ok(page) } else { Err(errors.into()) }
    }

    fn matches(&self, row: &ReleaseRow) -> bool {
        let Some(search) = &self.search else { return true };
        format!("v{}", row.label).contains(search) || row.description.as_ref().is_some_and(|text| text.to_lowercase().contains(search))
    }
}

fn choice<T: Copy>(value: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == value).map(|(_, meant)| *meant)
}

fn flag(value: &str) -> Result<bool, &'static str> {
    choice(value, &[("true", true), ("false", false)]).ok_or("must be true or false")
}

/// A text that the database can compare with: PostgreSQL knows no NUL.
fn storable(value: &str) -> Result<String, Invalid> {
    if value.contains('\0') { Err(Invalid::from("must not contain a NUL character")) } else { Ok(value.to_owned()) }
}

/// Where a page ends, as the next page's cursor says it. Labels only grow and are never used again, so a place stays where it is, whatever is added
/// or cleared away.
struct Place;

impl Place {
    fn order(is_ascending: bool) -> &'static str {
        if is_ascending { "asc" } else { "desc" }
    }

    fn write(after: i64, is_ascending: bool) -> String {
        URL_SAFE_NO_PAD.encode(format!("{} {after}", Self::order(is_ascending)))
    }

    fn read(cursor: &str, is_ascending: bool) -> Result<i64, ()> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(drop)?;
        let (order, after) = std::str::from_utf8(&bytes).map_err(drop)?.split_once(' ').ok_or(())?;
        let after: u32 = after.parse().map_err(drop)?;
        if order == Self::order(is_ascending) { Ok(i64::from(after)) } else { Err(()) }
    }
}

/// A page, and whether another one follows. A text is looked for here and not in SQL, since databases fold cases each in its own way.
async fn list(tx: &mut ReadTx, deployment: &DeploymentId, page: &Page) -> AppResult<ReleasesAnswer> {
    let limit = usize::from(page.limit);
    // One more than is shown, to know whether there is another page.
    let batch = if page.search.is_some() { BATCH } else { i64::from(page.limit) + 1 };
    let mut after = page.after.unwrap_or(if page.filter.is_ascending { 0 } else { i64::MAX });
    let mut found = Vec::new();
    loop {
        let rows = repo::list(tx, deployment, &page.filter, after, batch).await?;
        let last = rows.last().map(|row| row.label);
        found.extend(rows.into_iter().filter(|row| page.matches(row)));
        match last {
            Some(last) if found.len() <= limit => after = last,
            _ => break,
        }
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| has_more).map(|row| Place::write(row.label, page.filter.is_ascending));
    let releases = found.into_iter().map(ListedRelease::try_from).collect::<AppResult<Vec<_>>>()?;
    Ok(ReleasesAnswer { releases, next_cursor })
}
