//! What the rules stand on: the database, the store of bundles, KV, the way mails go out, cryptography, the WebAuthn relying party, the clock.
//!
//! Nothing here knows what an app or a release is. Start reading at [`db`].

pub mod challenge;
pub mod clock;
pub mod crypto;
pub mod dates;
pub mod db;
pub mod error;
pub mod kv;
pub mod loopback;
pub mod mail;
pub mod storage;
pub mod wake;
pub mod webauthn;
pub mod work;
