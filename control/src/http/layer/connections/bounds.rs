//! Limits and timeouts of connections.

use std::time::Duration;

/// Limits and timeouts of connections.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of connections.
    pub max: usize,
    /// Maximum number of connections per client address: the address on IPv4, the /64 on IPv6. A /48 may have ten times as many.
    pub per_address: usize,
    /// Timeout for a request's head, from its first byte.
    pub head: Duration,
    /// Timeout for the next request, and for a client that does not read its response.
    pub idle: Duration,
    /// Timeout for the next bytes of a request's body.
    pub pause: Duration,
    /// Whether clients may use HTTP/2 with prior knowledge.
    pub has_http2: bool,
}
