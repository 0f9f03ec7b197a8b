//! Panics on request, for tests: only in a build with the feature `planted-panic`, which is never deployed.

/// Panics if the URL contains `planted=` and this place.
#[cfg(feature = "planted-panic")]
pub(crate) fn panic_at(place: &str, url: &str) {
    assert!(!url.contains(&format!("planted={place}")), "planted at {place}");
}

/// Does nothing.
#[cfg(not(feature = "planted-panic"))]
pub(crate) fn panic_at(_place: &str, _url: &str) {}
