//! Release list endpoint.

use axum::extract::{RawQuery, State};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shared::api::releases::{ListedRelease, ReleaseMethod, ReleasesAnswer};
use shared::{FieldErrors, Invalid};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::error::Result;
use crate::domain::releases::listing::{self, Page};
use crate::domain::releases::repo::{ListFilter, ReleaseRow};
use crate::domain::releases::service::label;
use crate::http::AppState;
use crate::http::extract::query::{page_size, parameters};
use crate::http::extract::{DeploymentPath, Json};
use crate::http::present::release_method;

/// The default page size.
const DEFAULT_LIMIT: u8 = 25;

/// The largest page size.
const MAX_LIMIT: u8 = 100;

/// The order of a list, for the OpenAPI document only.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only describes; never constructed")]
enum Order {
    /// Oldest first.
    Asc,
    /// Newest first.
    Desc,
}

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_releases))
}

/// List releases.
///
/// Releases are sorted newest first by default. New releases do not shift the pages that follow.
#[utoipa::path(
    get,
    path = "/v1/apps/{app}/deployments/{deployment}/releases",
    tag = "releases",
    security(("bearer" = ["app.read"])),
    params(
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Maximum number of releases. Default: 25"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page, with the same `order`"),
        ("appVersion" = Option<String>, Query, description = "Only releases with exactly this `appVersion`"),
        ("releaseMethod" = inline(Option<ReleaseMethod>), Query, description = "Only releases created by this method"),
        ("isDisabled" = Option<bool>, Query, description = "Only disabled releases, or only enabled ones"),
        ("isMandatory" = Option<bool>, Query, description = "Only mandatory releases, or only optional ones"),
        ("search" = Option<String>, Query, description = "Only releases with this text in the label or description. Case-insensitive"),
        ("order" = inline(Option<Order>), Query, description = "Sort order by age. Default: `desc`"),
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
    // Before the transaction, so that searches do not occupy the connections of others.
    let _turn = match page.search {
        Some(_) => Some(app.front.search_turns.take(grant.account()).await?),
        None => None,
    };
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
        release_method: release_method(row.release_method),
        rollout: row.rollout,
        size: row.size,
        upload_time: row.upload_time,
    })
}

/// Reads the query. Empty means absent. Errors: every invalid parameter.
fn read(query: &str) -> Result<Page, FieldErrors> {
    let mut errors = FieldErrors::default();
    let names = ["limit", "order", "cursor", "appVersion", "releaseMethod", "isDisabled", "isMandatory", "search"];
    let [limit, order, cursor, app_version, method, disabled, mandatory, search] = parameters(query, names, &mut errors);
    let is_ascending = match order.as_deref() {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(_) => {
            errors.add("order", "must be asc or desc");
            false
        }
    };
    let after = cursor.map(|cursor| place(&cursor, is_ascending).ok_or("belongs to another list or order")).transpose();
    let page = Page {
        limit: errors.take("limit", page_size(limit, DEFAULT_LIMIT, MAX_LIMIT)).unwrap_or(DEFAULT_LIMIT),
        filter: ListFilter {
            is_ascending,
            app_version: errors.take("appVersion", app_version.as_deref().map(storable).transpose()).flatten(),
            release_method: errors.take("releaseMethod", method.as_deref().map(str::parse).transpose()).flatten(),
            is_disabled: errors.take("isDisabled", disabled.as_deref().map(flag).transpose()).flatten(),
            is_mandatory: errors.take("isMandatory", mandatory.as_deref().map(flag).transpose()).flatten(),
        },
        search: search.map(|text| text.to_lowercase()),
        after: errors.take("cursor", after).flatten(),
    };
    if errors.is_empty() { Ok(page) } else { Err(errors) }
}

fn flag(value: &str) -> Result<bool, &'static str> {
    value.parse().map_err(|_| "must be true or false")
}

/// A text that the database can compare with: PostgreSQL refuses NUL.
fn storable(value: &str) -> Result<String, Invalid> {
    if value.contains('\0') { Err(Invalid::from("must not contain a NUL character")) } else { Ok(value.to_owned()) }
}

fn order(is_ascending: bool) -> &'static str {
    if is_ascending { "asc" } else { "desc" }
}

/// The cursor of the page that begins after the label with this number.
fn cursor(after: i64, is_ascending: bool) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {after}", order(is_ascending)))
}

/// The number of the label in a cursor of this order.
fn place(cursor: &str, is_ascending: bool) -> Option<i64> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (order_then, after) = std::str::from_utf8(&bytes).ok()?.split_once(' ')?;
    let after: u32 = after.parse().ok()?;
    (order_then == order(is_ascending)).then(|| i64::from(after))
}
