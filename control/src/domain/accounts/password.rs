//! Passwords as people enter them.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use shared::Invalid;

use super::strength;

/// A password as entered, for example to sign in. Its strength is checked only when it is set. `Debug` does not print it.
#[derive(Clone)]
pub struct Password(String);

impl FromStr for Password {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_sound = (1..=*strength::LENGTH.end()).contains(&text.chars().count());
        if is_sound { Ok(Self(text.to_owned())) } else { Err(Invalid::from("must be 1 to 1000 characters")) }
    }
}

impl Deref for Password {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}
