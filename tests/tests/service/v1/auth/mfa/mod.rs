//! `/v1/auth/mfa`: pending logins with a second factor.

mod passkeys;
mod pending_logins;
mod setup_deadline;
