//! The list of a deployment's releases.

use axum::extract::{RawQuery, State};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::api::releases::{ListedRelease, ReleaseMethod, ReleasesAnswer};
use shared::{FieldErrors, Invalid};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::releases::present_method;
use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::error::Result;
use crate::domain::releases::listing::{self, Page};
use crate::domain::releases::repo::{ListFilter, ReleaseRow};
use crate::domain::releases::service::label;
use crate::http::AppState;
use crate::http::extract::{DeploymentPath, Json};

/// Releases on a page that names no number.
const DEFAULT_LIMIT: u8 = 25;

/// The most releases on a page.
const MAX_LIMIT: u8 = 100;

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
) -> Result<Json<ReleasesAnswer>> {
    let page = read(query.as_deref().unwrap_or_default())?;
    let (rows, next) = listing::list(&mut app.db.read().await?, &grant, &deployment, &page).await?;
    let next_cursor = next.map(|after| cursor(after, page.filter.is_ascending));
    Ok(Json(ReleasesAnswer { releases: rows.into_iter().map(present).collect::<Result<_>>()?, next_cursor }))
}

fn present(row: ReleaseRow) -> Result<ListedRelease> {
    Ok(ListedRelease {
        app_version: row.app_version,
        description: row.description,
        is_disabled: row.is_disabled,
        is_mandatory: row.is_mandatory,
        label: label(row.label)?,
        original_deployment: row.original_deployment,
        original_label: row.original_label.map(label).transpose()?,
        package_hash: row.package_hash,
        released_by: row.released_by,
        release_method: present_method(row.release_method),
        rollout: row.rollout,
        size: row.size,
        upload_time: row.upload_time,
    })
}

/// Reads the query; empty is absent. Errors: every bad parameter.
fn read(query: &str) -> Result<Page, FieldErrors> {
    let (mut page, mut cursor, mut errors) =
        (Page { limit: DEFAULT_LIMIT, after: None, filter: ListFilter::default(), search: None }, None, FieldErrors::default());
    for (name, value) in form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| !value.is_empty()) {
        match name.as_ref() {
            "limit" => {
                let number = value.parse().ok().filter(|number| (1..=MAX_LIMIT).contains(number));
                page.limit = errors.take("limit", number.ok_or("must be a whole number from 1 to 100")).unwrap_or(DEFAULT_LIMIT);
            }
            "order" => {
                let is_ascending = match value.as_ref() {
                    "asc" => Ok(true),
                    "desc" => Ok(false),
                    _ => Err("must be asc or desc"),
                };
                page.filter.is_ascending = errors.take("order", is_ascending).unwrap_or(false);
            }
            "cursor" => cursor = Some(value.into_owned()),
            "appVersion" => page.filter.app_version = errors.take("appVersion", storable(&value)),
            "releaseMethod" => page.filter.release_method = errors.take("releaseMethod", value.parse()),
            "isDisabled" => page.filter.is_disabled = errors.take("isDisabled", flag(&value)),
            "isMandatory" => page.filter.is_mandatory = errors.take("isMandatory", flag(&value)),
            "search" => page.search = Some(value.to_lowercase()),
            _ => {}
        }
    }
    let after = cursor.map(|cursor| place(&cursor, page.filter.is_ascending).ok_or("is not one of this list and order")).transpose();
    page.after = errors.take("cursor", after).flatten();
    if errors.is_empty() { Ok(page) } else { Err(errors) }
}

fn flag(value: &str) -> Result<bool, &'static str> {
    value.parse().map_err(|_| "must be true or false")
}

/// A text that the database can compare with: PostgreSQL knows no NUL.
fn storable(value: &str) -> Result<String, Invalid> {
    if value.contains('\0') { Err(Invalid::from("must not contain a NUL character")) } else { Ok(value.to_owned()) }
}

fn order(is_ascending: bool) -> &'static str {
    if is_ascending { "asc" } else { "desc" }
}

/// The place after the label with this number, as the next page's cursor says it.
fn cursor(after: i64, is_ascending: bool) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {after}", order(is_ascending)))
}

/// The place that a cursor of this order says.
fn place(cursor: &str, is_ascending: bool) -> Option<i64> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (order_then, after) = std::str::from_utf8(&bytes).ok()?.split_once(' ')?;
    let after: u32 = after.parse().ok()?;
    (order_then == order(is_ascending)).then(|| i64::from(after))
}
