//! The rest of a body that a refusal leaves unread.
//!
//! A connection that is closed on bytes not yet read is reset, and a client that is still sending then never sees the answer that it is given. So the
//! rest is read and thrown away for a while, beside the answer and without holding it up.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use futures_util::{StreamExt, stream};

/// Bytes that are thrown away. Clients look for an answer while they send, so it is enough that theirs are not lost in the first moments.
const MOST_BYTES: usize = 32 << 20;

/// How long.
const LONGEST: Duration = Duration::from_secs(5);

/// The same for what comes through the edge: more than the largest upload. Its runtime takes an answer that comes before the body has gone out
/// for a broken connection, and its client would be told that the service is not there.
const MOST_BYTES_OF_EDGE: usize = 256 << 20;

/// How long that may take.
const LONGEST_OF_EDGE: Duration = Duration::from_mins(1);

/// A handle to the body of a request that a handler has or had.
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
        // After an error there is no more to read, either.
        self.is_over |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }
}

fn poll(reading: &Mutex<Reading>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
    reading.lock().unwrap_or_else(PoisonError::into_inner).poll(context)
}

/// The request as it was, and a handle to its body.
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
    // A client that waits to be told to go on sends nothing more; to read on would tell it to.
    (request, Rest(rest.filter(|_| !waits)))
}

impl Rest {
    /// Throws away what the handler left, and says whether there was any. Call it when the handler is done with the body.
    pub(crate) fn throw_away(self) -> bool {
        let Some(reading) = self.0 else { return false };
        if reading.lock().unwrap_or_else(PoisonError::into_inner).is_over {
            return false;
        }
        tokio::spawn(drain(reading, MOST_BYTES, LONGEST));
        true
    }

    /// The same for a request that the edge has signed, which must have sent all before it is answered: waits for it.
    pub(crate) async fn read_through(self) -> bool {
        let Some(reading) = self.0 else { return false };
        if reading.lock().unwrap_or_else(PoisonError::into_inner).is_over {
            return false;
        }
        drain(Arc::clone(&reading), MOST_BYTES_OF_EDGE, LONGEST_OF_EDGE).await;
        let is_over = reading.lock().unwrap_or_else(PoisonError::into_inner).is_over;
        !is_over
    }
}

async fn drain(reading: Arc<Mutex<Reading>>, most: usize, longest: Duration) {
    let mut rest = stream::poll_fn(move |context| poll(&reading, context));
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(chunk)) = rest.next().await {
            bytes += chunk.len();
            if bytes > most {
                break;
            }
        }
    };
    // Whoever sends for longer has had its answer, or will never read it.
    drop(tokio::time::timeout(longest, reading).await);
}
