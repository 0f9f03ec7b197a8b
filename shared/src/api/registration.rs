//! Registrations.

use serde::{Deserialize, Serialize};

use super::body::body;

body! {
    /// The account to register.
    NewRegistration example { "email": "ada@example.com", "password": "a long passphrase nobody guesses", "name": "Ada" } {
        /// The email address.
        required email: String [format = "email", max_length = 255],
        /// The password. Refused if it is easy to guess, common, or little more than your name or email address.
        required password: String [min_length = 12, max_length = 1000],
        /// The display name.
        optional name: String [min_length = 1, max_length = 255],
        /// The token of a human-verification challenge, if the service uses one.
        optional challenge_token: String [max_length = 2048],
    }
}

body! {
    /// The token from the verification email, and the account's password.
    ShownToken example { "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "a long passphrase nobody guesses" } {
        /// The token.
        required token: String [min_length = 1, max_length = 100],
        /// The password that you registered with. If absent, the token is enough, for programs that read their own email.
        optional password: String [min_length = 1, max_length = 1000],
        /// Whether a password that differs from the registered one replaces it and drops the registered name. Default: false.
        optional replace_password: bool,
    }
}

body! {
    /// A request for another verification email.
    Resend example { "email": "ada@example.com" } {
        /// The email address.
        required email: String [format = "email", max_length = 255],
    }
}

/// A message for people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// The text, in English.
    pub message: String,
}
