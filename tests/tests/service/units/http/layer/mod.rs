//! Middleware.

mod connections;
