//! Wrappers for bodies: a request's body must not stall, and the end of a response's body is the end of the request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::state::UnderWay;

/// A request's body that fails if no bytes arrive for a while although a reader waits.
#[derive(Debug)]
pub(super) struct TimeoutBody<B> {
    body: B,
    pause: Duration,
    /// Runs while a reader waits.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    is_given_up: bool,
}

impl<B> TimeoutBody<B> {
    pub(super) fn new(body: B, pause: Duration) -> Self {
        Self { body, pause, timer: None, is_waiting: false, is_given_up: false }
    }
}

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin> HttpBody for TimeoutBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.is_given_up {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let pause = this.pause;
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(pause)));
        if !this.is_waiting {
            this.is_waiting = true;
            timer.as_mut().reset(Instant::now() + pause);
        }
        std::task::ready!(timer.as_mut().poll(context));
        this.is_given_up = true;
        Poll::Ready(Some(Err("the body timed out".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.is_given_up || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body. Keeps the request marked as in flight until it is dropped.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: Body,
    _under_way: UnderWay,
}

impl TrackedBody {
    pub(super) fn new(body: Body, under_way: UnderWay) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
