//! Estimates the size of a snapshot without writing it, to enforce the limit per deployment.
//!
//! The result is an upper estimate, independent of flags and numbers: raising a rollout or making a release mandatory never increases it.

use super::shadowed;
use std::collections::HashSet;

/// IDs, version, time and punctuation of the document.
const HEADER: u64 = 200;
/// A release in the short form, with all flags and the longest numbers.
const SHORT: u64 = 124;
/// What the full form adds besides the description: the size and hash of the package's bytes.
const OFFER: u64 = 96;
/// The name and punctuation of a description.
const DESCRIPTION: u64 = 5;

/// The properties of a release that determine its size in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReleaseOutline<'r> {
    /// The range, as text.
    pub range: &'r str,
    /// Whether it is disabled.
    pub is_disabled: bool,
    /// The percentage of an unfinished rollout; `None` means all devices.
    pub rollout: Option<u8>,
    /// The [`json_length`] of the description; 0 without one.
    pub description: u64,
}

/// The size of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes of JSON without diffs; never less than the actual number.
    pub bytes: u64,
    /// Distinct ranges of releases that can still be offered.
    pub ranges: usize,
}

impl Size {
    /// The size of a snapshot of these releases, newest first.
    pub fn of<'r>(newest_first: impl IntoIterator<Item = ReleaseOutline<'r>>) -> Self {
        let outlines: Vec<ReleaseOutline<'r>> = newest_first.into_iter().collect();
        let offered = offered(&outlines);
        let mut bytes = HEADER;
        let mut ranges = HashSet::new();
        for (outline, is_offered) in outlines.iter().zip(offered) {
            bytes += SHORT;
            if is_offered {
                bytes += OFFER + if outline.description == 0 { 0 } else { DESCRIPTION + outline.description };
                if ranges.insert(outline.range) {
                    bytes += json_length(outline.range) + 1;
                }
            }
        }
        if ranges.is_empty()
            && let Some(newest) = outlines.first()
        {
            bytes += json_length(newest.range) + 1;
        }
        Self { bytes, ranges: ranges.len() }
    }
}

/// For each release, newest first, whether it can still be offered. Only then is its description in the snapshot.
pub fn offered(newest_first: &[ReleaseOutline<'_>]) -> Vec<bool> {
    let flags = newest_first.iter().map(|outline| (outline.range, outline.is_disabled, outline.rollout.filter(|rollout| *rollout < 100)));
    shadowed(flags).map(|is_shadowed| !is_shadowed).collect()
}

/// The length of a text as a JSON string, including the quotation marks.
pub fn json_length(text: &str) -> u64 {
    let escaped: u64 = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum();
    escaped + 2
}
