//! What the rules stand on.

mod crypto;
mod dates;
mod kv;
mod loopback;
mod webauthn;
