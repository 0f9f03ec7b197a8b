//! Determines the client address that rate limits and the audit trail use.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::SentPath;
use crate::domain::audit::ClientAddress;
use crate::domain::error::Error;
use crate::domain::traces::{self, Event, Trace};
use crate::http::AppState;
use shared::FieldErrors;

/// The header with the client address according to the edge.
const ADDRESS: &str = "x-updraft-client-address";
/// The header with the edge's signature of that address.
const SIGNATURE: &str = "x-updraft-address-signature";

/// The client address from the edge, with a valid signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedAddress(IpAddr);

/// Reads the extension that the middleware adds to every request.
impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Error> {
        parts.extensions.get().copied().ok_or_else(|| Error::internal("a request without a client address"))
    }
}

/// Determines the client address, or refuses a forged one. The outermost layer has already verified a [`SignedAddress`].
pub(crate) async fn middleware(State(app): State<AppState>, mut request: Request, next: Next) -> Response {
    match address(&app, &request) {
        Ok(address) => {
            if claims_client_address(request.headers()) {
                remember_edge(&app, request.extensions());
            }
            request.extensions_mut().insert(ClientAddress(address));
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

/// Records that the peer of the connection has the edge's secret.
pub(crate) fn remember_edge(app: &AppState, extensions: &Extensions) {
    if let Some(peer) = peer(extensions) {
        app.front.edge_addresses.note(peer, app.now());
    }
}

/// The address of the connection's peer.
fn peer(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_canonical())
}

/// Whether the request claims to come from an edge on behalf of a client, validly or not.
pub(crate) fn claims_client_address(headers: &HeaderMap) -> bool {
    headers.contains_key(ADDRESS) || headers.contains_key(SIGNATURE)
}

fn address(app: &AppState, request: &Request) -> Result<IpAddr, Error> {
    if claims_client_address(request.headers()) {
        return request.extensions().get::<SignedAddress>().map(|address| address.0).ok_or_else(|| {
            let from = ClientAddress(unsigned_address(app, request));
            traces::log(app, Trace { event: Event::EdgeSignature, outcome: "client_address", account: None, from });
            Error::Invalid(FieldErrors::of_request("the edge's address signature is not valid: check the edge secret or clock"))
        });
    }
    Ok(unsigned_address(app, request))
}

/// The client address of a request that the edge has not signed.
fn unsigned_address(app: &AppState, request: &Request) -> IpAddr {
    // Without a socket there is no peer, which happens only in tests; such a request counts as local.
    let peer = peer(request.extensions()).unwrap_or_else(|| IpAddr::from([127, 0, 0, 1]));
    let trusted = |address: IpAddr| app.front.settings.trusted_proxies.iter().any(|network| network.contains(&address));
    if !trusted(peer) {
        return peer;
    }
    forwarded(request.headers()).into_iter().rev().find(|address| !trusted(*address)).unwrap_or(peer)
}

/// The client address from the edge, if its signature is valid.
pub(crate) fn signed(app: &AppState, request: &Request) -> Option<SignedAddress> {
    let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (address, signature) = (text(ADDRESS)?, text(SIGNATURE)?);
    let path = request.extensions().get::<SentPath>()?;
    let valid = shared::signature::verify_address(
        &app.front.settings.edge_secret,
        signature,
        request.method().as_str(),
        path.0.as_str(),
        app.now(),
        address,
    );
    let address: IpAddr = address.parse().ok().filter(|_| valid)?;
    // A dual-stack socket reports IPv4 clients as mapped IPv6 addresses.
    Some(SignedAddress(address.to_canonical()))
}

/// The entries of `X-Forwarded-For`, in order. An invalid entry discards everything to its left, which cannot be trusted.
fn forwarded(headers: &HeaderMap) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for value in headers.get_all("x-forwarded-for") {
        for entry in value.to_str().unwrap_or("?").split(',') {
            match entry.trim().parse::<IpAddr>() {
                Ok(address) => addresses.push(address.to_canonical()),
                Err(_) => addresses.clear(),
            }
        }
    }
    addresses
}
