//! Connections.

mod descriptors;
