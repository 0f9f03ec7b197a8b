//! Password hashes: argon2id with OWASP's parameters (m = 19,456 KiB, t = 2, p = 1), which are the crate's defaults.

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, Version};

use crate::clock::Dice;
use crate::error::AppError;

/// The shortest and the longest password, in characters.
pub const LENGTH: std::ops::RangeInclusive<usize> = 12..=1_000;

/// The PHC string of a new password. Slow on purpose: call it off the async threads.
pub fn hash(password: &str, dice: &Dice) -> Result<String, AppError> {
    let params = Params::new(19_456, 2, 1, None).map_err(|error| AppError::internal(error.to_string()))?;
    let salt = dice.bytes::<16>()?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(|error| AppError::internal(error.to_string()))
}
