//! The releases of a deployment as the API and the CodePush dialect list them: `{"history":[…]}`.
//!
//! A long history is streamed: some releases are read at a time, only as fast as the client takes them, because all of them can have hundreds of megabytes.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use shared::ids::AppId;
use shared::wire::check::DownloadUrls;

use crate::domain::access::AppGrant;
use crate::domain::access::grant::ReadApp;
use crate::domain::error::{Cause, Error, Result, chain};
use crate::domain::releases::service::{History, Release};
use crate::http::AppState;

const OPENING: &[u8] = br#"{"history":["#;
const CLOSING: &[u8] = b"]}";

/// A history that is being sent. `shown` is the wire form of a release.
struct Sending<S> {
    state: AppState,
    app: AppId,
    history: History,
    shown: S,
    /// Whether no release was sent yet.
    is_first: bool,
}

/// The response. Errors: 404.
pub(super) async fn response<T, S>(state: &AppState, grant: &AppGrant<ReadApp>, deployment: &str, shown: S) -> Result<Response>
where
    T: Serialize + 'static,
    S: Fn(&AppId, Release, &DownloadUrls<'_>) -> Result<T> + Send + 'static,
{
    let history = History::open(&state.db, grant, deployment).await?;
    let mut sending = Sending { state: state.clone(), app: grant.app().clone(), history, shown, is_first: true };
    let mut bytes = OPENING.to_vec();
    sending.next(&mut bytes).await?;
    let headers = [(header::CONTENT_TYPE, "application/json")];
    if sending.history.is_read() {
        bytes.extend_from_slice(CLOSING);
        return Ok((headers, bytes).into_response());
    }
    let body = Body::from_stream(stream::try_unfold((bytes, Some(sending)), |(bytes, sending)| send(bytes, sending)));
    Ok((headers, body).into_response())
}

/// What is sent, and what is sent next.
type Sent<S> = Option<(Vec<u8>, (Vec<u8>, Option<Sending<S>>))>;

/// The bytes to send now, and the next ones. An error closes the connection before the end, so that no client takes the response for complete.
async fn send<T, S>(bytes: Vec<u8>, sending: Option<Sending<S>>) -> Result<Sent<S>, Cause>
where
    T: Serialize + 'static,
    S: Fn(&AppId, Release, &DownloadUrls<'_>) -> Result<T>,
{
    let Some(mut sending) = sending else {
        return Ok((!bytes.is_empty()).then(|| (bytes, (Vec::new(), None))));
    };
    let mut next = Vec::new();
    let read = sending.next(&mut next).await;
    read.inspect_err(|error| tracing::warn!(cause = %chain(error), "a response with a history was cut off"))?;
    if sending.history.is_read() {
        next.extend_from_slice(CLOSING);
        return Ok(Some((bytes, (next, None))));
    }
    Ok(Some((bytes, (next, Some(sending)))))
}

impl<T, S> Sending<S>
where
    T: Serialize + 'static,
    S: Fn(&AppId, Release, &DownloadUrls<'_>) -> Result<T>,
{
    /// Reads some releases, and adds them as further elements of the JSON array.
    async fn next(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let releases = self.history.next(&self.state.db).await?;
        let urls = self.state.download_urls();
        for release in releases {
            if !std::mem::take(&mut self.is_first) {
                bytes.push(b',');
            }
            serde_json::to_writer(&mut *bytes, &(self.shown)(&self.app, release, &urls)?).map_err(Error::internal)?;
        }
        Ok(())
    }
}
