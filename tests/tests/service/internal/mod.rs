//! The API that only the edge may call.

mod bindings;
mod client_address;
mod v1;
