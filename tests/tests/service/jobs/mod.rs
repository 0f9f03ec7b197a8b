//! Jobs that run beside the requests.

mod previous_release;
mod publisher;
mod rounds;
