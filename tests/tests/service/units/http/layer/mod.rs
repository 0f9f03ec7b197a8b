//! What stands before every handler.

mod connections;
