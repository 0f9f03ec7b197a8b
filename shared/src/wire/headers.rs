//! Response headers of the acquisition paths, shared so that `edge` and `control` cannot differ.

use super::path::Endpoint;

/// `Strict-Transport-Security`, sent if the base URL is https.
pub const HSTS: &str = "max-age=31536000; includeSubDomains";

/// The request headers that clients may send from a web view of another origin.
const ALLOWED_HEADERS: &str = "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version";

/// The methods of a bundle path, as in `Allow`.
pub const BUNDLE_METHODS: &str = "GET, HEAD, OPTIONS";

/// How long a browser may cache a preflight response, in seconds.
const CORS_AGE: &str = "86400";

/// How long caches may keep a bundle, in seconds: a day, since its URL is the same for an hour and its bytes never change.
const BUNDLE_AGE: i64 = 86_400;

/// The headers of a JSON response, success or error, except `X-Request-Id`.
pub fn acquisition(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let mut headers = vec![("Content-Type", "application/json".to_owned())];
    headers.extend(preflight(endpoint.job.methods()));
    if let Some(successor) = endpoint.successor {
        headers.push(("Deprecation", "true".to_owned()));
        headers.push(("Link", format!("<{successor}>; rel=\"successor-version\"")));
    }
    headers
}

/// The headers of the 204 response to OPTIONS; `methods` as in `Allow`.
pub fn preflight(methods: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Cache-Control", "no-store".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Access-Control-Allow-Origin", "*".to_owned()),
        ("Access-Control-Allow-Methods", methods.to_owned()),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS.to_owned()),
        ("Access-Control-Expose-Headers", "X-Request-Id".to_owned()),
        ("Access-Control-Max-Age", CORS_AGE.to_owned()),
    ]
}

/// The headers of a bundle whose URL expires in `expires_in` milliseconds, except those that depend on the bytes: `Content-Length`, `ETag` and
/// `Content-Range`.
pub fn bundle(expires_in: i64) -> Vec<(&'static str, String)> {
    let age = (expires_in / 1_000).clamp(0, BUNDLE_AGE);
    let mut headers = vec![
        ("Content-Type", "application/octet-stream".to_owned()),
        ("Content-Disposition", "attachment".to_owned()),
        ("Content-Security-Policy", "sandbox".to_owned()),
        ("Accept-Ranges", "bytes".to_owned()),
    ];
    headers.extend(preflight(BUNDLE_METHODS).into_iter().filter(|(name, _)| *name != "Cache-Control"));
    // `no-transform`, because clients reject a body without a length, and a compressed body has none.
    headers.push(("Cache-Control", format!("public, max-age={age}, immutable, no-transform")));
    headers
}
