//! The log of the servers in a test's own process, line by line as JSON.

use std::io::{self, Write};
use std::sync::OnceLock;

use serde_json::Value;
use tracing_subscriber::EnvFilter;

use crate::output::Output;

static LOG: OnceLock<Output> = OnceLock::new();

/// Writes complete lines to an [`Output`].
struct Lines(Output, Vec<u8>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        String::from_utf8_lossy(&self.1).lines().for_each(|line| self.0.push(line));
    }
}

/// Starts capturing the log of all servers in this process; the first caller's filter applies.
pub fn listen(filter: &str) -> Output {
    let begin = || {
        let output = Output::default();
        let lines = output.clone();
        let logger = tracing_subscriber::fmt().json().with_env_filter(EnvFilter::new(filter));
        logger.with_writer(move || Lines(lines.clone(), Vec::new())).init();
        output
    };
    LOG.get_or_init(begin).clone()
}

/// The fields of the lines about refusals, oldest first.
pub fn traces(log: &Output) -> Vec<Value> {
    let parsed = log.lines().into_iter().filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    parsed.filter(|line| line["target"] == "control::traces").map(|line| line["fields"].clone()).collect()
}
