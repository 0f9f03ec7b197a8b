//! The body from a file or standard input.

use std::io::Read;

use crate::error::{Error, Result};

/// Reads it.
pub(super) fn read(file: &str) -> Result<Vec<u8>> {
    let read = if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| Error::failed(format!("cannot read {file}: {error}"), "Give a file that exists, or - for standard input."))
}
