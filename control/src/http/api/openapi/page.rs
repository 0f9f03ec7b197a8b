//! The HTML page: the document's operations by tag, then its schemas.

use askama::Template;
use askama::filters::{Escaper, Html};
use serde_json::Value;

use super::shape::{elements, members, operations, referred, text};
use crate::domain::error::{Error, Result};

/// The page's data.
#[derive(Debug, Template)]
#[template(path = "docs/page.html")]
pub(super) struct Page {
    style: String,
    version: String,
    about: Vec<String>,
    server: String,
    groups: Vec<Group>,
    schemas: Vec<SchemaPart>,
}

/// The operations with a tag.
#[derive(Debug)]
struct Group {
    name: String,
    about: String,
    operations: Vec<OperationPart>,
}

#[derive(Debug)]
struct OperationPart {
    id: String,
    method: String,
    path: String,
    summary: String,
    about: String,
    is_deprecated: bool,
    /// The credential that a caller needs.
    needs: String,
    parameters: Vec<FieldPart>,
    body: Option<Body>,
    answers: Vec<Answer>,
}

/// A parameter, or a member of an object.
#[derive(Debug)]
struct FieldPart {
    name: String,
    /// Where a parameter is: path, query or header. Empty for members.
    place: String,
    is_required: bool,
    kind: Kind,
    about: String,
}

/// The type of a value: its text, and the schema that the text links to.
#[derive(Debug, Default)]
struct Kind {
    words: String,
    schema: Option<String>,
}

#[derive(Debug)]
struct Body {
    media: String,
    kind: Kind,
}

#[derive(Debug)]
struct Answer {
    status: String,
    about: String,
    kind: Kind,
}

#[derive(Debug)]
struct SchemaPart {
    name: String,
    about: String,
    /// The type, if the schema is not an object.
    kind: Option<Kind>,
    members: Vec<FieldPart>,
    example: Option<String>,
}

impl Page {
    /// The page of this document. `style` is the stylesheet's file name.
    pub(super) fn of(document: &Value, style: &str) -> Self {
        let info = document.get("info").unwrap_or(&Value::Null);
        let groups = elements(document, "tags").map(|tag| {
            let name = text(tag, "name");
            let of_tag = operations(document).filter(|(_, _, operation)| elements(operation, "tags").any(|tag| tag == name));
            Group {
                name: name.to_owned(),
                about: text(tag, "description").to_owned(),
                operations: of_tag.map(|(path, method, operation)| OperationPart::of(path, method, operation)).collect(),
            }
        });
        let schemas =
            document.get("components").map(|components| members(components, "schemas").map(|(name, schema)| SchemaPart::of(name, schema)));
        Self {
            style: style.to_owned(),
            version: text(info, "version").to_owned(),
            about: text(info, "description").split("\n\n").map(str::to_owned).collect(),
            server: elements(document, "servers").next().map(|server| text(server, "url").to_owned()).unwrap_or_default(),
            groups: groups.filter(|group| !group.operations.is_empty()).collect(),
            schemas: schemas.into_iter().flatten().collect(),
        }
    }

    /// Renders the HTML.
    pub(super) fn render(&self) -> Result<String> {
        Template::render(self).map_err(Error::internal)
    }
}

impl OperationPart {
    fn of(path: &str, method: &str, operation: &Value) -> Self {
        Self {
            id: text(operation, "operationId").to_owned(),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(operation, "summary").to_owned(),
            about: text(operation, "description").to_owned(),
            is_deprecated: operation.get("deprecated").is_some_and(|flag| flag == true),
            needs: needs(operation),
            parameters: elements(operation, "parameters").map(FieldPart::of_parameter).collect(),
            body: operation.get("requestBody").and_then(|body| content(body)).map(|(media, kind)| Body { media: media.to_owned(), kind }),
            answers: members(operation, "responses")
                .map(|(status, answer)| Answer {
                    status: status.to_owned(),
                    about: text(answer, "description").to_owned(),
                    kind: content(answer).map(|(_, kind)| kind).unwrap_or_default(),
                })
                .collect(),
        }
    }
}

/// The credential that a caller needs, as text.
fn needs(operation: &Value) -> String {
    let words = |need| elements(need, "bearer").filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    let alternatives: Vec<String> = elements(operation, "security").map(words).collect();
    match alternatives.as_slice() {
        [] => "no credential".to_owned(),
        needs if needs.iter().any(String::is_empty) => "any credential".to_owned(),
        needs => needs.join(" or "),
    }
}

/// The first media type of a body, and its type.
fn content(of: &Value) -> Option<(&str, Kind)> {
    members(of, "content").next().map(|(media, form)| (media, form.get("schema").map(Kind::of).unwrap_or_default()))
}

impl FieldPart {
    fn of_parameter(parameter: &Value) -> Self {
        Self {
            name: text(parameter, "name").to_owned(),
            place: text(parameter, "in").to_owned(),
            is_required: parameter.get("required").is_some_and(|flag| flag == true),
            kind: parameter.get("schema").map(Kind::of).unwrap_or_default(),
            about: text(parameter, "description").to_owned(),
        }
    }
}

impl SchemaPart {
    fn of(name: &str, schema: &Value) -> Self {
        let is_required = |name: &str| elements(schema, "required").any(|required| required == name);
        let members: Vec<FieldPart> = members(schema, "properties")
            .map(|(name, property)| FieldPart {
                name: name.to_owned(),
                place: String::new(),
                is_required: is_required(name),
                kind: Kind::of(property),
                about: text(property, "description").to_owned(),
            })
            .collect();
        Self {
            name: name.to_owned(),
            about: text(schema, "description").to_owned(),
            kind: members.is_empty().then(|| Kind::of(schema)),
            members,
            example: schema.get("example").and_then(|example| serde_json::to_string_pretty(example).ok()),
        }
    }
}

impl Kind {
    fn of(schema: &Value) -> Self {
        if let Some(name) = referred(schema) {
            return Self { words: name.to_owned(), schema: Some(name.to_owned()) };
        }
        let choices: Vec<Self> = elements(schema, "oneOf").chain(elements(schema, "allOf")).map(Self::of).collect();
        if !choices.is_empty() {
            let schema = choices.iter().find_map(|choice| choice.schema.clone());
            return Self { words: choices.into_iter().map(|choice| choice.words).collect::<Vec<_>>().join(" or "), schema };
        }
        let values: Vec<&str> = elements(schema, "enum").filter_map(Value::as_str).collect();
        if !values.is_empty() {
            return Self { words: values.join(" | "), schema: None };
        }
        if let Some(items) = schema.get("items") {
            let of = Self::of(items);
            return Self { words: format!("list of {}", of.words), schema: of.schema };
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            let of = Self::of(values);
            return Self { words: format!("{} by name", of.words), schema: of.schema };
        }
        let words = match schema.get("type") {
            Some(Value::String(only)) => only.clone(),
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            _ => "any value".to_owned(),
        };
        let bounds = [
            ("minLength", "at least", "characters"),
            ("maxLength", "at most", "characters"),
            ("minimum", "from", ""),
            ("maximum", "to", ""),
        ];
        let bounds = bounds
            .into_iter()
            .filter_map(|(name, before, after)| schema.get(name).map(|bound| format!(", {before} {bound} {after}").trim_end().to_owned()));
        let form = Some(text(schema, "format")).filter(|form| !form.is_empty()).map(|form| format!(" ({form})")).unwrap_or_default();
        Self { words: format!("{words}{form}{}", bounds.collect::<String>()), schema: None }
    }
}

/// Text of the document as HTML: what is between two backticks is code.
fn prose(text: &str) -> String {
    let mut html = String::new();
    // Every second part is code. The last one is not, if its backtick is not closed.
    let parts: Vec<&str> = text.split('`').collect();
    for (place, part) in parts.iter().enumerate() {
        let (before, after) = match place % 2 {
            1 if place + 1 < parts.len() => ("<code>", "</code>"),
            1 => ("`", ""),
            _ => ("", ""),
        };
        html.push_str(before);
        // Text is always written.
        Html.write_escaped_str(&mut html, part).ok();
        html.push_str(after);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn code_is_marked_and_everything_is_escaped() {
        for (text, html) in [
            ("`error` names <all> fields", "<code>error</code> names &#60;all&#62; fields"),
            ("`<b>`", "<code>&#60;b&#62;</code>"),
            ("none", "none"),
            ("a ` alone", "a ` alone"),
        ] {
            assert_eq!(prose(text), html);
        }
    }
}
