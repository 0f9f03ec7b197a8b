//! Unit tests of control's modules, without a server. The folders mirror `control/src`.

mod config;
mod domain;
mod http;
mod infra;
mod jobs;
mod server;
