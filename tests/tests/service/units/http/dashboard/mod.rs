//! What pages are made of.

mod form;
mod site;
mod view;
