//! Rendering templates, and text that pages share.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use shared::keys::Label;

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

/// A number with thousands separators: `1,234,567`.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
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

/// A size for people, in units of 1,000 as download sizes are shown elsewhere: `999 bytes`, `1.5 MB`. Rounded down: a limit that is nearly reached is not
/// shown as reached.
pub fn bytes(size: i64) -> String {
    const UNITS: [(&str, i64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let Some((unit, one)) = UNITS.into_iter().find(|(_, one)| size >= *one) else {
        return if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") };
    };
    format!("{}.{} {unit}", grouped(size / one), size % one / (one / 10))
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

/// `part` of `whole` in percent: `12%`, `0.3%`, and `–` if there is no whole. Few is never shown as none, nor nearly all as all.
pub fn share(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "–".to_owned();
    }
    // Tenths of a percent, rounded.
    let tenths = (i128::from(part) * 2_000 + i128::from(whole)) / (2 * i128::from(whole));
    match tenths {
        0 if part > 0 => "<0.1%".to_owned(),
        1_000.. if part < whole => ">99.9%".to_owned(),
        tenths if tenths % 10 == 0 => format!("{}%", tenths / 10),
        tenths => format!("{}.{}%", tenths / 10, tenths % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_never_rounded_to_none_or_all() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        for (size, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (2_550_000_000, "2.5 GB"),
            (i64::MAX, "9,223,372,036.8 GB"),
        ] {
            assert_eq!(bytes(size), text);
        }
        assert_eq!([0, 1, 2_000].map(devices_run), ["no device runs", "1 device runs", "2,000 devices run"]);
        assert_eq!([0, 1, 2_000].map(active_devices), ["no active devices", "1 active device", "2,000 active devices"]);
        let long = "a ".repeat(200);
        assert_eq!(shortened(&long).chars().count(), 100);
        assert_eq!([shortened("one\ntwo"), shortened("one"), shortened("")], ["one…", "one", ""]);
        for (part, whole, text) in
            [(0, 0, "–"), (0, 10, "0%"), (1, 3, "33.3%"), (10, 10, "100%"), (1, 100_000, "<0.1%"), (99_999, 100_000, ">99.9%")]
        {
            assert_eq!(share(part, whole), text);
        }
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
