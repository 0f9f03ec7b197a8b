//! The pages' static files: embedded, with a content hash in their names, so that browsers can cache them forever.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use shared::hash::Sha256Hex;

use crate::domain::error::{Error, Result, Thing};
use crate::http::extract::Path;

/// Every file: name, media type, contents.
const FILES: &[(&str, &str, &[u8])] = &[
    ("dashboard.css", "text/css; charset=utf-8", include_bytes!("../../../assets/dashboard/dashboard.css")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../../assets/dashboard/icon.svg")),
    // Every page: dialogs, toasts, copy buttons, protection against double submits.
    ("dashboard.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/dashboard.js")),
    // Pages that emails link to: moves the token out of the URL.
    ("token.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/token.js")),
    // Pages with passkeys: asks the browser for one.
    ("passkeys.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/passkeys.js")),
    // Pages with partial updates: htmx 4.0.1 (htmx.org, BSD Zero Clause License), unchanged from its npm package.
    ("htmx.min.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/htmx.min.js")),
    // Pages with confirmations: shows them as dialogs.
    ("dialogs.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/dialogs.js")),
    // Pages with charts: uPlot 1.6.32 (MIT License, `uplot.LICENSE`), unchanged from its npm package, and what draws tables with it.
    ("uplot.min.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/uplot.min.js")),
    ("uplot.min.css", "text/css; charset=utf-8", include_bytes!("../../../assets/dashboard/uplot.min.css")),
    ("charts.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/charts.js")),
    ("print.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/print.js")),
    // The page that uploads a release: drag and drop, progress.
    ("upload.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/upload.js")),
    // The page that authorizes a CLI: enables the button after a short delay.
    ("decide.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/decide.js")),
    // The page after a decision on a CLI: redirects back to the CLI.
    ("terminal.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/terminal.js")),
];

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

struct Served {
    name: &'static str,
    hashed: String,
    kind: &'static str,
    bytes: &'static [u8],
    /// The same, compressed.
    gzip: Vec<u8>,
}

static SERVED: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let serve = |(name, kind, bytes): &(&'static str, &'static str, &'static [u8])| {
        let hash = Sha256Hex::of(bytes).to_string();
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        Served { gzip: gzip(bytes), name, hashed: format!("{stem}-{}.{end}", hash.get(..12).unwrap_or_default()), kind, bytes }
    };
    FILES.iter().map(serve).collect()
});

/// The name under which a file is served, or `none` for an unknown file; a test checks every page for that.
pub fn hashed(name: &str) -> &str {
    SERVED.iter().find(|file| file.name == name).map_or("none", |file| &file.hashed)
}

/// Compresses a file (RFC 1952). Pages are not compressed: what users type stands next to secrets in them, and the length would tell both.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; an empty file would be served as it is.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Whether the client accepts gzip (RFC 9110, section 12.5.3). A weight of 0 refuses it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let refused = |parameter: &str| parameter.trim().strip_prefix("q=").is_some_and(|weight| weight.trim().parse() == Ok(0.0));
    let mut codings = all.filter_map(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        (name.trim().eq_ignore_ascii_case("gzip")).then(|| !refused(parameters))
    });
    codings.next().unwrap_or(false)
}

/// Serves a file, compressed for clients that accept it.
pub async fn get(Path(file): Path<String>, headers: HeaderMap) -> Result<Response> {
    let file = SERVED.iter().find(|served| served.hashed == file).ok_or(Error::NotFound(Thing::File))?;
    let fixed: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    if !file.gzip.is_empty() && accepts_gzip(&headers) {
        return Ok((fixed, [(header::CONTENT_ENCODING, "gzip")], file.gzip.as_slice()).into_response());
    }
    Ok((fixed, file.bytes).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        let accepts = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            accepts_gzip(&headers)
        };
        for accepted in [&["gzip"][..], &["deflate, GZIP;q=0.5, br"], &["br", "gzip"]] {
            assert!(accepts(accepted), "{accepted:?}");
        }
        for refused in [&[][..], &["identity"], &["gzip;q=0"], &["br, gzip; q=0.0"], &["x-gzipped"]] {
            assert!(!accepts(refused), "{refused:?}");
        }
    }
}
