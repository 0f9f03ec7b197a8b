//! The program around the parts.

mod telemetry;
