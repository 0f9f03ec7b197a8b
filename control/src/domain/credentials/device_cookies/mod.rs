//! Device cookies: a browser keeps one for each account that signed in with it, so that attackers who guess passwords cannot lock out the owner.
//!
//! A cookie grants no access. It exempts from the lock after ten failed logins and from the challenge, but never from the limit per address. A sign-in with
//! one does not notify the owner. Only the dashboard's sign-in pages read it. Start reading at [`service`].

pub mod repo;
pub mod service;

pub use service::Device;
