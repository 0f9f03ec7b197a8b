//! Infrastructure.

mod crypto;
mod dates;
mod kv;
mod loopback;
mod storage;
mod webauthn;
