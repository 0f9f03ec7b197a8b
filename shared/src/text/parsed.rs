//! The macro behind every newtype over text: parsing checks the text, and there is no other way to create a value.

/// Adds conversions to `struct $name(String)`. `$check` is a `fn(&str) -> Result<(), Invalid>`. The optional `$normal`, a `fn(&str) -> Cow<str>`,
/// returns the form to check and keep.
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
