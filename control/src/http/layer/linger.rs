//! Lingering close: reads the rest of a body that a refusal leaves unread.
//!
//! Closing a connection with unread bytes resets it, and a client that is still sending never sees the response. So the rest is read and discarded for
//! a while, in the background and without delaying the response.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use futures_util::{StreamExt, stream};

/// Maximum number of bytes to discard. Clients look for a response while they send, so it only matters that they are not reset in the first moments.
const MAX_BYTES: usize = 32 << 20;

/// Maximum time to discard for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The same for requests through the edge: more than the largest upload. The edge's runtime treats a response before the end of the body as a broken
/// connection, and would tell its client that the service is unavailable.
const MAX_BYTES_OF_EDGE: usize = 256 << 20;

/// Maximum time to discard a request through the edge.
const TIMEOUT_OF_EDGE: Duration = Duration::from_mins(1);

/// A handle to the body of a request, shared with its handler.
#[derive(Debug)]
pub(crate) struct Rest(Option<Arc<Mutex<Reading>>>);

#[derive(Debug)]
struct Reading {
    body: BodyDataStream,
    is_over: bool,
}

impl Reading {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let polled = self.body.poll_next_unpin(context);
        // After an error there is nothing more to read.
        self.is_over |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }
}

fn poll(reading: &Mutex<Reading>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
    reading.lock().unwrap_or_else(PoisonError::into_inner).poll(context)
}

/// Wraps the request's body, and returns a handle to it.
pub(crate) fn watch(request: Request) -> (Request, Rest) {
    if request.body().is_end_stream() {
        return (request, Rest(None));
    }
    let waits = request.headers().contains_key(header::EXPECT);
    let mut rest = None;
    let request = request.map(|body| {
        let reading = Arc::new(Mutex::new(Reading { body: body.into_data_stream(), is_over: false }));
        rest = Some(Arc::clone(&reading));
        Body::from_stream(stream::poll_fn(move |context| poll(&reading, context)))
    });
    // A client with `Expect: 100-continue` sends nothing until it is told to; reading would tell it.
    (request, Rest(rest.filter(|_| !waits)))
}

impl Rest {
    /// Discards what the handler left unread, in the background. Returns whether there was any. Call it when the handler is done with the body.
    pub(crate) fn discard_in_background(self) -> bool {
        let Some(reading) = self.0 else { return false };
        if reading.lock().unwrap_or_else(PoisonError::into_inner).is_over {
            return false;
        }
        tokio::spawn(drain(reading, MAX_BYTES, TIMEOUT));
        true
    }

    /// Discards the rest of a request signed by the edge, and waits for its end: the edge must send everything before the response. Returns whether
    /// something is still unread.
    pub(crate) async fn discard(self) -> bool {
        let Some(reading) = self.0 else { return false };
        if reading.lock().unwrap_or_else(PoisonError::into_inner).is_over {
            return false;
        }
        drain(Arc::clone(&reading), MAX_BYTES_OF_EDGE, TIMEOUT_OF_EDGE).await;
        let is_over = reading.lock().unwrap_or_else(PoisonError::into_inner).is_over;
        !is_over
    }
}

async fn drain(reading: Arc<Mutex<Reading>>, max_bytes: usize, timeout: Duration) {
    let mut rest = stream::poll_fn(move |context| poll(&reading, context));
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(chunk)) = rest.next().await {
            bytes += chunk.len();
            if bytes > max_bytes {
                break;
            }
        }
    };
    // A client that sends for longer has read the response by now, or never will.
    drop(tokio::time::timeout(timeout, reading).await);
}
