//! `/v1/cli/authorizations`: requests of CLIs, found and decided.

mod approve_and_deny;
mod fresh_login;
mod resolve;
