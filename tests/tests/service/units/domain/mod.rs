//! Business rules.

mod accounts;
mod cli_login;
mod counting;
mod credentials;
mod email;
mod limits;
mod login;
mod second_factors;
mod snapshot;
mod traces;
