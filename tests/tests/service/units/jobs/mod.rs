//! What runs beside the requests.

mod mail;
mod replay;
mod runner;
