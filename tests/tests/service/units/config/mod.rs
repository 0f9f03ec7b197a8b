//! Settings.

mod outside;
mod pages;
mod settings;
mod values;
