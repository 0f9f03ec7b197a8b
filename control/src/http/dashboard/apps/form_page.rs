//! A page that is a form: a title, what the form does, its fields, a button.

use askama::Template;

use super::place::Link;
use crate::http::dashboard::form::Form;
use crate::http::dashboard::frame::Frame;

/// The page.
#[derive(Template)]
#[template(path = "dashboard/form_page.html")]
pub struct FormPage<'p> {
    /// The frame.
    pub frame: &'p Frame,
    /// The way to it.
    pub crumbs: Vec<Link>,
    /// Its title.
    pub title: String,
    /// What the form does, in paragraphs.
    pub text: Vec<String>,
    /// The form.
    pub form: &'p Form,
    /// Where the form is sent.
    pub page: String,
    /// The page that *Cancel* leads to.
    pub back: String,
    /// The button.
    pub button: &'static str,
    /// Whether it cannot be undone.
    pub is_dangerous: bool,
}
