//! The design system, shown on a page of its own, for whoever makes another page.

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
        Field::text("design-name", "Name").hint("What others see.").optional(),
        Field::email("design-email", "E-mail address").value("ada@example.com"),
    ];
    let mut bad = Field::code("design-code", "Code").value("12");
    bad.error = Some("Code must be 6 digits.".to_owned());
    let mut refused = Form::of([bad]);
    refused.refusal = Some("This is how a refusal looks that no field is to blame for.".to_owned());
    view::page(&Design { frame: &frame, form: Form::of(fields), refused })
}
