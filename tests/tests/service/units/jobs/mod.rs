//! Background jobs.

mod mail;
mod replay;
mod runner;
