//! Jobs that run beside the requests.

mod publisher;
mod rounds;
