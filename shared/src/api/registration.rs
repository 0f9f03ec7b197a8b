//! Registrations.

use serde::{Deserialize, Serialize};

use super::body::body;

body! {
    /// Somebody who wants an account.
    NewRegistration example { "email": "ada@example.com", "password": "a long passphrase nobody guesses", "name": "Ada" } {
        /// The e-mail address.
        required email: String [format = "email", max_length = 255],
        /// The password. One that is easily guessed or common, or that is little more than your name or address, is refused.
        required password: String [min_length = 12, max_length = 1000],
        /// The display name; none when absent.
        optional name: String [min_length = 1, max_length = 255],
        /// The token of a human-verification challenge, where one is configured.
        optional challenge_token: String [max_length = 2048],
    }
}

body! {
    /// The token of a mail's link, and the password that the account is to have.
    ShownToken example { "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "a long passphrase nobody guesses" } {
        /// The token.
        required token: String [min_length = 1, max_length = 100],
        /// The password that you registered with. Without it the token alone serves, for programs that read their own mail.
        optional password: String [min_length = 1, max_length = 1000],
        /// Whether a password that is not the registered one becomes the account's, and the registered name is dropped; false when absent.
        optional replace_password: bool,
    }
}

body! {
    /// An address that wants another mail.
    Resend example { "email": "ada@example.com" } {
        /// The e-mail address.
        required email: String [format = "email", max_length = 255],
    }
}

/// What was done, for people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// The text, in English.
    pub message: String,
}
