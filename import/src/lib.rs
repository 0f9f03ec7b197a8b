//! Moves apps here from any server that speaks CodePush's management API: reads them ([`source`]), decides what can be carried over ([`plan`]),
//! downloads and checks the packages ([`packages`], [`staging`]), and has them written ([`run`]). [`compare`] asks both servers the same update checks.
//!
//! The control plane's command and the command-line client share all of this. Where the apps go is a [`run::Target`]: one writes to the database, the
//! other calls the API. Nothing here changes the source: every request is a GET. Start reading at [`run::Run::prepare`].

pub mod compare;
pub mod packages;
pub mod plan;
pub mod report;
pub mod room;
pub mod run;
pub mod source;
pub mod staging;
