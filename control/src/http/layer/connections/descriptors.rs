//! The limit on file descriptors.

/// Descriptors reserved for everything but client connections: the database, storage, emails, outgoing requests.
const RESERVED: u64 = 256;

/// Raises this process's descriptor limit, as far as allowed, for `max` connections and one file for each. Returns how many connections fit.
#[cfg(unix)]
pub fn fit(max: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return max };
    let wanted = (max as u64).saturating_mul(2).saturating_add(RESERVED);
    let raised = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)).max(current);
    let is_raised = raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), ..limit }).is_ok();
    let available = if is_raised { raised } else { current };
    let fitting = fitting(max, available);
    if fitting < max {
        tracing::warn!(
            descriptors = available,
            connections = fitting,
            "the open file limit is too low for UPDRAFT_MAX_CONNECTIONS; raise it (LimitNOFILE, ulimit -n)"
        );
    }
    fitting
}

/// Returns `max`: there is no such limit on this platform.
#[cfg(not(unix))]
pub fn fit(max: usize) -> usize {
    max
}

/// How many connections fit into this number of descriptors. Of a small limit, at most half is reserved.
pub fn fitting(max: usize, available: u64) -> usize {
    let left = available - RESERVED.min(available / 2);
    max.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1)
}
