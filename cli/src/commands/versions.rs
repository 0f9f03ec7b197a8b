//! Compares the versions of server and CLI.

use shared::api::health::Health;

use crate::client::Client;
use crate::context::Context;
use crate::error::Result;

/// This CLI's version.
pub(super) const CLI: &str = env!("CARGO_PKG_VERSION");

/// The server's version. Errors: not an Updraft server, or unreachable (6).
pub(super) async fn of_server(client: &Client) -> Result<String> {
    Ok(client.get::<Health>("/v1/health?live").await?.value.version)
}

/// Warns if the server is older or newer.
pub(super) fn warn(server: &str) {
    if let Some(text) = difference(server, CLI) {
        Context::warn(&text);
    }
}

/// What to say if major or minor version differ.
pub(super) fn difference(server: &str, cli: &str) -> Option<String> {
    let (of_server, of_cli) = (release(server)?, release(cli)?);
    match of_server.cmp(&of_cli) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => {
            Some(format!("The server is older than this CLI: {server}, CLI {cli}. New options may be refused: update the server."))
        }
        std::cmp::Ordering::Greater => Some(format!("The server is newer than this CLI: {server}, CLI {cli}. Update the CLI.")),
    }
}

/// Major and minor version.
fn release(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.split(['.', '-', '+']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_major_and_minor_differences_matter() {
        assert_eq!(difference("0.1.0", "0.1.9"), None);
        assert_eq!(difference("1.2.0-rc.1", "1.2.0"), None);
        assert_eq!(difference("unknown", "0.1.0"), None);
        assert!(difference("0.1.0", "0.2.0").unwrap().contains("older"));
        assert!(difference("0.10.0", "0.9.0").unwrap().contains("newer"));
    }
}
