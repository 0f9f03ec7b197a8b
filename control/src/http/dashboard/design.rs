//! The design system on a page of its own, for developers who build pages.

use askama::Template;
use axum::response::Response;

use super::form::{Field, Form};
use super::frame::Frame;
use super::view;
use crate::domain::error::Result;

#[derive(Template)]
#[template(path = "dashboard/design.html")]
struct Design<'p> {
    frame: &'p Frame,
    form: Form,
    refused: Form,
}

pub(super) async fn show(frame: Frame) -> Result<Response> {
    let fields = [
        Field::text("design-name", "Name").hint("You can change it later.").optional(),
        Field::email("design-email", "Email address").value("ada@example.com"),
    ];
    let mut bad = Field::code("design-code", "Code").value("12");
    bad.error = Some("Code must be 6 digits.".to_owned());
    let mut refused = Form::of([bad]);
    refused.refusal = Some("This is an error that belongs to no field.".to_owned());
    view::page(&Design { frame: &frame, form: Form::of(fields), refused })
}
