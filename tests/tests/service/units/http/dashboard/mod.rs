//! Parts of pages.

mod form;
mod site;
mod view;
