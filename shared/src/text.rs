//! The macro behind every newtype over text: one check, made by parsing, that no other way into the type avoids.

/// Adds to `struct $name(String)` the conversions of a parsed text. `$check` is a `fn(&str) -> Result<(), Invalid>`.
macro_rules! parsed_text {
    ($name:ident, $check:expr) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: String) -> Result<Self, $crate::Invalid> {
                $check(text.as_str())?;
                Ok(Self(text))
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: &str) -> Result<Self, $crate::Invalid> {
                $check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                Self::try_from(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    };
}

pub(crate) use parsed_text;
