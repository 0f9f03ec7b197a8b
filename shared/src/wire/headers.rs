//! The headers that `edge` and `control` both put on acquisition answers, so that they cannot differ.

use super::path::Endpoint;

/// `Strict-Transport-Security`, sent when the base address is https.
pub const HSTS: &str = "max-age=31536000; includeSubDomains";

/// What clients may send from a web view of another origin.
const ALLOWED_HEADERS: &str = "Content-Type, Accept, X-CodePush-Plugin-Name, X-CodePush-Plugin-Version, X-CodePush-SDK-Version";

/// The methods of a bundle's path, as they stand in `Allow`.
pub const BUNDLE_METHODS: &str = "GET, HEAD, OPTIONS";

/// The headers of an answer with a JSON body, success or error. `X-Request-Id` is not among them.
pub fn acquisition(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let mut headers = vec![("Content-Type", "application/json".to_owned())];
    headers.extend(preflight(endpoint.job.methods()));
    if let Some(successor) = endpoint.successor {
        headers.push(("Deprecation", "true".to_owned()));
        headers.push(("Link", format!("<{successor}>; rel=\"successor-version\"")));
    }
    headers
}

/// The headers of the 204 that answers OPTIONS; `methods` as they stand in `Allow`.
pub fn preflight(methods: &str) -> Vec<(&'static str, String)> {
    vec![
        ("Cache-Control", "no-store".to_owned()),
        ("X-Content-Type-Options", "nosniff".to_owned()),
        ("Access-Control-Allow-Origin", "*".to_owned()),
        ("Access-Control-Allow-Methods", methods.to_owned()),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS.to_owned()),
        ("Access-Control-Expose-Headers", "X-Request-Id".to_owned()),
    ]
}

/// The headers of a bundle. Not among them: `Content-Length`, `ETag`, `Content-Range`, which depend on the bytes.
pub fn bundle() -> Vec<(&'static str, &'static str)> {
    vec![
        ("Content-Type", "application/octet-stream"),
        ("Content-Disposition", "attachment"),
        ("Content-Security-Policy", "sandbox"),
        // `no-transform`, because a client refuses a body without length, and a compressed one has none.
        ("Cache-Control", "public, max-age=86400, immutable, no-transform"),
        ("Accept-Ranges", "bytes"),
        ("X-Content-Type-Options", "nosniff"),
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Allow-Methods", BUNDLE_METHODS),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS),
        ("Access-Control-Expose-Headers", "X-Request-Id"),
    ]
}
