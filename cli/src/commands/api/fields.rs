//! `--field` and `--raw-field`: typed values, nested by their keys.

use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};

/// A member: its key, its value, and the text that the value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    key: String,
    text: String,
    value: Value,
}

/// Parses both kinds. Errors: usage (2).
pub(super) fn parse(typed: &[String], raw: &[String]) -> Result<Vec<Field>> {
    let split = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Error::usage(format!("{text} is not a field"), "Write --field key=value.")),
    };
    let typed = typed.iter().map(|text| split(text).map(|(key, text)| Field { key, value: value(&text), text }));
    let raw = raw.iter().map(|text| split(text).map(|(key, text)| Field { key, value: Value::String(text.clone()), text }));
    typed.chain(raw).collect()
}

/// true, false, null and numbers as in JSON; anything else is a string. So is a number that would lose digits.
fn value(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        text => match serde_json::from_str::<Number>(text) {
            Ok(number) if number.is_i64() || number.is_u64() || text.contains(['.', 'e', 'E']) => Value::Number(number),
            _ => Value::String(text.to_owned()),
        },
    }
}

/// The body that the members make. Errors: usage (2) if two of them exclude each other.
pub(super) fn body(fields: &[Field]) -> Result<String> {
    let mut body = Map::new();
    for field in fields {
        let wrong =
            |why: &str| Error::usage(format!("{}: {why}", field.key), "Write --field a.b=value for a nested member, a[]=value for a list.");
        let mut names: Vec<&str> = field.key.split('.').collect();
        let Some(last) = names.pop() else { return Err(wrong("it has no name")) };
        if last.is_empty() || last == "[]" || names.contains(&"") {
            return Err(wrong("a part of its name is empty"));
        }
        let mut object = &mut body;
        for part in names {
            let below = object.entry(part).or_insert_with(|| Value::Object(Map::new()));
            object = below.as_object_mut().ok_or_else(|| wrong("another field gives it a value, so it has no members"))?;
        }
        if let Some(name) = last.strip_suffix("[]") {
            let elements = object.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            elements.as_array_mut().ok_or_else(|| wrong("another field gives it a value, so it is no list"))?.push(field.value.clone());
        } else if object.insert(last.to_owned(), field.value.clone()).is_some() {
            return Err(wrong("it is given twice"));
        }
    }
    // Cannot fail: a value always serializes.
    Ok(Value::Object(body).to_string())
}

/// The path with the members in its query.
pub(super) fn query(path: String, fields: &[Field]) -> String {
    if fields.is_empty() {
        return path;
    }
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields.iter().map(|field| (&field.key, &field.text))).finish();
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(typed: &[&str], raw: &[&str]) -> Result<String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        body(&parse(&owned(typed), &owned(raw))?)
    }

    #[test]
    fn values_have_types() {
        let typed = ["a=true", "b=null", "c=12", "d=1.5", "e=x", "f=", "g=-3", "h=01", "i=99999999999999999999", "j=a=b"];
        let expected = r#"{"a":true,"b":null,"c":12,"d":1.5,"e":"x","f":"","g":-3,"h":"01","i":"99999999999999999999","j":"a=b"}"#;
        let (made, expected) = (made(&typed, &[]).unwrap(), serde_json::from_str::<Value>(expected).unwrap());
        assert_eq!(serde_json::from_str::<Value>(&made).unwrap(), expected);
        assert_eq!(self::made(&[], &["a=true"]).unwrap(), r#"{"a":"true"}"#);
    }

    #[test]
    fn keys_nest() {
        assert_eq!(made(&["a.b=1", "a.c=2"], &[]).unwrap(), r#"{"a":{"b":1,"c":2}}"#);
        assert_eq!(made(&[], &["a[]=x", "a[]=y"]).unwrap(), r#"{"a":["x","y"]}"#);
    }

    #[test]
    fn contradictions_are_refused() {
        for fields in [&["a=1", "a=2"][..], &["a=1", "a.b=2"], &["a=1", "a[]=2"], &["=1"], &["a"], &["a..b=1"], &["[]=1"], &["a.=1"]] {
            assert!(made(fields, &[]).is_err(), "{fields:?}");
        }
    }

    #[test]
    fn a_query_is_encoded_and_keeps_what_the_path_has() {
        let fields = parse(&["a b=c&d".to_owned(), "n=1".to_owned()], &[]).unwrap();
        assert_eq!(query("/v1/x".to_owned(), &fields), "/v1/x?a+b=c%26d&n=1");
        assert_eq!(query("/v1/x?y=1".to_owned(), &fields), "/v1/x?y=1&a+b=c%26d&n=1");
        assert_eq!(query("/v1/x".to_owned(), &[]), "/v1/x");
    }
}
