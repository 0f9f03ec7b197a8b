//! A network that breaks once: a proxy that cuts the connection of one request, before or after the server has it, or that stalls in the middle.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// When a connection is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// When the first byte of the answer arrives: the server has done what was asked, and the client does not hear of it.
    Answer,
    /// After this many bytes of the request, its head included.
    Request(usize),
    /// Never, but the request stalls after this many bytes, until [`BrokenNetwork::go_on`].
    Stall(usize),
}

/// What is planned: the beginning of the request line, and when to cut.
type Plan = Option<(String, Cut)>;

/// The proxy. It stops with the test's runtime.
#[derive(Clone, Debug)]
pub struct BrokenNetwork {
    /// Its URL, without a trailing slash.
    pub base: String,
    target: Arc<OnceLock<SocketAddr>>,
    plan: Arc<Mutex<Plan>>,
    cuts: Arc<AtomicUsize>,
    go_on: Arc<Semaphore>,
}

impl BrokenNetwork {
    /// Listens. It forwards once it knows where to.
    pub async fn listen() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let network = Self { base, target: Arc::default(), plan: Arc::default(), cuts: Arc::default(), go_on: Arc::new(Semaphore::new(0)) };
        let accepting = network.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let network = accepting.clone();
                // The end of either side ends both.
                tokio::spawn(async move { network.pass(client).await });
            }
        });
        network
    }

    /// Sets where to forward to: a URL without a path.
    pub fn lead_to(&self, base: &str) {
        self.target.set(base.strip_prefix("http://").unwrap().parse().unwrap()).unwrap();
    }

    /// Cuts the next request whose first line begins with this, such as `POST /v1/apps/demo`.
    pub fn cut_next(&self, request: &str, cut: Cut) {
        *self.plan.lock().unwrap() = Some((request.to_owned(), cut));
    }

    /// Whether it has met the request that it is to cut.
    pub fn has_met(&self) -> bool {
        self.plan.lock().unwrap().is_none()
    }

    /// Ends the stall of a request, now or when it comes to it.
    pub fn go_on(&self) {
        self.go_on.add_permits(1);
    }

    /// How often it has cut a connection.
    pub fn cuts(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }

    async fn pass(&self, client: TcpStream) -> std::io::Result<()> {
        let server = TcpStream::connect(self.target.get().expect("the target is known")).await?;
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.into_split(), server.into_split());
        let (mut request, mut answer) = (vec![0; 16 << 10], vec![0; 16 << 10]);
        let mut cut: Option<Cut> = None;
        let mut sent = 0;
        loop {
            tokio::select! {
                count = from_client.read(&mut request) => {
                    let bytes = &request[..count?];
                    if bytes.is_empty() {
                        return Ok(());
                    }
                    if let Some(planned) = self.take(bytes) {
                        (cut, sent) = (Some(planned), 0);
                    }
                    if let Some(Cut::Stall(most)) = cut
                        && sent + bytes.len() > most
                    {
                        self.go_on.acquire().await.expect("nobody closes it").forget();
                        cut = None;
                    }
                    let left = match &cut {
                        Some(Cut::Request(most)) => most.saturating_sub(sent).min(bytes.len()),
                        _ => bytes.len(),
                    };
                    to_server.write_all(&bytes[..left]).await?;
                    sent += bytes.len();
                    if left < bytes.len() {
                        self.cuts.fetch_add(1, Ordering::SeqCst);
                        return Ok(());
                    }
                }
                count = from_server.read(&mut answer) => {
                    let bytes = &answer[..count?];
                    if cut == Some(Cut::Answer) {
                        self.cuts.fetch_add(1, Ordering::SeqCst);
                        return Ok(());
                    }
                    if bytes.is_empty() {
                        return Ok(());
                    }
                    to_client.write_all(bytes).await?;
                }
            }
        }
    }

    /// The plan, if this is the beginning of the request that it is for.
    fn take(&self, bytes: &[u8]) -> Option<Cut> {
        let mut plan = self.plan.lock().unwrap();
        plan.take_if(|(request, _)| bytes.starts_with(request.as_bytes())).map(|(_, cut)| cut)
    }
}
