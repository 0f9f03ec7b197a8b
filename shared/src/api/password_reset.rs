//! Password resets.

use super::body::body;

body! {
    /// A request for a password reset email.
    Forgotten example { "email": "ada@example.com" } {
        /// The email address.
        required email: String [format = "email", max_length = 255],
        /// The token of a human-verification challenge, if the service uses one.
        optional challenge_token: String [max_length = 2048],
    }
}

body! {
    /// A new password, with the token from the email.
    Reset example { "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "another long passphrase nobody knows" } {
        /// The token from the link in the email.
        required token: String [min_length = 1, max_length = 100],
        /// The new password.
        required password: String [min_length = 12, max_length = 1000],
        /// Whether to also revoke every access key and API key of the account. Default: false.
        optional revoke_keys: bool,
    }
}
