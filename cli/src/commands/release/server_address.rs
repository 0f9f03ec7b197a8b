//! Whether the app's builds ask the server that gets the release.

use crate::bundle::{Builder, NativeAddress, Platform};
use crate::config::server::is_address_of;
use crate::output::table::printable;

/// A warning if the project names servers, and none of them is the one that gets the release.
pub(super) fn warning(builder: &Builder, platform: Platform, server: &str) -> Option<String> {
    foreign(&builder.servers(platform), platform, server)
}

fn foreign(native: &[NativeAddress], platform: Platform, server: &str) -> Option<String> {
    if native.is_empty() || native.iter().any(|found| is_address_of(&found.text, server)) {
        return None;
    }
    let shown: Vec<String> = native.iter().map(|found| format!("{} in {}", found.text, found.source)).collect();
    let names = if shown.len() == 1 { "another server address" } else { "other server addresses" };
    Some(printable(&format!(
        "the {} app has {names} ({}) than {server}/: devices of that build ask that server, and do not get this release. \
         Write the right address with `updraft init` and ship a new build, or give the server of that address with --server",
        platform.title(),
        shown.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_another_server_is_warned_about() {
        let native = |text: &str| NativeAddress { text: text.to_owned(), source: "strings.xml".to_owned() };
        let warned = |texts: &[&str]| {
            let native: Vec<_> = texts.iter().map(|text| native(text)).collect();
            foreign(&native, Platform::Android, "https://u.example")
        };
        for texts in [&[][..], &["https://u.example"], &["https://u.example/v1/"], &["https://staging.example/", "https://u.example/"]] {
            assert_eq!(warned(texts), None, "{texts:?}");
        }
        let text = warned(&["https://old.example/", "https://older.example/"]).unwrap();
        let expected = "the Android app has other server addresses (https://old.example/ in strings.xml, https://older.example/ in \
                        strings.xml) than https://u.example/: devices of that build ask that server, and do not get this release. ";
        assert!(text.starts_with(expected), "{text}");
    }
}
