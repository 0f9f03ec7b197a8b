//! The files that pages are made of: embedded, and named by their contents, so that a browser may keep them for ever.

use std::sync::LazyLock;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use shared::hash::Sha256Hex;

use crate::domain::error::{Error, Result, Thing};
use crate::http::extract::Path;

/// Every file: its name, its type, what it holds.
const FILES: &[(&str, &str, &[u8])] = &[
    ("dashboard.css", "text/css; charset=utf-8", include_bytes!("../../../assets/dashboard/dashboard.css")),
    ("icon.svg", "image/svg+xml", include_bytes!("../../../assets/dashboard/icon.svg")),
    // Of every page: dialogs, toasts, buttons that copy, forms that are sent once.
    ("dashboard.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/dashboard.js")),
    // Of the pages that mails lead to: takes the token out of the address.
    ("token.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/token.js")),
    // Of pages with passkeys: asks the browser for one.
    ("passkeys.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/passkeys.js")),
    // Of pages that are changed in part: htmx 4.0.1 (htmx.org, BSD Zero Clause License), as its npm package has it.
    ("htmx.min.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/htmx.min.js")),
    // Of pages with questions: shows them as dialogs.
    ("dialogs.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/dialogs.js")),
    ("print.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/print.js")),
    // Of the page on which a command line is let in: a moment to look at it.
    ("decide.js", JAVASCRIPT, include_bytes!("../../../assets/dashboard/decide.js")),
    // Of the page after a command line was approved or denied: leads back to it.
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

/// The name under which a file is served. One that is not in the list has none; a test looks at every page for that.
pub fn hashed(name: &str) -> &str {
    SERVED.iter().find(|file| file.name == name).map_or("none", |file| &file.hashed)
}

/// Reads a file.
pub async fn get(Path(file): Path<String>) -> Result<impl IntoResponse> {
    let file = SERVED.iter().find(|served| served.hashed == file).ok_or(Error::NotFound(Thing::File))?;
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    ];
    Ok((headers, file.bytes))
}
