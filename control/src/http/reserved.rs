//! Paths that are no page's.

/// First segments of paths that are the interface's or the devices'; pages beneath them would stand in each other's way.
const TAKEN: [&str; 7] = ["v1", "v0.1", "internal", "health", "authenticated", "updatecheck", "reportstatus"];

/// Whether a path begins with a segment that is no page's, wherever pages stand.
pub fn is_taken(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    TAKEN.contains(&first.to_ascii_lowercase().as_str())
}
