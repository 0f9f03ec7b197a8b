//! Panics that a test asks for: only in a build with the feature `planted-panic`, which nobody deploys.

/// Panics when the URL says `planted=` and this place.
#[cfg(feature = "planted-panic")]
pub(crate) fn panic_at(place: &str, url: &str) {
    assert!(!url.contains(&format!("planted={place}")), "planted at {place}");
}

/// Nothing is planted.
#[cfg(not(feature = "planted-panic"))]
pub(crate) fn panic_at(_place: &str, _url: &str) {}
