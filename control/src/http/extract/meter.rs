//! What a multipart body may cost before a byte of it has become part of a file.
//!
//! The parser holds everything that it has not yet given out: a part's header without an end would be held whole, and looked through again
//! with every chunk. So the body is counted on its way in, what the parser gave out is subtracted, and a body that goes silent ends.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::extract::multipart::MultipartError;
use axum::http::StatusCode;
use futures_util::{StreamExt, stream};

use crate::domain::error::{Error, Result};
use crate::domain::releases::upload::too_large;
use shared::FieldErrors;

/// What the parser may hold back, in bytes: boundaries and headers, and a chunk of the network.
const MOST_HELD: u64 = 1 << 20;

/// How often the parser may ask for more, in a row and in vain, while it holds that much.
const MOST_STALLS: u32 = 64;

/// How long a client may send nothing.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// The counts of one body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    came: AtomicU64,
    taken: AtomicU64,
    end: AtomicU8,
}

/// Why the body was ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum End {
    TooLarge = 1,
    TooMuchHeld = 2,
    Silent = 3,
}

/// The request with a body that ends with an error once it is larger than `most`, fills up the parser for nothing, or falls silent.
pub(crate) fn watch(request: Request, most: u64) -> (Request, Meter) {
    let meter = Meter::default();
    let mut counting = meter.clone();
    let request = request.map(|body| {
        let mut chunks = body.into_data_stream();
        let mut silence = Box::pin(tokio::time::sleep(LONGEST_SILENCE));
        let mut stalls = Stalls::default();
        Body::from_stream(stream::poll_fn(move |context| {
            let (came, taken) = (counting.0.came.load(Ordering::Relaxed), counting.0.taken.load(Ordering::Relaxed));
            if came.saturating_sub(taken) > MOST_HELD {
                if stalls.again(taken) {
                    return Poll::Ready(Some(Err(counting.end(End::TooMuchHeld))));
                }
                // The parser takes all that it can get before it looks at any of it. Told that there is no more for the moment, it does.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let chunk = match chunks.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(chunk))) => chunk,
                Poll::Pending if silence.as_mut().poll(context).is_ready() => return Poll::Ready(Some(Err(counting.end(End::Silent)))),
                other => return other,
            };
            silence.set(tokio::time::sleep(LONGEST_SILENCE));
            if came + counting.came(&chunk) > most {
                return Poll::Ready(Some(Err(counting.end(End::TooLarge))));
            }
            Poll::Ready(Some(Ok(chunk)))
        }))
    });
    (request, meter)
}

/// How often the parser asked for more in a row without giving anything out, while it held too much.
#[derive(Debug, Default)]
struct Stalls {
    taken: u64,
    times: u32,
}

impl Stalls {
    /// Whether this was once too often. The parser asks a few times between two parts; one that asks this often waits for an end that does
    /// not come.
    fn again(&mut self, taken: u64) -> bool {
        if self.taken != taken {
            *self = Self { taken, times: 0 };
        }
        self.times += 1;
        self.times > MOST_STALLS
    }
}

impl Meter {
    /// A chunk that has left the parser, counted; or the refusal. `limit` is the bundle's.
    pub(crate) fn take(&self, chunk: Result<Bytes, MultipartError>, limit: u64) -> Result<Bytes> {
        let chunk = chunk.map_err(|error| self.fault(&error, limit))?;
        self.0.taken.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        Ok(chunk)
    }

    fn came(&mut self, chunk: &Bytes) -> u64 {
        self.0.came.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        chunk.len() as u64
    }

    fn end(&self, end: End) -> axum::Error {
        self.0.end.store(end as u8, Ordering::Relaxed);
        axum::Error::new(std::io::Error::other("the body was ended"))
    }

    /// The refusal for what the parser stumbled over; `limit` is the bundle's.
    pub(crate) fn fault(&self, error: &MultipartError, limit: u64) -> Error {
        match self.0.end.load(Ordering::Relaxed) {
            end if end == End::TooLarge as u8 => too_large(limit),
            end if end == End::TooMuchHeld as u8 => {
                Error::Invalid(FieldErrors::of_request("the multipart body is malformed: the header of a part is too long"))
            }
            end if end == End::Silent as u8 => {
                Error::Invalid(FieldErrors::of_request("the multipart body ended early: nothing came for a minute"))
            }
            _ if error.status() == StatusCode::PAYLOAD_TOO_LARGE => too_large(limit),
            _ => Error::Invalid(FieldErrors::of_request(format!("the multipart body is malformed: {}", error.body_text()))),
        }
    }
}
