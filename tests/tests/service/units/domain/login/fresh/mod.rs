//! Logins that are young enough.

mod recent;
