//! Paths that dashboard pages cannot use.

/// First path segments of the API and the device endpoints. Pages below them would conflict with those.
const RESERVED: [&str; 7] = ["v1", "v0.1", "internal", "health", "authenticated", "updatecheck", "reportstatus"];

/// Whether a path starts with a reserved segment, in any case.
pub fn is_taken(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    RESERVED.contains(&first.to_ascii_lowercase().as_str())
}
