//! Registrations.

use serde::{Deserialize, Serialize};

use super::body::body;

body! {
    /// Somebody who wants an account.
    NewRegistration example { "email": "ada@example.com", "password": "a long passphrase nobody guesses", "name": "Ada" } {
        /// A text: the e-mail address.
        required email: String [format = "email", max_length = 255],
        /// A text: the password. One that is easily guessed or common, or that is little more than your name or address, is refused.
        required password: String [min_length = 12, max_length = 1000],
        /// A text: the display name.
        optional name: String [min_length = 1, max_length = 255],
        /// A text: the token of a human-verification challenge, where one is configured.
        optional challenge_token: String [max_length = 2048],
    }
}

body! {
    /// The token of a mail's link, and the password that the account is to have.
    ShownToken example { "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "a long passphrase nobody guesses" } {
        /// A text: the token.
        required token: String [min_length = 1, max_length = 100],
        /// A text: the password that you registered with. Without it the token alone serves, for programs that read their own mail.
        optional password: String [min_length = 1, max_length = 1000],
        /// A boolean: whether a password that is not the registered one becomes the account's, and the registered name is dropped.
        optional replace_password: bool,
    }
}

body! {
    /// An address that wants another mail.
    Resend example { "email": "ada@example.com" } {
        /// A text: the e-mail address.
        required email: String [format = "email", max_length = 255],
    }
}

/// What was done, for people.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[expect(missing_docs, reason = "the interface document shows what stands here, and the name says it")]
pub struct Message {
    pub message: String,
}
