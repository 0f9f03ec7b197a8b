//! The pages' static files: embedded, with a content hash in their names, so that browsers can cache them forever.

use std::sync::LazyLock;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
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
}

static SERVED: LazyLock<Vec<Served>> = LazyLock::new(|| {
    let serve = |(name, kind, bytes): &(&'static str, &'static str, &'static [u8])| {
        let hash = Sha256Hex::of(bytes).to_string();
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        Served { name, hashed: format!("{stem}-{}.{end}", hash.get(..12).unwrap_or_default()), kind, bytes }
    };
    FILES.iter().map(serve).collect()
});

/// The name under which a file is served, or `none` for an unknown file; a test checks every page for that.
pub fn hashed(name: &str) -> &str {
    SERVED.iter().find(|file| file.name == name).map_or("none", |file| &file.hashed)
}

/// Serves a file.
pub async fn get(Path(file): Path<String>) -> Result<impl IntoResponse> {
    let file = SERVED.iter().find(|served| served.hashed == file).ok_or(Error::NotFound(Thing::File))?;
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    Ok((headers, file.bytes))
}
