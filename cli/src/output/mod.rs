//! What commands print: results on standard output, messages on standard error.
//!
//! Start at [`table`] for results, [`terminal`] for messages and colors, [`prompt`] for questions.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod times;
