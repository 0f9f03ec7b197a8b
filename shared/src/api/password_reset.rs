//! Passwords that were forgotten.

use super::body::body;

body! {
    /// Somebody who forgot a password.
    Forgotten example { "email": "ada@example.com" } {
        /// The e-mail address.
        required email: String [format = "email", max_length = 255],
        /// The token of a human-verification challenge, where one is configured.
        optional challenge_token: String [max_length = 2048],
    }
}

body! {
    /// A new password, and the token that allows it.
    Reset example { "token": "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgcmVhbCB0b2tlbg", "password": "another long passphrase nobody knows" } {
        /// The token of the mail's link.
        required token: String [min_length = 1, max_length = 100],
        /// The new password.
        required password: String [min_length = 12, max_length = 1000],
        /// Whether every access key and API key of the account is revoked as well; false when absent.
        optional revoke_keys: bool,
    }
}
