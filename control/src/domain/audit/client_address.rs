//! The address that a request came from.

use std::net::IpAddr;

/// The client's address for limits and the audit trail: the address signed by the edge if there is one, else the peer's, taking trusted proxies into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub IpAddr);
