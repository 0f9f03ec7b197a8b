//! A member of a request body before validation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Invalid;

/// A member of a request body. A value of the wrong type is kept as its error, so that all members are validated before the request is refused. Where
/// null means absent, use [`Field::optional`].
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// Absent.
    #[default]
    Missing,
    /// Null.
    Null,
    /// Of the wrong type.
    Wrong(Invalid),
    /// A value.
    Value(T),
}

/// A type that a member can have.
pub trait FromJson: Sized {
    /// Converts a value that is not null. Errors: why it is invalid.
    fn from_json(value: Value) -> Result<Self, Invalid>;
}

/// Prints no value, since passwords and codes are among them.
impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "Missing",
            Self::Null => "Null",
            Self::Wrong(_) => "Wrong",
            Self::Value(_) => "Value",
        })
    }
}

impl<T> Field<T> {
    /// Whether it is absent. Null is not.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Whether there is a value other than null, of any type.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Value(_))
    }

    /// The value. Errors: if it is absent, null or of the wrong type.
    pub fn required(self) -> Result<T, Invalid> {
        self.optional()?.ok_or(Invalid::REQUIRED)
    }

    /// The value, if any. Null means none. Errors: if it is of the wrong type.
    pub fn optional(self) -> Result<Option<T>, Invalid> {
        match self {
            Self::Missing | Self::Null => Ok(None),
            Self::Wrong(error) => Err(error),
            Self::Value(value) => Ok(Some(value)),
        }
    }

    /// The same, by reference.
    pub fn as_ref(&self) -> Field<&T> {
        match self {
            Self::Missing => Field::Missing,
            Self::Null => Field::Null,
            Self::Wrong(error) => Field::Wrong(error.clone()),
            Self::Value(value) => Field::Value(value),
        }
    }
}

impl Field<String> {
    /// Parses a required string.
    pub fn parse<T: FromStr<Err = Invalid>>(self) -> Result<T, Invalid> {
        self.required()?.parse()
    }

    /// Parses an optional string.
    pub fn parse_optional<T: FromStr<Err = Invalid>>(self) -> Result<Option<T>, Invalid> {
        self.optional()?.as_deref().map(str::parse).transpose()
    }

    /// A required string that is not empty.
    pub fn filled(self) -> Result<String, Invalid> {
        let text = self.required()?;
        if text.is_empty() { Err(Invalid::from("must not be empty")) } else { Ok(text) }
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T> From<Option<T>> for Field<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Self::Value)
    }
}

impl<'de, T: FromJson> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::Null => Self::Null,
            value => T::from_json(value).map_or_else(Self::Wrong, Self::Value),
        })
    }
}

/// Absent members must be skipped by the struct. A member of the wrong type is never sent.
impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing | Self::Null => to.serialize_none(),
            Self::Wrong(error) => Err(serde::ser::Error::custom(error)),
            Self::Value(value) => value.serialize(to),
        }
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        if let Value::String(text) = value { Ok(text) } else { Err(Invalid::from("must be a string")) }
    }
}

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        value.as_bool().ok_or(Invalid::from("must be true or false"))
    }
}

impl FromJson for i64 {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        // 60.0 counts as a whole number.
        let whole = |number: &serde_json::Number| number.as_i64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok());
        value.as_number().and_then(whole).ok_or(Invalid::from("must be a whole number that fits in 64 bits"))
    }
}

impl FromJson for Vec<String> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        let texts = match value {
            Value::Array(items) => items.into_iter().map(|item| String::from_json(item).ok()).collect(),
            _ => None,
        };
        texts.ok_or(Invalid::from("must be a list of strings"))
    }
}

impl FromJson for Map<String, Value> {
    fn from_json(value: Value) -> Result<Self, Invalid> {
        if let Value::Object(members) = value { Ok(members) } else { Err(Invalid::from("must be an object")) }
    }
}
