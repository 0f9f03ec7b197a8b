//! Fresh logins.

mod recent;
