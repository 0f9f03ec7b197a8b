//! The wire format of the acquisition paths, in both dialects (`snake_case` and `camelCase`).
//!
//! `path` has the paths, `check` and `report` parse requests and write responses, `edge` is what the edge and control say to each other, `problem` is the error envelope, `json` has checks for every
//! body, `headers` the response headers. HTTP itself is not here. Start at [`path`].

pub mod check;
pub mod edge;
mod fields;
pub mod headers;
pub mod json;
pub mod path;
pub mod problem;
pub mod range;
pub mod report;
