//! Background jobs.

mod previous_release;
mod publisher;
mod rounds;
