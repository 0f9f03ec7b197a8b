//! Watches the bytes of a connection.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::state::Connection;
use crate::http::AppState;
use crate::http::layer as web;

/// The start of a response that the HTTP library writes itself, to something it cannot parse as a request.
const REFUSAL: &[u8] = b"HTTP/1.1 4";

/// The header that every other response has and such a response lacks.
const HEADERS: &[u8] = b"x-request-id:";

/// A connection's stream. Records received bytes, and whether the client reads what is sent.
#[derive(Debug)]
pub(super) struct Watched<I> {
    io: I,
    app: AppState,
    connection: Arc<Connection>,
    is_stalled: bool,
    /// The library's refusal with our headers, and how much of it has been written.
    refusal: Option<(Vec<u8>, usize)>,
}

impl<I> Watched<I> {
    pub(super) fn new(io: I, app: AppState, connection: Arc<Connection>) -> Self {
        Self { io, app, connection, is_stalled: false, refusal: None }
    }

    /// The library's refusal, with the headers of every response added. `None` unless the bytes are its whole head and no request is in flight.
    fn completed(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let is_own = bytes.starts_with(REFUSAL) && bytes.ends_with(b"\r\n\r\n") && self.connection.is_reading_head();
        if !is_own || bytes.windows(HEADERS.len()).any(|part| part.eq_ignore_ascii_case(HEADERS)) {
            return None;
        }
        let end = bytes.windows(2).position(|part| part == b"\r\n")? + 2;
        let (status, rest) = bytes.split_at_checked(end)?;
        Some([status, web::headers_of_all(&self.app).as_bytes(), rest].concat())
    }

    /// Records whether the client read something.
    fn note<T>(&mut self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() != self.is_stalled {
            self.is_stalled = polled.is_pending();
            self.connection.set_stalled(self.is_stalled);
        }
        polled
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        if buffer.filled().len() > before && !self.connection.receive() {
            return Poll::Ready(Err(Error::new(ErrorKind::ConnectionAborted, "the connection was evicted")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> Watched<I> {
    /// Writes the rest of a refusal. `length` is the length of the bytes that it replaces.
    fn poll_refusal(&mut self, context: &mut Context<'_>, length: usize) -> Poll<Result<usize>> {
        while let Some((refusal, written)) = &mut self.refusal {
            let Some(left) = refusal.get(*written..).filter(|left| !left.is_empty()) else { break };
            let polled = Pin::new(&mut self.io).poll_write(context, left);
            match ready!(polled)? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                more => *written += more,
            }
        }
        self.refusal = None;
        Poll::Ready(Ok(length))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.refusal.is_none() {
            self.refusal = self.completed(bytes).map(|refusal| (refusal, 0));
        }
        if self.refusal.is_some() {
            let polled = self.poll_refusal(context, bytes.len());
            return self.note(polled);
        }
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.note(polled)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        // The library writes its refusal alone. Other responses are written together with what follows their head.
        if let Some(first) = parts.iter().find(|part| !part.is_empty())
            && (self.refusal.is_some() || self.completed(first).is_some())
        {
            return self.poll_write(context, first);
        }
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
