//! Limits the memory and time that a multipart body costs while it is parsed.
//!
//! The parser buffers everything that it has not yet returned. It would buffer an endless part header completely, and scan it again with every
//! chunk. So the meter counts received bytes, subtracts those that the parser returned, and ends a body that stalls.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::extract::multipart::{MultipartError, MultipartRejection};
use axum::http::StatusCode;
use futures_util::{StreamExt, stream};

use crate::domain::error::{Error, Result};
use crate::domain::releases::upload::too_large;
use shared::FieldErrors;

/// Maximum number of bytes in the parser's buffer: boundaries, headers, and one chunk from the network.
const MAX_BUFFERED: u64 = 1 << 20;

/// How often in a row the parser may ask for more without progress while its buffer is full.
const MAX_STALLS: u32 = 64;

/// Timeout for the next bytes from the client.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(1);

/// The counters of one body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    received: AtomicU64,
    returned: AtomicU64,
    /// The largest body allowed.
    max: AtomicU64,
    end: AtomicU8,
}

/// Why the body was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum AbortReason {
    TooLarge = 1,
    TooMuchBuffered = 2,
    Silent = 3,
}

/// Wraps the request's body: it fails once it is larger than `max`, fills the parser's buffer without progress, or stalls.
pub(crate) fn watch(request: Request, max: u64) -> (Request, Meter) {
    let meter = Meter::default();
    meter.raise(max);
    let mut counting = meter.clone();
    let request = request.map(|body| {
        let mut chunks = body.into_data_stream();
        let mut silence = Box::pin(tokio::time::sleep(SILENCE_TIMEOUT));
        let mut stalls = Stalls::default();
        Body::from_stream(stream::poll_fn(move |context| {
            let (received, returned) = (counting.0.received.load(Ordering::Relaxed), counting.0.returned.load(Ordering::Relaxed));
            if received.saturating_sub(returned) > MAX_BUFFERED {
                if stalls.again(returned) {
                    return Poll::Ready(Some(Err(counting.abort(AbortReason::TooMuchBuffered))));
                }
                // The parser reads all available bytes before it parses any. `Pending` makes it parse what it has.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let chunk = match chunks.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(chunk))) => chunk,
                Poll::Pending if silence.as_mut().poll(context).is_ready() => {
                    return Poll::Ready(Some(Err(counting.abort(AbortReason::Silent))));
                }
                other => return other,
            };
            silence.set(tokio::time::sleep(SILENCE_TIMEOUT));
            if received + counting.receive(&chunk) > counting.0.max.load(Ordering::Relaxed) {
                return Poll::Ready(Some(Err(counting.abort(AbortReason::TooLarge))));
            }
            Poll::Ready(Some(Ok(chunk)))
        }))
    });
    (request, meter)
}

/// The refusal of a body that is not a multipart form.
pub(crate) fn rejected(rejection: &MultipartRejection) -> Error {
    match rejection.status() {
        StatusCode::BAD_REQUEST if matches!(rejection, MultipartRejection::InvalidBoundary(_)) => {
            Error::WrongType("multipart/form-data with a boundary")
        }
        _ => Error::Invalid(FieldErrors::of_request("the multipart body cannot be read")),
    }
}

/// How often in a row the parser asked for more without returning anything, while its buffer was full.
#[derive(Debug, Default)]
struct Stalls {
    returned: u64,
    times: u32,
}

impl Stalls {
    /// Counts a stall; whether there are too many now. Between two parts the parser asks a few times. If it asks this often, it waits for the end of
    /// a header that does not come.
    fn again(&mut self, returned: u64) -> bool {
        if self.returned != returned {
            *self = Self { returned, times: 0 };
        }
        self.times += 1;
        self.times > MAX_STALLS
    }
}

impl Meter {
    /// Counts a chunk that the parser returned; an error becomes the refusal. `limit` is the maximum size of a bundle.
    pub(crate) fn take(&self, chunk: Result<Bytes, MultipartError>, limit: u64) -> Result<Bytes> {
        let chunk = chunk.map_err(|error| self.fault(&error, limit))?;
        self.0.returned.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        Ok(chunk)
    }

    /// Sets the largest body allowed, once it is known who sends it.
    pub(crate) fn raise(&self, max: u64) {
        self.0.max.store(max, Ordering::Relaxed);
    }

    fn receive(&mut self, chunk: &Bytes) -> u64 {
        self.0.received.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        chunk.len() as u64
    }

    fn abort(&self, reason: AbortReason) -> axum::Error {
        self.0.end.store(reason as u8, Ordering::Relaxed);
        axum::Error::new(std::io::Error::other("the body was aborted"))
    }

    /// The refusal for a parser error; `limit` is the maximum size of a bundle.
    pub(crate) fn fault(&self, error: &MultipartError, limit: u64) -> Error {
        match self.0.end.load(Ordering::Relaxed) {
            end if end == AbortReason::TooLarge as u8 => too_large(limit),
            end if end == AbortReason::TooMuchBuffered as u8 => {
                Error::Invalid(FieldErrors::of_request("the multipart body is malformed: the header of a part is too long"))
            }
            end if end == AbortReason::Silent as u8 => {
                Error::Invalid(FieldErrors::of_request("the multipart body ended early: no data was received for a minute"))
            }
            _ if error.status() == StatusCode::PAYLOAD_TOO_LARGE => too_large(limit),
            _ => Error::Invalid(FieldErrors::of_request(format!("the multipart body is malformed: {}", error.body_text()))),
        }
    }
}
