//! Connections: limits, timeouts, and closing.
//!
//! `bounds` has the limits, `table` counts connections and evicts idle ones, `state` tracks what one connection is doing, `stream` and `body` watch the
//! bytes, `descriptors` has the limit of the operating system, `edge_addresses` remembers the addresses of edges. Requests are handled elsewhere.
//! Start reading at [`serve`].

mod body;
mod bounds;
pub mod descriptors;
mod edge_addresses;
mod state;
mod stream;
mod table;

pub use edge_addresses::EdgeAddresses;
pub use table::Table;

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::http;
use axum::response::Response;
use axum::serve::Listener;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Sleep, sleep_until};
use tower::ServiceExt;

pub use bounds::Bounds;

use self::body::{TimeoutBody, TrackedBody};
use self::state::{Connection, UnderWay};
use self::stream::Watched;
use crate::http::AppState;

/// Maximum size of a request's head, in bytes (approximate). A client that sends it byte by byte makes us buffer that much.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Maximum number of concurrent streams of one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;

/// Serves until stopped, then waits for in-flight requests. Never fails: a listener that cannot accept waits until it can.
pub async fn serve<L, S>(
    mut listener: L,
    table: Arc<Table>,
    service: S,
    app: AppState,
    mut stopped: watch::Receiver<bool>,
) -> std::io::Result<()>
where
    L: Listener<Io = TcpStream, Addr = SocketAddr>,
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let bounds = app.front.settings.connections;
    // Nothing is ever sent: the receiver ends when the last connection drops its sender.
    let (open, mut closed) = mpsc::channel::<Infallible>(1);
    loop {
        let (io, peer) = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        // Disables Nagle's algorithm: otherwise a write after a first small one waits up to 40 ms for the client's ACK. A failure means that the client
        // has disconnected.
        let _ = io.set_nodelay(true);
        let address = peer.ip().to_canonical();
        let counted = (!is_exempt(&app, address)).then_some(address);
        // Otherwise the limit is reached and no connection is idle; dropping the socket closes it.
        let Some(connection) = table.accept(counted, Instant::now()) else { continue };
        tracing::trace!(connection = connection.id, "connection accepted");
        let io = Watched::new(io, app.clone(), Arc::clone(&connection));
        let service = ConnectionService { service: service.clone(), connection, peer, pause: bounds.pause };
        tokio::spawn(serve_connection(io, service, bounds, stopped.clone(), open.clone()));
    }
    drop((open, listener));
    closed.recv().await;
    Ok(())
}

/// Whether connections from this address are exempt from the limit per address: this machine, proxies and edges. Each serves many clients.
fn is_exempt(app: &AppState, address: IpAddr) -> bool {
    address.is_loopback()
        || app.front.settings.trusted_proxies.iter().any(|network| network.contains(&address))
        || app.front.edge_addresses.is_fresh(address, app.now())
}

/// Serves one connection until it closes.
async fn serve_connection<I, S>(
    io: Watched<I>,
    service: ConnectionService<S>,
    bounds: Bounds,
    mut stopped: watch::Receiver<bool>,
    _open: mpsc::Sender<Infallible>,
) where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let connection = Arc::clone(&service.connection);
    // Removes the connection from the table however this task ends, even by a panic.
    let _entry = TableEntry(&connection);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(None::<Duration>).max_buf_size(MAX_HEAD_BYTES);
    builder.http2().max_concurrent_streams(MAX_STREAMS).max_header_list_size(u32::try_from(MAX_HEAD_BYTES).unwrap_or(u32::MAX));
    let builder = if bounds.has_http2 {
        // With HTTP/2 enabled, `state` cannot tell a head's first byte from other frames. For HTTP/1.1 connections, hyper's own timeout is used.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(bounds.head);
        builder
    } else {
        builder.http1_only()
    };
    let mut serving = pin!(builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(service)));
    let mut alarm = pin!(sleep_until(Instant::now() + bounds.idle));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            biased;
            () = connection.evicted() => break,
            _ = stopped.wait_for(|stop| *stop), if !is_stopping => {
                is_stopping = true;
                serving.as_mut().graceful_shutdown();
            }
            // Errors are the client's: it disconnected, or did not send HTTP.
            _ = serving.as_mut() => break,
            // Polled after the connection, whose state is up to date by then.
            () = poll_fn(|context| overdue(&connection, alarm.as_mut(), context)) => break,
        }
    }
}

/// Ready once the connection's deadline has passed. The timer is reset as rarely as possible: most requests never touch it.
fn overdue(connection: &Connection, mut alarm: Pin<&mut Sleep>, context: &mut Context<'_>) -> Poll<()> {
    loop {
        let Some(deadline) = connection.deadline() else { return Poll::Pending };
        if deadline < alarm.deadline() || alarm.is_elapsed() {
            alarm.as_mut().reset(deadline);
        }
        ready!(alarm.as_mut().poll(context));
        if connection.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
            return Poll::Ready(());
        }
    }
}

/// A connection's entry in the table, until this is dropped.
struct TableEntry<'c>(&'c Connection);

impl Drop for TableEntry<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The service of one connection: marks requests as in flight, and adds the peer's address.
struct ConnectionService<S> {
    service: S,
    connection: Arc<Connection>,
    peer: SocketAddr,
    pause: Duration,
}

impl<S: Clone> Clone for ConnectionService<S> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), connection: Arc::clone(&self.connection), peer: self.peer, pause: self.pause }
    }
}

impl<S, B> tower::Service<http::Request<B>> for ConnectionService<S>
where
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    type Response = http::Response<TrackedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let under_way = UnderWay::begin(&self.connection);
        let mut request =
            request.map(|body| if body.is_end_stream() { Body::empty() } else { Body::new(TimeoutBody::new(body, self.pause)) });
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let answer = self.service.clone().oneshot(request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| TrackedBody::new(body, under_way)))
        })
    }
}
