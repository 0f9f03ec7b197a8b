//! What speaks HTTP.

mod dashboard;
mod devices;
mod layer;
