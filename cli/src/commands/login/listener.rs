//! Waits on a loopback port for the browser.
//!
//! Only the callback with this sign-in's state counts, and only the first. Everything else gets a page and changes nothing. Connections are served at the
//! same time, since browsers open some that they never use.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::page::{self, Page};
use crate::clock;
use crate::error::{Error, Result};

/// The path of the callback.
const PATH: &str = "/callback";
/// The longest head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// How long a browser may take to send a request, or to receive the page.
const PATIENCE: Duration = Duration::from_secs(10);

/// A loopback port that was bound.
#[derive(Debug)]
pub(super) struct Listener {
    listener: TcpListener,
    port: u16,
}

/// What the browser brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Callback {
    /// The code to exchange.
    Code(String),
    /// An error code of OAuth.
    Refused(String),
}

/// A browser that waits for its page.
#[derive(Debug)]
pub(super) struct Connection(TcpStream);

/// What a request is.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Callback(Callback),
    OtherSignIn,
    Other,
}

impl Listener {
    /// Binds a free port of 127.0.0.1. Errors: failed (1).
    pub(super) async fn bind() -> Result<Self> {
        let bound = async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let port = listener.local_addr()?.port();
            Ok(Self { listener, port })
        };
        bound.await.map_err(|error: std::io::Error| {
            Error::failed(format!("cannot listen on 127.0.0.1 for the browser: {error}"), "Run `updraft login --device` instead.")
        })
    }

    /// Where the browser is to go.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the callback with this state.
    pub(super) async fn callback(self, state: &str) -> (Callback, Connection) {
        let (send, mut receive) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(found) = receive.recv() => return found,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        tokio::spawn(serve(Connection(stream), state.to_owned(), send.clone()));
                    }
                    // Such as too many open files.
                    Err(_) => clock::wait(Duration::from_millis(100)).await,
                },
            }
        }
    }
}

async fn serve(mut connection: Connection, state: String, send: mpsc::Sender<(Callback, Connection)>) {
    let Some(head) = connection.head().await else { return };
    let page = match request(&head, &state) {
        Request::Callback(callback) => match send.send((callback, connection)).await {
            Ok(()) => return,
            // Another callback was first.
            Err(mpsc::error::SendError((_, unused))) => {
                connection = unused;
                page::other_sign_in()
            }
        },
        Request::OtherSignIn => page::other_sign_in(),
        Request::Other => page::not_found(),
    };
    connection.answer(&page).await;
}

/// Reads a request by its first line.
fn request(head: &str, state: &str) -> Request {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (Some("GET"), Some(target)) = (words.next(), words.next()) else { return Request::Other };
    let Some((PATH, query)) = target.split_once('?') else { return Request::Other };
    let value = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(found, _)| found == name).map(|(_, value)| value.into_owned());
    if value("state").as_deref() != Some(state) {
        return Request::OtherSignIn;
    }
    match (value("code"), value("error")) {
        (_, Some(error)) => Request::Callback(Callback::Refused(error)),
        (Some(code), None) if !code.is_empty() => Request::Callback(Callback::Code(code)),
        _ => Request::OtherSignIn,
    }
}

impl Connection {
    /// The head of the request, if a complete one comes.
    async fn head(&mut self) -> Option<String> {
        let read = async {
            let mut head = Vec::new();
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                if head.len() > MAX_HEAD || self.0.read_buf(&mut head).await.ok()? == 0 {
                    return None;
                }
            }
            String::from_utf8(head).ok()
        };
        tokio::time::timeout(PATIENCE, read).await.ok().flatten()
    }

    /// Sends the page. A browser that is gone misses it.
    pub(super) async fn answer(mut self, page: &Page) {
        let response = page.response();
        let written = async {
            self.0.write_all(response.as_bytes()).await?;
            self.0.shutdown().await
        };
        let _ = tokio::time::timeout(PATIENCE, written).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_callback_with_the_state_counts() {
        let of = |line: &str| request(&format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n"), "s-1");
        assert_eq!(of("GET /callback?code=a%2Bb&state=s-1"), Request::Callback(Callback::Code("a+b".to_owned())));
        assert_eq!(of("GET /callback?error=access_denied&state=s-1"), Request::Callback(Callback::Refused("access_denied".to_owned())));
        for other in ["GET /callback?code=a", "GET /callback?code=a&state=s-2", "GET /callback?state=s-1", "GET /callback?code=&state=s-1"]
        {
            assert_eq!(of(other), Request::OtherSignIn, "{other}");
        }
        for other in ["GET /", "GET /favicon.ico", "POST /callback?code=a&state=s-1", "GET /callbacks?code=a&state=s-1", "", "GET"] {
            assert_eq!(of(other), Request::Other, "{other}");
        }
    }
}
