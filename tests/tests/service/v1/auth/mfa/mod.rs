//! `/v1/auth/mfa`: logins that wait for a second factor.

mod passkeys;
mod pending_logins;
mod setup_deadline;
