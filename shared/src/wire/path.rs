//! The table of acquisition paths, which `edge` matches against and `control` registers as routes.

use std::iter::once;

/// The path prefix of bundles; the encoded key of a blob follows.
pub const BUNDLES: &str = "/v1/public/svc/bundles/";

/// The operation of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// GET: is there an update?
    Check,
    /// POST: a release or an app store build runs, or a release failed.
    DeployReport,
    /// POST: a release was downloaded.
    DownloadReport,
}

impl Job {
    /// The method of the path.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Check => "GET",
            Self::DeployReport | Self::DownloadReport => "POST",
        }
    }

    /// All methods of the path, as in `Allow`.
    pub const fn methods(self) -> &'static str {
        match self {
            Self::Check => "GET, HEAD, OPTIONS",
            Self::DeployReport | Self::DownloadReport => "POST, OPTIONS",
        }
    }
}

/// The case of the response's members. Every path accepts requests in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Case {
    /// `update_info`.
    Snake,
    /// `updateInfo`.
    Camel,
}

/// An endpoint on the acquisition paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Its operation.
    pub job: Job,
    /// The case of its responses.
    pub case: Case,
    /// The path to use instead, if this one is deprecated.
    pub successor: Option<&'static str>,
}

/// Paths with a common prefix.
struct Family {
    prefix: &'static str,
    case: Case,
    is_deprecated: bool,
}

const FAMILIES: [Family; 6] = [
    Family { prefix: "/v1/public/svc", case: Case::Snake, is_deprecated: false },
    Family { prefix: "/v0.1/public/svc", case: Case::Snake, is_deprecated: true },
    Family { prefix: "/v1/public/codepush", case: Case::Snake, is_deprecated: false },
    Family { prefix: "/v0.1/public/codepush", case: Case::Snake, is_deprecated: false },
    Family { prefix: "/v0.1/legacy", case: Case::Camel, is_deprecated: false },
    Family { prefix: "", case: Case::Camel, is_deprecated: false },
];

/// The prefix that clients put before any of these paths if their configured server URL ends in it.
pub const VERSION_PREFIX: &str = "/v1";

const JOBS: [Job; 3] = [Job::Check, Job::DeployReport, Job::DownloadReport];

const fn rest(job: Job, case: Case) -> &'static str {
    match (job, case) {
        (Job::Check, Case::Snake) => "/update_check",
        (Job::DeployReport, Case::Snake) => "/report_status/deploy",
        (Job::DownloadReport, Case::Snake) => "/report_status/download",
        (Job::Check, Case::Camel) => "/updateCheck",
        (Job::DeployReport, Case::Camel) => "/reportStatus/deploy",
        (Job::DownloadReport, Case::Camel) => "/reportStatus/download",
    }
}

const fn canonical(job: Job) -> &'static str {
    match job {
        Job::Check => "/v1/public/svc/update_check",
        Job::DeployReport => "/v1/public/svc/report_status/deploy",
        Job::DownloadReport => "/v1/public/svc/report_status/download",
    }
}

impl Family {
    fn endpoint(&self, job: Job) -> Endpoint {
        Endpoint { job, case: self.case, successor: self.is_deprecated.then_some(canonical(job)) }
    }
}

/// The endpoint at `path` (without query), if it is an acquisition path. Trailing slashes are ignored.
pub fn endpoint(path: &str) -> Option<Endpoint> {
    let path = path.trim_end_matches('/');
    let find = |path: &str| {
        FAMILIES.iter().find_map(|family| {
            let tail = path.strip_prefix(family.prefix)?;
            JOBS.into_iter().find(|job| rest(*job, family.case) == tail).map(|job| family.endpoint(job))
        })
    };
    find(path).or_else(|| path.strip_prefix(VERSION_PREFIX).and_then(find))
}

/// Every acquisition path, each once.
pub fn all() -> Vec<(String, Endpoint)> {
    let family = |family: &'static Family| {
        JOBS.into_iter().flat_map(move |job| {
            let path = format!("{}{}", family.prefix, rest(job, family.case));
            let prefixed = format!("{VERSION_PREFIX}{path}");
            once((path, family.endpoint(job))).chain(once((prefixed, family.endpoint(job))))
        })
    };
    FAMILIES.iter().flat_map(family).collect()
}
