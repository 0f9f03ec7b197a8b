//! What the operating system lets this process open.

/// Descriptors for everything that is no connection of a client: the database, the store, mails, calls of ours.
const RESERVED: u64 = 256;

/// Raises this process's limit of descriptors, as far as it may, so that `most` connections and a file for each fit. Gives how many connections do.
#[cfg(unix)]
pub fn fit(most: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else { return most };
    let wanted = (most as u64).saturating_mul(2).saturating_add(RESERVED);
    let raised = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)).max(current);
    let is_raised = raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), ..limit }).is_ok();
    let available = if is_raised { raised } else { current };
    let fitting = fitting(most, available);
    if fitting < most {
        tracing::warn!(
            descriptors = available,
            connections = fitting,
            "this process may open too few files for UPDRAFT_MAX_CONNECTIONS: raise its limit (LimitNOFILE, ulimit -n)"
        );
    }
    fitting
}

/// Where there is no such limit.
#[cfg(not(unix))]
pub fn fit(most: usize) -> usize {
    most
}

/// How many connections fit into so many descriptors. A small limit is halved, so that something is left for each.
pub fn fitting(most: usize, available: u64) -> usize {
    let left = available - RESERVED.min(available / 2);
    most.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1)
}
