//! The update check: parses the query and writes the response. `shared::select` makes the decision.

use shared::select::{CheckRequest, select};
use shared::signature::DownloadUrls;
use shared::snapshot::Snapshot;
use shared::time::UnixMillis;
use shared::wire::check;
use shared::wire::path::Endpoint;
use worker::web_sys;

use crate::Call;
use crate::env::Settings;
use crate::reply::{Failure, Refusal, Reply};
use crate::store;

/// Answers a check from the deployment's snapshot.
pub(crate) async fn answer(call: &Call<'_>, reply: &Reply<'_>, endpoint: &Endpoint, query: &str) -> Result<web_sys::Response, Failure> {
    let request = check::parse_query(query).map_err(|fault| Refusal::new(400, fault.to_string()))?;
    let snapshot = store::snapshot(call, &request.deployment_key).await?;
    reply.json(&body(call.settings, call.now, endpoint, &request, &snapshot))
}

/// The response body of a check.
pub(crate) fn body(settings: &Settings, now: UnixMillis, endpoint: &Endpoint, request: &CheckRequest, snapshot: &Snapshot) -> String {
    let decision = select(snapshot, request);
    let urls = DownloadUrls { base_url: &settings.base_url, secret: settings.download_secrets.first(), now };
    check::answer(endpoint.case, request, snapshot, &decision, &urls)
}
