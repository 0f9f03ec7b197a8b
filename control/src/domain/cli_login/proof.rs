//! PKCE (RFC 7636): a CLI sends the hash of a secret first and the secret last, so an intercepted code is useless. Only the method S256 is supported.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use shared::Invalid;
use subtle::ConstantTimeEq;

/// The length of a challenge: 256 bits in base64url.
const CHALLENGE: usize = 43;

/// Checks the format of a challenge.
pub fn validate_challenge(challenge: &str) -> Result<&str, Invalid> {
    let is_sound = challenge.len() == CHALLENGE && challenge.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_sound { Ok(challenge) } else { Err(Invalid::from("must be 43 base64url characters: the SHA-256 of the verifier")) }
}

/// Checks that the method is S256.
pub fn validate_method(method: &str) -> Result<(), Invalid> {
    if method == "S256" { Ok(()) } else { Err(Invalid::from("must be S256")) }
}

/// Whether the text has the format of a verifier (RFC 7636 section 4.1).
pub fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Whether the verifier matches the challenge, in constant time.
pub fn answers(verifier: &str, challenge: &str) -> bool {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)).as_bytes().ct_eq(challenge.as_bytes()).into()
}
