//! Shared code of the tests: a real server on a free port with a fresh database, a client, bundles to upload, the Worker under wrangler.
//!
//! Nothing here sleeps: tests wait for events. Start reading at [`TestApp`].

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

pub mod app;
pub mod archive;
pub mod audit;
pub mod authenticator;
pub mod browser;
pub mod bucket;
pub mod bundle;
pub mod cli;
pub mod client;
pub mod codepush_cli;
pub mod cut;
pub mod database;
pub mod diffs;
pub mod edge;
pub mod fido2;
pub mod forgery;
pub mod inside;
pub mod kv;
pub mod load;
pub mod logged;
pub mod mailbox;
pub mod multipart;
pub mod node;
pub mod old_server;
pub mod output;
pub mod people;
pub mod process;
pub mod program;
pub mod random;
pub mod raw;
pub mod reader;
mod refusals;
pub mod relay;
pub mod remote_listener;
pub mod reports;
pub mod screens;
pub mod second_factors;
pub mod self_hosted;
pub mod signed;
pub mod site;
pub mod smtp;
pub mod soak;
pub mod stand_in;
pub mod tmux;
pub mod totp;
pub mod tour;
pub mod turnstile;
pub mod unauthenticated;
pub mod visit;
pub mod wait;

pub use app::{Options, TestApp};
pub use authenticator::Authenticator;
pub use bucket::TestBucket;
pub use bundle::Bundle;
pub use cli::Cli;
pub use client::{Answer, Client};
pub use control::testing::{
    AppState, ClientAddress, Clock, Config, Db, Device, Dialect, Entropy, Error, RateLimit, ReadTx, Refusal, Result, SessionOrigin,
    TestClock, Thing, WriteTx, chain, encode_segment, on, on_write,
};
pub use forgery::Forgery;
pub use mailbox::ReceivedMail;
pub use reader::Reader;
pub use second_factors::Holder;
pub use totp::Totp;
pub use visit::{InputMethod, Visit};
