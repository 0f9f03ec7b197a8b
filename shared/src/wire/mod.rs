//! What goes over the wire on the acquisition paths, in both dialects (`snake_case` and `camelCase`).
//!
//! `path` knows the paths, `check` and `report` read questions and write answers, `problem` is the error envelope, `json` what holds
//! for every body, `headers` what every answer carries. Not here: HTTP itself. Start at [`path`].

pub mod check;
mod fields;
pub mod headers;
pub mod json;
pub mod path;
pub mod problem;
pub mod range;
pub mod report;
