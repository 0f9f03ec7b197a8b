//! Second factors.

mod totp;
