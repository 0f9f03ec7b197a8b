//! The HTTP client of buckets: HTTP/1.1, with small buffers (docs/adr/0035-bundles-in-a-bucket.md).
//!
//! The SDK's own client uses HTTP/2 where the service has it, as R2 does. Then all downloads share one connection, and the 5 MB that it may have underway.
//! Each may have 2 MB: three devices that stop reading would stop the downloads of all others. It also buffers 400 KB for each connection without TLS.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::config::SharedHttpClient;
use aws_sdk_s3::config::http::{HttpRequest, HttpResponse};
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::result::ConnectorError;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector as Tcp};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tower::Service;

/// The most bytes that are read at once, and of an answer's head.
const BUFFER: usize = 32 << 10;

/// A client whose connections open within `limit`. Without `has_tls`, no certificates are needed on this machine. Errors: there are none.
pub(super) fn client(limit: Duration, has_tls: bool) -> io::Result<SharedHttpClient> {
    let mut tcp = Tcp::new();
    // It is also below TLS.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls(has_tls)?).https_or_http().enable_http1().wrap_connector(tcp);
    // The limit is also for the handshake of TLS.
    let connect = tower::service_fn(move |uri| {
        let opening = connector.clone().call(uri);
        Box::pin(async move { timeout(limit, opening).await.unwrap_or_else(|late| Err(late.into())) })
    });
    let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).http1_max_buf_size(BUFFER).build(connect);
    let connections = SharedHttpConnector::new(Connections(client));
    Ok(http_client_fn(move |_, _| connections.clone()))
}

fn tls(has_tls: bool) -> io::Result<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let config = if has_tls { config.with_native_roots()? } else { config.with_root_certificates(RootCertStore::empty()) };
    Ok(config.with_no_client_auth())
}

/// Connections, kept for further requests.
struct Connections<C>(Client<C, SdkBody>);

impl<C> fmt::Debug for Connections<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Connections")
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> HttpConnector for Connections<C> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into()))),
        };
        let answer = self.0.request(request);
        HttpConnectorFuture::new(async move {
            // All of these are worth another attempt.
            let answer = answer.await.map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(answer.map(SdkBody::from_body_1_x)).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}
