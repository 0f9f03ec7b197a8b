//! How many connections there may be, and how long they may wait.

use std::time::Duration;

/// How many connections there may be, and how long they may wait.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections in all.
    pub most: usize,
    /// Connections of one address: itself on IPv4, its /64 on IPv6; a /48 may have ten times as many.
    pub per_address: usize,
    /// For a request's head, from its first byte.
    pub head: Duration,
    /// Between two requests, before the first, and for a client that takes nothing of its answer.
    pub idle: Duration,
    /// Between two bytes of a request's body.
    pub pause: Duration,
    /// Whether HTTP/2 is spoken with those who begin with it.
    pub has_http2: bool,
}
