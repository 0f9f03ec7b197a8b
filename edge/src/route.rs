//! Routing by path and method; pure code, so that it can be tested natively.
//!
//! The acquisition paths themselves are in `shared::wire::path`, because control registers the same ones.

use shared::wire::headers::BUNDLE_METHODS;
use shared::wire::path::{self, Endpoint, Job};

/// Paths with more layers of percent-encoding count as internal and are rejected: each layer costs another pass.
const MAX_ESCAPE_LAYERS: usize = 8;

/// The parts of a request's URL (absolute, as the runtime provides it), split without parsing into `url::Url`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'u> {
    /// Percent-encoded as sent, starting with `/`.
    pub path: &'u str,
    /// Without the question mark; empty if there is no query.
    pub query: &'u str,
    /// The path, with question mark and query if there is one.
    pub path_and_query: &'u str,
}

impl<'u> Target<'u> {
    /// Splits an absolute URL.
    pub fn of(url: &'u str) -> Self {
        let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path_and_query = after_scheme.find('/').and_then(|start| after_scheme.get(start..)).unwrap_or("/");
        let path_and_query = path_and_query.split_once('#').map_or(path_and_query, |(before, _)| before);
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        Self { path, query, path_and_query }
    }
}

/// The handler of a path.
#[derive(Clone, Debug)]
pub enum Route<'p> {
    /// An update check.
    Check(Endpoint),
    /// A deploy or a download report.
    Report(Endpoint),
    /// A bundle download; the text is the blob part of the path.
    Bundle(&'p str),
    /// Control's internal paths, which are unreachable through the edge.
    Internal,
    /// Everything else, which control answers.
    Control,
}

/// How to handle a request's method on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodCheck {
    /// Serve it.
    Serve,
    /// Answer a CORS preflight or any other OPTIONS.
    Preflight,
    /// Answer 405 with the route's methods.
    WrongMethod,
}

impl Route<'_> {
    /// The methods of this route, as in `Allow` and the CORS headers; `None` if control decides.
    pub fn methods(&self) -> Option<&'static str> {
        match self {
            Route::Check(endpoint) | Route::Report(endpoint) => Some(endpoint.job.methods()),
            Route::Bundle(_) => Some(BUNDLE_METHODS),
            Route::Internal | Route::Control => None,
        }
    }

    /// How to handle `method` (in upper case, as the runtime provides it).
    pub fn check_method(&self, method: &str) -> MethodCheck {
        match (self, method) {
            (Route::Internal | Route::Control, _) | (Route::Check(_) | Route::Bundle(_), "GET" | "HEAD") | (Route::Report(_), "POST") => {
                MethodCheck::Serve
            }
            (_, "OPTIONS") => MethodCheck::Preflight,
            _ => MethodCheck::WrongMethod,
        }
    }
}

/// Finds the route of a percent-encoded path.
pub fn route(path: &str) -> Route<'_> {
    if let Some(endpoint) = path::endpoint(path) {
        return match endpoint.job {
            Job::Check => Route::Check(endpoint),
            Job::DeployReport | Job::DownloadReport => Route::Report(endpoint),
        };
    }
    if let Some(blob) = path.strip_prefix(path::BUNDLES) {
        let blob = blob.trim_end_matches('/');
        if !blob.is_empty() && !blob.contains('/') {
            return Route::Bundle(blob);
        }
    }
    if is_internal(path) { Route::Internal } else { Route::Control }
}

/// Whether any interpretation of `path` leads under `/internal`.
///
/// Control's router interprets a path one way; proxies and later versions may differ. So escapes are decoded repeatedly, backslashes and doubled
/// slashes count as one slash, dot segments are resolved, and case is ignored. No public path of control starts with this segment, so this blocks
/// nothing legitimate. The same goes for paths that are escaped over and over.
fn is_internal(path: &str) -> bool {
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..MAX_ESCAPE_LAYERS {
        match percent_decode(&bytes) {
            Some(shorter) => bytes = shorter,
            None => return leads_under_internal(&bytes),
        }
    }
    true
}

fn leads_under_internal(decoded: &[u8]) -> bool {
    let mut bytes = decoded.to_vec();
    bytes.retain(|byte| *byte > b' ');
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in bytes.split(|byte| matches!(byte, b'/' | b'\\')) {
        match segment {
            b"" | b"." => {}
            b".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    segments.first().is_some_and(|first| first.eq_ignore_ascii_case(b"internal"))
}

/// Decodes every `%xx` once; `None` if there is none.
fn percent_decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, tail @ ..]) => hex_digit(*high).zip(hex_digit(*low)).map(|(high, low)| (high * 16 + low, tail)),
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((first, after));
        decoded.push(byte);
        rest = tail;
    }
    (decoded.len() < bytes.len()).then_some(decoded)
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_path_and_query() {
        for (url, path, query) in [
            ("http://localhost:8787/a/b?c=d?e", "/a/b", "c=d?e"),
            ("https://updates.example", "/", ""),
            ("https://updates.example/?", "/", ""),
            ("https://updates.example//x#y?z", "//x", ""),
        ] {
            let target = Target::of(url);
            assert_eq!((target.path, target.query), (path, query), "{url}");
        }
    }

    #[test]
    fn every_acquisition_path_is_served_by_the_edge() {
        for (path, endpoint) in path::all() {
            let with_slash = format!("{path}/");
            match (route(&path), endpoint.job) {
                (Route::Check(_), Job::Check) | (Route::Report(_), Job::DeployReport | Job::DownloadReport) => {}
                (other, _) => panic!("{path} became {other:?}"),
            }
            assert!(!matches!(route(&with_slash), Route::Control), "{with_slash}");
        }
        assert!(matches!(route("/v1/public/svc/bundles/YWJj"), Route::Bundle("YWJj")));
        assert!(matches!(route("/v1/public/svc/bundles/YWJj//"), Route::Bundle("YWJj")));
        assert!(matches!(route("/v1/public/svc/bundles/"), Route::Control));
        assert!(matches!(route("/v1/public/svc/bundles/a/b"), Route::Control));
    }

    #[test]
    fn no_spelling_of_internal_paths_gets_through() {
        for path in [
            "/internal",
            "/internal/",
            "/internal/v1/reports",
            "//internal/v1/reports",
            "/./internal/v1/reports",
            "/v1/../internal/v1/reports",
            "/%2e/internal/",
            "/v1/%2E%2e/internal/",
            "/internal%2Fv1%2freports",
            "/%69nternal/v1",
            "/%2569nternal/v1",
            "/INTERNAL/v1",
            "/Internal%5cv1",
            "\\internal\\v1",
            "/%2Finternal/v1",
            "/%09internal/v1",
            "/internal%20/v1",
            "/v1/apps/..%2f..%2finternal/x",
            "/%2525252569nternal/",
            "/v1/%252525252525252525252541",
        ] {
            assert!(matches!(route(path), Route::Internal), "{path}");
        }
        for path in ["/", "/v1/apps/internal", "/internals", "/v1/internal/x", "/%", "/%zz", "/v1/health", "/internal-notes"] {
            assert!(matches!(route(path), Route::Control), "{path}");
        }
    }

    #[test]
    fn each_method_is_served_preflighted_or_refused() {
        let check = route("/v1/public/svc/update_check");
        let report = route("/v1/public/svc/report_status/deploy");
        assert_eq!(check.check_method("HEAD"), MethodCheck::Serve);
        assert_eq!(check.check_method("POST"), MethodCheck::WrongMethod);
        assert_eq!(check.check_method("OPTIONS"), MethodCheck::Preflight);
        assert_eq!(report.check_method("POST"), MethodCheck::Serve);
        assert_eq!(report.check_method("GET"), MethodCheck::WrongMethod);
        assert_eq!(route("/v1/apps").check_method("OPTIONS"), MethodCheck::Serve);
    }
}
