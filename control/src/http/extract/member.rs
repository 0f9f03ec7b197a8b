//! Members of JSON bodies, judged one by one, so that a refusal names every bad one at once (decisions section 1).

use serde::Deserialize;
use serde_json::{Map, Value};
use shared::Invalid;
use shared::api::{Field, FromJson};

/// A member as it was sent. Null and absent are the same: not given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Member(Value);

impl Member {
    /// The member as a value of this kind.
    pub fn field<T: FromJson>(&self) -> Field<T> {
        match &self.0 {
            Value::Null => Field::Missing,
            value => T::from_json(value.clone()).map_or_else(Field::Wrong, Field::Value),
        }
    }

    /// Whether there is a value, of whatever kind.
    pub fn is_given(&self) -> bool {
        !self.0.is_null()
    }

    /// A text that must be there.
    pub fn text(&self) -> Result<&str, Invalid> {
        self.optional_text()?.ok_or(Invalid::from("is needed"))
    }

    /// A text that may be absent.
    pub fn optional_text(&self) -> Result<Option<&str>, Invalid> {
        match &self.0 {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(Invalid::from("must be a string")),
        }
    }

    /// A text that must be there and say something.
    pub fn filled_text(&self) -> Result<&str, Invalid> {
        let text = self.text()?;
        if text.is_empty() { Err(Invalid::from("must not be empty")) } else { Ok(text) }
    }

    /// Texts in a list that must be there.
    pub fn texts(&self) -> Result<Vec<&str>, Invalid> {
        match &self.0 {
            Value::Null => Err(Invalid::from("is needed")),
            Value::Array(items) => items.iter().map(|item| item.as_str().ok_or(Invalid::from("must be a list of strings"))).collect(),
            _ => Err(Invalid::from("must be a list of strings")),
        }
    }

    /// An object that must be there.
    pub fn object(&self) -> Result<&Map<String, Value>, Invalid> {
        self.optional_object()?.ok_or(Invalid::from("is needed"))
    }

    /// A whole number that may be absent.
    pub fn optional_integer(&self) -> Result<Option<i64>, Invalid> {
        let wrong = || Invalid::from("must be a whole number of at most 64 bits");
        match &self.0 {
            Value::Null => Ok(None),
            // 60.0 is a whole number, too.
            Value::Number(number) => {
                number.as_i64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok()).map(Some).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }

    /// An object that may be absent.
    pub fn optional_object(&self) -> Result<Option<&Map<String, Value>>, Invalid> {
        match &self.0 {
            Value::Null => Ok(None),
            Value::Object(members) => Ok(Some(members)),
            _ => Err(Invalid::from("must be an object")),
        }
    }

    /// A choice that is false unless given.
    pub fn flag(&self) -> Result<bool, Invalid> {
        match &self.0 {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(Invalid::from("must be true or false")),
        }
    }
}

/// A form's field: always a text.
impl From<&str> for Member {
    fn from(text: &str) -> Self {
        Self(Value::String(text.to_owned()))
    }
}

/// A box that is ticked or not, or a button that was pressed or not.
impl From<bool> for Member {
    fn from(flag: bool) -> Self {
        Self(Value::Bool(flag))
    }
}

/// A member of which null says something else than absence: that there is to be none.
#[derive(Clone, Debug, Default)]
pub enum Nullable {
    /// Not given.
    #[default]
    Absent,
    /// Given, perhaps as null.
    Given(Member),
}

impl<'de> Deserialize<'de> for Nullable {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Member::deserialize(from).map(Self::Given)
    }
}
