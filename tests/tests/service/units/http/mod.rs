//! HTTP.

mod dashboard;
mod devices;
mod layer;
