//! Moves apps here from any server that speaks CodePush's management API: reads them ([`source`]), decides what can be carried over ([`plan`]),
//! downloads and checks the packages ([`staging`]). [`compare`] asks both servers the same update checks.
//!
//! The control plane's command and the command-line client share all of this. What they do with a [`plan::Plan`] differs: one writes to the database,
//! the other calls the API. Nothing here changes the source: every request is a GET.

pub mod compare;
pub mod plan;
pub mod source;
pub mod staging;
