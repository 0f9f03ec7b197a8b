//! The server process.

mod telemetry;
