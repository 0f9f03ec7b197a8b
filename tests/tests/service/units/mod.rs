//! Modules of control by themselves, without a server: what they answer to every kind of input. The folders are those of `control/src`.

mod config;
mod domain;
mod http;
mod infra;
mod jobs;
mod server;
