//! How large a snapshot is going to be, counted without writing it: for the bound on what one deployment may cost.
//!
//! The count is an upper estimate which flags and numbers do not change: raising a rollout or making a release mandatory never makes a snapshot larger.

use super::shadowed;
use std::collections::HashSet;

/// Ids, version, time and punctuation of the document.
const HEADER: u64 = 200;
/// A release in the short form, with every flag and the longest numbers.
const SHORT: u64 = 124;
/// What the full form adds, besides the description: the size and the hash of the package's bytes.
const OFFER: u64 = 96;
/// The name and punctuation of a description.
const DESCRIPTION: u64 = 5;

/// What decides how much space a release takes in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sketch<'r> {
    /// The text of its range.
    pub range: &'r str,
    /// Whether it is withdrawn.
    pub is_disabled: bool,
    /// The percentage of an unfinished rollout; none when it is for all.
    pub rollout: Option<u8>,
    /// The [`json_length`] of its description; 0 when it has none.
    pub description: u64,
}

/// The size of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes of JSON text, without diffs; never less than there really are.
    pub bytes: u64,
    /// Distinct ranges of releases that can still be offered.
    pub ranges: usize,
}

impl Size {
    /// The size of a snapshot of these releases, newest first.
    pub fn of<'r>(newest_first: impl IntoIterator<Item = Sketch<'r>>) -> Self {
        let sketches: Vec<Sketch<'r>> = newest_first.into_iter().collect();
        let offered = offered(&sketches);
        let mut bytes = HEADER;
        let mut ranges = HashSet::new();
        for (sketch, is_offered) in sketches.iter().zip(offered) {
            bytes += SHORT;
            if is_offered {
                bytes += OFFER + if sketch.description == 0 { 0 } else { DESCRIPTION + sketch.description };
                if ranges.insert(sketch.range) {
                    bytes += json_length(sketch.range) + 1;
                }
            }
        }
        if ranges.is_empty()
            && let Some(newest) = sketches.first()
        {
            bytes += json_length(newest.range) + 1;
        }
        Self { bytes, ranges: ranges.len() }
    }
}

/// For each release, newest first, whether it can still be offered to a client: only then does a snapshot have its description.
pub fn offered(newest_first: &[Sketch<'_>]) -> Vec<bool> {
    let flags = newest_first.iter().map(|sketch| (sketch.range, sketch.is_disabled, sketch.rollout.filter(|rollout| *rollout < 100)));
    shadowed(flags).map(|is_shadowed| !is_shadowed).collect()
}

/// The bytes of a text as a JSON string, its quotation marks included.
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
