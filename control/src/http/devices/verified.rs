//! The bytes of a whole bundle, verified on the way: the storage is not trusted to give what was stored.
//!
//! Who can write to a bucket could otherwise ship code to every device. The last chunk is withheld until all bytes have the hash that names the object.
//! If they do not, the stream fails, so that the client gets fewer bytes than `Content-Length` says, and no client installs that.

use std::io;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use sha2::{Digest, Sha256};
use shared::hash::{BlobKey, hex};
use shared::wire::edge::{Distrusted, EdgeCounters};

use super::suspects;
use crate::domain::edge_counters;
use crate::domain::error::chain;
use crate::http::AppState;

/// Who says so in the counters.
const REPORTER: &str = "control";

struct Verification<S> {
    app: AppState,
    chunks: S,
    key: BlobKey,
    hasher: Sha256,
    /// The chunk that was read last.
    held: Option<Bytes>,
}

/// The chunks of the object `key`, the last one only if all are what its name says.
pub(super) fn verified(
    app: AppState,
    key: BlobKey,
    chunks: impl Stream<Item = io::Result<Bytes>> + Send + Unpin + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(Verification { app, chunks, key, hasher: Sha256::new(), held: None }, |mut state| async move {
        loop {
            if let Some(chunk) = state.chunks.next().await.transpose()? {
                // Held back in place of bytes, it would let all of them go.
                if chunk.is_empty() {
                    continue;
                }
                state.hasher.update(&chunk);
                if let Some(previous) = state.held.replace(chunk) {
                    return Ok(Some((previous, state)));
                }
                continue;
            }
            let Some(last) = state.held.take() else { return Ok(None) };
            if hex(&state.hasher.finalize_reset()) == state.key.sha256.as_str() {
                return Ok(Some((last, state)));
            }
            suspects::look(&state.app, &state.key);
            note(&state.app, &state.key).await;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the bundle is not what was stored"));
        }
    })
}

/// Logs an altered bundle, and has health say so.
async fn note(app: &AppState, key: &BlobKey) {
    tracing::error!(app = %key.app, sha256 = %key.sha256, "a bundle in the storage is not what was stored; its download was ended");
    let call = EdgeCounters {
        isolate: REPORTER.to_owned(),
        // One row a second is enough, however many devices ask.
        sequence: app.now().as_millis() / 1_000,
        counts: Distrusted { altered_bundles: 1, ..Distrusted::default() },
    };
    if let Err(error) = edge_counters::record(&app.db, &call, app.now()).await {
        tracing::warn!(cause = %chain(&error), "an altered bundle could not be counted");
    }
}
