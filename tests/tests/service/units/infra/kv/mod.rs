//! Workers KV.

mod bulk;
