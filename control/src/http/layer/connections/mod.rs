//! Connections: who may have one, how long it may wait, and when it is closed.
//!
//! `bounds` has the limits, `table` counts connections and chooses which idle one makes room, `state` is what one connection is doing,
//! `stream` and `body` watch the bytes, `descriptors` is what the operating system allows, `vouched` remembers the addresses of edges. Not here: what
//! is answered. Start reading at [`serve`].

mod body;
mod bounds;
pub mod descriptors;
mod state;
mod stream;
mod table;
mod vouched;

pub use table::Table;
pub use vouched::Vouched;

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

use self::body::{Attended, Paced};
use self::state::{Connection, UnderWay};
use self::stream::Watched;
use crate::http::AppState;

/// About the most that a request's head may take, in bytes. A client that sends one byte by byte makes us keep that much.
const MOST_HEAD: usize = 64 << 10;

/// Streams of one HTTP/2 connection at once.
const MOST_STREAMS: u32 = 100;

/// Serves until stopped, then lets requests under way end. Never fails: a listener that cannot accept waits until it can.
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
    // Nobody ever sends: it ends when the last connection has dropped its half.
    let (open, mut closed) = mpsc::channel::<Infallible>(1);
    loop {
        let (io, peer) = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        // Else what follows a first small write waits up to 40 ms for the client to say that it has that one. A failure means that the client is gone.
        let _ = io.set_nodelay(true);
        let address = peer.ip().to_canonical();
        let counted = (!is_exempt(&app, address)).then_some(address);
        // Refused, it is closed here: there is nobody to make room for it.
        let Some(connection) = table.admit(counted, Instant::now()) else { continue };
        tracing::trace!(connection = connection.id, "a connection was accepted");
        let io = Watched::new(io, app.clone(), Arc::clone(&connection));
        let attendant = Attendant { service: service.clone(), connection, peer, pause: bounds.pause };
        tokio::spawn(attend(io, attendant, bounds, stopped.clone(), open.clone()));
    }
    drop((open, listener));
    closed.recv().await;
    Ok(())
}

/// Whose connections are not counted by address: this machine's, those of proxies, and those of edges, behind all of which are many clients.
fn is_exempt(app: &AppState, address: IpAddr) -> bool {
    address.is_loopback()
        || app.front.settings.trusted_proxies.iter().any(|network| network.contains(&address))
        || app.front.vouched.is_fresh(address, app.now())
}

/// One connection, from its first byte to its end.
async fn attend<I, S>(
    io: Watched<I>,
    attendant: Attendant<S>,
    bounds: Bounds,
    mut stopped: watch::Receiver<bool>,
    _open: mpsc::Sender<Infallible>,
) where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let connection = Arc::clone(&attendant.connection);
    // Whatever ends this task, a panic included, gives the place back.
    let _place = Place(&connection);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(None::<Duration>).max_buf_size(MOST_HEAD);
    builder.http2().max_concurrent_streams(MOST_STREAMS).max_header_list_size(u32::try_from(MOST_HEAD).unwrap_or(u32::MAX));
    let builder = if bounds.has_http2 {
        // Here the connection cannot tell a head's first byte from other frames; the library has a clock for those of HTTP/1.1.
        builder.http1().timer(TokioTimer::new()).header_read_timeout(bounds.head);
        builder
    } else {
        builder.http1_only()
    };
    let mut serving = pin!(builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(attendant)));
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
            // Errors are the client's: it went away, or did not send HTTP.
            _ = serving.as_mut() => break,
            // After the connection, which says by then what it waits for.
            () = poll_fn(|context| overdue(&connection, alarm.as_mut(), context)) => break,
        }
    }
}

/// Ready once the connection has waited for too long. The timer is moved as seldom as possible: most requests never touch it.
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

/// A connection's place among all, until it is dropped.
struct Place<'c>(&'c Connection);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The service as one connection sees it: says that a request is under way, and from whom.
struct Attendant<S> {
    service: S,
    connection: Arc<Connection>,
    peer: SocketAddr,
    pause: Duration,
}

impl<S: Clone> Clone for Attendant<S> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), connection: Arc::clone(&self.connection), peer: self.peer, pause: self.pause }
    }
}

impl<S, B> tower::Service<http::Request<B>> for Attendant<S>
where
    S: tower::Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    type Response = http::Response<Attended>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let under_way = UnderWay::begin(&self.connection);
        let mut request = request.map(|body| if body.is_end_stream() { Body::empty() } else { Body::new(Paced::new(body, self.pause)) });
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let answer = self.service.clone().oneshot(request);
        Box::pin(async move {
            let response = answer.await?;
            Ok(response.map(|body| Attended::new(body, under_way)))
        })
    }
}
