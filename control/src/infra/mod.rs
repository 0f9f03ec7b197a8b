//! Infrastructure: the database, bundle storage, KV, sending mail, cryptography, the WebAuthn relying party, the clock.
//!
//! It knows nothing about apps or releases. Start reading at [`db`].

pub mod background;
pub mod challenge;
pub mod clock;
pub mod crypto;
pub mod dates;
pub mod db;
pub mod error;
pub mod kv;
pub mod loopback;
pub mod mail;
pub mod s3;
pub mod storage;
pub mod wake;
pub mod webauthn;
pub mod work;
