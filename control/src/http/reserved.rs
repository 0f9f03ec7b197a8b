//! Paths that dashboard pages cannot use.

/// First path segments of the API and the device endpoints. Pages below them would conflict with those.
const RESERVED: [&str; 7] = ["v1", "v0.1", "internal", "health", "authenticated", "updatecheck", "reportstatus"];

/// First path segments of the CodePush dialect. At the root, pages share them with it: the headers of a request decide.
const CODEPUSH: [&str; 5] = ["apps", "accesskeys", "account", "authenticated", "sessions"];

/// Whether a path starts with a reserved segment, in any case.
pub fn is_taken(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    RESERVED.contains(&first.to_ascii_lowercase().as_str())
}

/// Whether this first segment of a path is one of the CodePush dialect, in any case.
pub fn is_of_codepush(segment: &str) -> bool {
    CODEPUSH.iter().any(|name| name.eq_ignore_ascii_case(segment))
}
