//! The update check: query in, decision out. The decision itself is `shared::select`'s.

use shared::select::select;
use shared::signature::DownloadUrls;
use shared::wire::check;
use shared::wire::path::Endpoint;
use worker::web_sys;

use crate::Call;
use crate::reply::{Failure, Refusal, Reply};
use crate::store;

/// Answers a check from the deployment's snapshot.
pub(crate) async fn answer(call: &Call<'_>, reply: &Reply<'_>, endpoint: &Endpoint, query: &str) -> Result<web_sys::Response, Failure> {
    let request = check::parse_query(query).map_err(|fault| Refusal::new(400, fault.to_string()))?;
    let snapshot = store::snapshot(call, &request.deployment_key).await?;
    let decision = select(&snapshot, &request);
    let urls = DownloadUrls { base_url: &call.settings.base_url, secret: call.settings.download_secrets.first(), now: call.now };
    reply.json(&check::answer(endpoint.case, &request, &snapshot, &decision, &urls))
}
