//! `/v1/cli/authorizations`: finding and deciding CLI requests.

mod approve_and_deny;
mod fresh_login;
mod resolve;
