//! Method and path of a raw request.

use reqwest::Method;

use crate::error::{Error, Result};

/// The method. Errors: usage (2).
pub(super) fn method(text: &str) -> Result<Method> {
    let method = text.to_ascii_uppercase();
    match method.as_str() {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => {
            Method::from_bytes(method.as_bytes()).map_err(|_| unknown(text))
        }
        _ => Err(unknown(text)),
    }
}

fn unknown(text: &str) -> Error {
    Error::usage(format!("{text} is not a method"), "Write the method first: updraft api GET apps.")
}

/// The path below `/v1`. Errors: usage (2) for a whole URL, since the credential must not go to another server.
pub(super) fn path(text: &str) -> Result<String> {
    if text.contains("://") || text.starts_with("//") || text.contains('\\') {
        let next = "Give only the path, such as apps/my-app; --server chooses the server.";
        return Err(Error::usage(format!("{text} is not a path of the API"), next));
    }
    let below = text.strip_prefix('/').unwrap_or(text);
    let below = below.strip_prefix("v1").filter(|rest| rest.is_empty() || rest.starts_with(['/', '?'])).unwrap_or(below);
    let below = below.strip_prefix('/').unwrap_or(below);
    // The URL parser resolves these, so that /v1 could be left.
    let is_dots = |segment: &str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    if below.split(['?', '#']).next().unwrap_or_default().split('/').any(is_dots) {
        return Err(Error::usage(format!("{text} has . or .. in it"), "Write the path in full."));
    }
    Ok(if below.is_empty() || below.starts_with('?') { format!("/v1{below}") } else { format!("/v1/{below}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_short() {
        for (given, expected) in [
            ("apps", "/v1/apps"),
            ("/apps", "/v1/apps"),
            ("v1/apps", "/v1/apps"),
            ("/v1/apps?limit=1", "/v1/apps?limit=1"),
            ("v1apps", "/v1/v1apps"),
            ("apps/a%2Fb", "/v1/apps/a%2Fb"),
            ("apps/owner@example.com:demo", "/v1/apps/owner@example.com:demo"),
            ("/v1", "/v1"),
        ] {
            assert_eq!(path(given).unwrap(), expected, "{given}");
        }
    }

    #[test]
    fn no_path_leaves_the_server_or_the_api() {
        for given in
            ["https://evil.example/v1/apps", "//evil.example/apps", "\\\\evil.example", "apps/../../x", "../x", "apps/%2E%2e/x", "."]
        {
            assert!(path(given).is_err(), "{given}");
        }
    }

    #[test]
    fn a_method_can_be_in_lower_case() {
        assert_eq!(method("patch").unwrap(), Method::PATCH);
        assert!(method("apps").is_err());
    }
}
