//! The macro behind every newtype over text: one check, made by parsing, that no other way into the type avoids.

/// Adds to `struct $name(String)` the conversions of a parsed text. `$check` is a `fn(&str) -> Result<(), Invalid>`; where there is a `$normal`, a
/// `fn(&str) -> Cow<str>`, it gives the form that is checked and kept.
macro_rules! parsed_text {
    ($name:ident, $check:expr) => {
        parsed_text!($name, std::borrow::Cow::Borrowed, $check);
    };
    ($name:ident, $normal:expr, $check:expr) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: String) -> Result<Self, $crate::Invalid> {
                let normal: std::borrow::Cow<'_, str> = $normal(text.as_str());
                let changed = match normal {
                    std::borrow::Cow::Owned(changed) => Some(changed),
                    std::borrow::Cow::Borrowed(_) => None,
                };
                let text = changed.unwrap_or(text);
                $check(text.as_str())?;
                Ok(Self(text))
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: &str) -> Result<Self, $crate::Invalid> {
                let text: std::borrow::Cow<'_, str> = $normal(text);
                $check(text.as_ref())?;
                Ok(Self(text.into_owned()))
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
