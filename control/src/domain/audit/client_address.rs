//! The address that a request came from.

use std::net::IpAddr;

/// The client's address, as limits and the audit trail go by it: the edge's word for it where the edge has signed that, else
/// the peer's, behind proxies that are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub IpAddr);
