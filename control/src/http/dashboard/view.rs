//! Rendering templates, and text that pages share.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::keys::Label;
pub use shared::text::{grouped, size as bytes};

use crate::domain::error::{Error, Result};

/// The account's pages in the menu of the signed-in visitor: label and page.
pub const NAVIGATION: &[(&str, &str)] = &[
    ("Account", "/account"),
    ("Usage", "/usage"),
    ("Two-factor authentication", "/security"),
    ("Sessions and devices", "/sessions"),
    ("Keys", "/keys"),
];

/// A page with status 200.
pub fn page(template: &impl Template) -> Result<Response> {
    page_with(StatusCode::OK, template)
}

/// A page with another status.
pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response> {
    Ok(html(status, template.render().map_err(Error::internal)?))
}

/// The template value that says whether the page shows a refused form; the page's title then starts with `Error`.
pub const IS_REFUSED: &str = "is_refused";

/// The response with rendered HTML.
pub(super) fn html(status: StatusCode, html: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
}

/// A waiting time in words, rounded up.
pub fn wait(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..=90 => (seconds.max(1), "second"),
        91..=5_400 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

/// An error text as a sentence. A label that it begins with stays lowercase.
pub fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    let word = text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    if Label::try_from(word).is_ok() {
        return format!("{text}{end}");
    }
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}{end}", characters.as_str())
}

/// A number of devices in words.
pub fn devices(number: i64) -> String {
    match number {
        0 => "no device".to_owned(),
        1 => "1 device".to_owned(),
        _ => format!("{} devices", grouped(number)),
    }
}

/// A number of active devices in words.
pub fn active_devices(number: i64) -> String {
    match number {
        0 => "no active devices".to_owned(),
        1 => "1 active device".to_owned(),
        _ => format!("{} active devices", grouped(number)),
    }
}

/// Devices and a verb in the right number: `1 device runs`.
pub fn devices_run(number: i64) -> String {
    format!("{} {}", devices(number), if number > 1 { "run" } else { "runs" })
}

/// The beginning of a long text on one line, for lists.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 100;
    let line = text.lines().next().unwrap_or_default();
    let start: String = line.chars().take(MOST).collect();
    if start.len() < text.len() { format!("{}…", start.trim_end()) } else { start }
}

/// How much diffs have saved, an estimate in bytes, as it begins a sentence: `About 1.2 GB`. `None` if that is nothing.
pub fn saved(bytes: i64) -> Option<String> {
    (bytes > 0).then(|| format!("About {}", self::bytes(bytes)))
}

/// A limit of a size, and what is used of it, in units of 1,024 as settings have them: `200 MiB`, `1.5 KiB`. Rounded down, too.
pub fn limited_bytes(size: i64) -> String {
    const UNITS: [(&str, i64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, one)| size >= *one) {
        None => bytes(size),
        Some((unit, one)) if size % one == 0 => format!("{} {unit}", grouped(size / one)),
        Some((unit, one)) => format!("{}.{} {unit}", grouped(size / one), size % one * 10 / one),
    }
}

/// `part` of `whole` in percent: `12%`, `0.3%`, and `–` if there is no whole.
pub fn share(part: i64, whole: i64) -> String {
    shared::text::share(part, whole).unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_and_long_text_is_cut() {
        assert_eq!([0, 1, 2_000].map(devices_run), ["no device runs", "1 device runs", "2,000 devices run"]);
        assert_eq!([0, 1, 2_000].map(active_devices), ["no active devices", "1 active device", "2,000 active devices"]);
        let long = "a ".repeat(200);
        assert_eq!(shortened(&long).chars().count(), 100);
        assert_eq!([shortened("one\ntwo"), shortened("one"), shortened("")], ["one…", "one", ""]);
        assert_eq!([share(0, 0), share(1, 3)], ["–", "33.3%"]);
    }

    #[test]
    fn limits_are_in_the_units_of_settings() {
        for (size, text) in
            [(1, "1 byte"), (999, "999 bytes"), (1_024, "1 KiB"), (2_047, "1.9 KiB"), (209_715_200, "200 MiB"), (53_687_091_200, "50 GiB")]
        {
            assert_eq!(limited_bytes(size), text);
        }
    }
}
