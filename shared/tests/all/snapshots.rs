//! The edge reads exactly what the publisher writes, and rejects anything else.

use crate::reference::{any_history, hash, header, published, release, request};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::select::{Outcome, Reason, select};
use shared::snapshot::{DiffSource, HistoryRelease, ReleaseOutline, Size, Snapshot, json_length, offered};

fn publish(history: &[HistoryRelease]) -> String {
    Snapshot::publish(&header(), history).unwrap_or_default()
}

#[test]
fn the_header_is_kept() {
    let snapshot = published(&[release(1, "1.0.0")]);
    let header = header();
    assert_eq!(snapshot.deployment(), &header.deployment);
    assert_eq!(snapshot.app(), &header.app);
    assert_eq!((snapshot.version(), snapshot.created(), snapshot.signed()), (header.version, header.created, Some(header.created)));
    assert!(!snapshot.is_tombstone());
    assert_eq!(snapshot.releases().len(), 1);
}

#[test]
fn snapshots_get_old_and_tombstones_do_not() {
    const HOUR: i64 = 3_600_000;
    let (snapshot, signed) = (published(&[]), header().created);
    for (hours, is_old) in [(0, false), (36, false), (37, true), (-36, false), (-37, true), (100_000, true)] {
        assert_eq!(snapshot.is_old(signed.plus_millis(hours * HOUR)), is_old, "{hours}");
    }
    let tombstone = Snapshot::parse(Snapshot::publish_tombstone(&header()).as_bytes()).unwrap();
    assert!(!tombstone.is_old(signed.plus_millis(100_000 * HOUR)));
}

#[test]
fn a_tombstone_differs_from_an_empty_snapshot() {
    let tombstone = Snapshot::parse(Snapshot::publish_tombstone(&header()).as_bytes()).unwrap();
    assert!(tombstone.is_tombstone());
    assert_eq!(tombstone.version(), 5);
    assert_eq!(select(&tombstone, &request("1.0.0")).reason, Reason::NoReleases);
    assert!(!published(&[]).is_tombstone());
}

#[test]
fn releases_that_cannot_be_offered_have_the_short_form() {
    let mut history: Vec<_> = (1..=7).rev().map(|number| release(number, if number % 3 == 0 { "^2.0.0" } else { "1.0.0" })).collect();
    history[0].rollout = Some(25); // v7, 1.0.0: does not shadow older releases
    history[1].is_disabled = true; // v6, ^2.0.0
    history[2].rollout = Some(100); // v5, 1.0.0: shadows v4, v2 and v1
    history[3].rollout = Some(40); // v4
    history[3].is_mandatory = true;
    history[2].description = None;
    history[2].diffs = vec![DiffSource { source_hash: hash(4), blob: hash("diff"), size: 9 }];
    history[4].blob = history[4].package_hash.clone(); // v3, ^2.0.0: a single file
    let document: Value = serde_json::from_str(&publish(&history)).unwrap();
    assert_eq!(document["g"], json!(["1.0.0", "^2.0.0"]));
    let full = |number: u32| json!({"l": number, "h": hash(number), "n": format!("notes of v{number}"), "s": 1_000 + number, "b": release(number, "").blob});
    let mut v7 = full(7);
    v7["g"] = json!(0);
    v7["p"] = json!(25);
    let expected = json!([
        v7,
        {"l": 6, "h": hash(6), "g": 1, "x": true},
        {"l": 5, "h": hash(5), "g": 0, "s": 1005, "b": release(5, "").blob, "c": [[hash(4), hash("diff"), 9]]},
        {"l": 4, "h": hash(4), "g": 0, "m": true, "p": 40},
        {"l": 3, "h": hash(3), "g": 1, "n": "notes of v3", "s": 1003},
        {"l": 2, "h": hash(2), "g": 0},
        {"l": 1, "h": hash(1), "g": 0},
    ]);
    assert_eq!(document["r"], expected);
}

/// A thousand releases with five ranges, short notes and five diffs each; a fifth each are disabled, mandatory or in an old rollout.
fn long_history() -> Vec<HistoryRelease> {
    let ranges = ["1.0.0", "^1.2.0", "~2.0.3", ">=3.0.0 <3.5.0", "4.x"];
    let mut history: Vec<_> = (1..=1_000_u32)
        .zip(ranges.into_iter().cycle())
        .map(|(number, range)| {
            let mut release = release(number, range);
            release.description =
                Some(format!("Fixes the crash on start when offline, and updates the texts of the shop (build {number})"));
            release.is_disabled = number % 11 == 3;
            release.is_mandatory = number % 7 == 3;
            release.rollout = (number % 5 == 4 || number % 13 == 0).then_some(30);
            release.diffs = (0..5).map(|source| DiffSource { source_hash: hash(source), blob: hash(number), size: 1 << 20 }).collect();
            release
        })
        .collect();
    history.reverse();
    history
}

#[test]
fn a_thousand_releases_stay_under_256_kib() {
    let history: Vec<_> = long_history()
        .into_iter()
        .map(|release| HistoryRelease { rollout: release.rollout.filter(|_| release.label.number() > 990), ..release })
        .collect();
    let text = publish(&history);
    println!("1,000 releases of 5 ranges: {} bytes", text.len());
    assert!(text.len() < 256 * 1024, "{} bytes", text.len());
    let snapshot = Snapshot::parse(text.as_bytes()).unwrap();
    assert_eq!(snapshot.releases().len(), 1_000);
    assert!((text.len() / 2..text.len() * 8).contains(&snapshot.weight()), "{} bytes of text, {} in memory", text.len(), snapshot.weight());
}

#[test]
fn the_weight_grows_with_the_contents() {
    let mut heavy = release(1, "1.0.0");
    heavy.description = Some("x".repeat(10_000));
    assert!(published(&[heavy]).weight() > 10_000);
    assert!(published(&[]).weight() > 100);
    let mut diffs = release(1, "1.0.0");
    diffs.diffs = (0..100).map(|source| DiffSource { source_hash: hash(source), blob: hash(source), size: 1 }).collect();
    assert!(published(&[diffs]).weight() > 100 * 128);
}

#[test]
fn impossible_releases_are_not_published() {
    let refused = |history: &[HistoryRelease]| Snapshot::publish(&header(), history).unwrap_err().to_string();
    let rollout = |rollout| HistoryRelease { rollout: Some(rollout), ..release(1, "1.0.0") };
    assert_eq!(refused(&[rollout(0)]), "release v1: its rollout is not from 1 to 100");
    assert_eq!(refused(&[rollout(101)]), "release v1: its rollout is not from 1 to 100");
    assert!(refused(&[release(1, "latest")]).starts_with("release v1: its range must be "));
    let labels = "release v2: its label is not lower than that of the newer release";
    assert_eq!(refused(&[release(2, "1.0.0"), release(2, "1.0.0")]), labels);
    assert_eq!(refused(&[release(1, "1.0.0"), release(2, "1.0.0")]), labels);
}

/// A valid document with one member replaced.
fn with(pointer: &str, value: Value) -> String {
    let mut document: Value = serde_json::from_str(&publish(&[release(2, "1.0.0"), release(1, "1.0.0")])).unwrap_or_default();
    if let Some(member) = document.pointer_mut(pointer) {
        *member = value;
    }
    document.to_string()
}

#[test]
fn only_the_current_format_and_the_one_before_it_are_read() {
    assert!(Snapshot::parse(with("/f", json!(2)).as_bytes()).is_ok());
    let mut previous: Value = serde_json::from_str(&with("/f", json!(1))).unwrap();
    assert!(Snapshot::parse(previous.to_string().as_bytes()).is_err(), "the previous format has no time of signing");
    previous.as_object_mut().unwrap().remove("signedTime");
    assert_eq!(Snapshot::parse(previous.to_string().as_bytes()).unwrap().signed(), None);
    previous["f"] = json!(2);
    assert!(Snapshot::parse(previous.to_string().as_bytes()).is_err(), "this format has one");
    for format in [json!(0), json!(3), json!(4_294_967_295_u32)] {
        let message = Snapshot::parse(with("/f", format.clone()).as_bytes()).unwrap_err().to_string();
        assert_eq!(message, format!("has format {format}; formats 1 to 2 are read"));
    }
    // The error names a newer format even if its members differ.
    assert_eq!(Snapshot::parse(br#"{"f":3,"new":[]}"#).unwrap_err().to_string(), "has format 3; formats 1 to 2 are read");
}

#[test]
fn invalid_documents_are_rejected() {
    assert!(Snapshot::parse(with("/none", json!(0)).as_bytes()).is_ok());
    let cases = [
        with("/d", json!("x")),
        with("/a", json!(null)),
        with("/v", json!(1.5)),
        with("/t", json!("now")),
        with("/g", json!([])),
        with("/g/0", json!("latest")),
        with("/r", json!({})),
        with("/r/0/l", json!(0)),
        with("/r/0/l", json!(-1)),
        with("/r/0/h", json!("abc")),
        with("/r/0/g", json!(1)),
        with("/r/0/g", json!(-1)),
        with("/r/0/b", json!("abc")),
        with("/r/0/s", json!(-1)),
        // A release that may be chosen must have a download.
        with("/r/0/s", json!(null)),
        with("/r/0", json!({"l": 2, "h": hash(2), "g": 0, "p": 0})),
        with("/r/0", json!({"l": 2, "h": hash(2), "g": 0, "p": 100})),
        with("/r/0", json!({"l": 2, "h": hash(2), "g": 0, "s": 1, "c": [["x", "y", 1]]})),
        String::new(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        "[".repeat(100_000),
    ];
    for text in cases {
        assert!(Snapshot::parse(text.as_bytes()).is_err(), "{text:.200}");
    }
    assert!(Snapshot::parse(b"\xff\xfe").is_err());
}

#[test]
fn strings_with_escapes_are_parsed() {
    let mut escaped = release(1, "1.0.0");
    escaped.description = Some("\"quoted\"\\\n\u{2028}é😀".into());
    let snapshot = published(&[escaped.clone()]);
    assert_eq!(snapshot.releases()[0].description(), escaped.description.as_deref());
    // Escapes that our serializer would not write.
    let text = publish(&[escaped]).replace("1.0.0", "1\\u002e0.0");
    assert!(matches!(select(&Snapshot::parse(text.as_bytes()).unwrap(), &request("1.0.0")).outcome, Outcome::Update { .. }));
}

#[test]
fn ranges_of_disabled_releases_only_are_omitted() {
    let disabled = |number, range| HistoryRelease { is_disabled: true, ..release(number, range) };
    let ranges = |history: &[HistoryRelease]| {
        let document: Value = serde_json::from_str(&publish(history)).unwrap_or_default();
        let releases = document["r"].as_array().unwrap();
        (document["g"].clone(), releases.iter().map(|release| release["g"].as_u64().unwrap()).collect::<Vec<_>>())
    };
    let history = [disabled(4, "4.x"), release(3, "3.x"), disabled(2, "2.x"), release(1, "1.x")];
    assert_eq!(ranges(&history), (json!(["3.x", "1.x"]), vec![0, 0, 0, 1]));
    assert_eq!(ranges(&[disabled(2, "2.x"), disabled(1, "1.x")]), (json!(["2.x"]), vec![0, 0]));
    assert_eq!(select(&published(&[disabled(2, "2.x"), disabled(1, "1.x")]), &request("2.0.0")).reason, Reason::NothingEnabled);
}

#[test]
fn an_oversized_snapshot_drops_the_oldest_diffs_then_the_oldest_descriptions() {
    let history: Vec<_> = (1..=9_u32)
        .rev()
        .map(|number| {
            let mut release = release(number, &format!("{number}.x"));
            release.description = Some("\n€".repeat(200));
            release.diffs = vec![DiffSource { source_hash: hash(0), blob: hash("diff"), size: 9 }];
            release
        })
        .collect();
    let full = publish(&history).len();
    let left = |max: usize| {
        let text = Snapshot::publish_within(&header(), &history, max).unwrap();
        let snapshot = Snapshot::parse(text.as_bytes()).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        let count = |member: &str| document["r"].as_array().unwrap().iter().take_while(|release| release.get(member).is_some()).count();
        assert!((1..=9).all(|number| {
            let asked = request(&format!("{number}.0.0"));
            matches!(select(&snapshot, &asked).outcome, Outcome::Update { .. })
        }));
        (text.len() <= max, count("c"), count("n"))
    };
    assert_eq!(left(full), (true, 9, 9));
    assert_eq!(left(full - 1), (true, 8, 9), "one byte too many");
    assert_eq!(left(full - 9 * 140), (true, 0, 9), "every diff is dropped before the first description");
    let (fits, diffs, notes) = left(full - 9 * 140 - 2_000);
    assert!(fits && diffs == 0 && (6..9).contains(&notes), "{notes} descriptions are left");
    assert_eq!(left(100), (false, 0, 0), "updates are published anyway");
}

/// The size-relevant properties of a release.
fn outline(release: &HistoryRelease) -> ReleaseOutline<'_> {
    let description = release.description.as_deref().map_or(0, json_length);
    ReleaseOutline { range: &release.range, is_disabled: release.is_disabled, rollout: release.rollout, description }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, text: String) {
        prop_assert!(Snapshot::parse(&bytes).is_err());
        prop_assert!(Snapshot::parse(text.as_bytes()).is_err());
    }

    #[test]
    fn corrupted_bytes_do_not_panic(history in any_history(), place: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = publish(&history).into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(snapshot) = Snapshot::parse(&bytes) {
            let _ = select(&snapshot, &request("1.0.0"));
        }
        prop_assert!(Snapshot::parse(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn releases_survive_a_round_trip(history in any_history()) {
        let snapshot = published(&history);
        prop_assert_eq!(snapshot.releases().len(), history.len());
        for (read, release) in snapshot.releases().iter().zip(&history) {
            prop_assert_eq!(read.label, release.label);
            prop_assert_eq!(&read.package_hash, &release.package_hash);
            prop_assert_eq!((read.is_mandatory, read.is_disabled), (release.is_mandatory, release.is_disabled));
            prop_assert_eq!(read.rollout, release.rollout.filter(|rollout| *rollout < 100));
            if read.description().is_some() {
                prop_assert_eq!(read.description(), release.description.as_deref());
            }
        }
    }

    #[test]
    fn the_size_estimate_is_close_and_never_too_low(history in any_history(), text: String) {
        prop_assert_eq!(json_length(&text), serde_json::to_string(&text).unwrap().len() as u64);
        let mut history = history;
        for release in &mut history {
            release.diffs.clear();
            release.description = release.description.as_ref().map(|_| text.clone());
        }
        let outlines: Vec<_> = history.iter().map(outline).collect();
        let size = Size::of(outlines.iter().copied());
        let written = publish(&history).len() as u64;
        prop_assert!(written <= size.bytes, "{} bytes, counted as {}", written, size.bytes);
        // The estimate counts every flag, and the hash of a bundle that is its own package, which are both left out where they say nothing.
        prop_assert!(size.bytes <= written + 200 + 150 * history.len() as u64, "{} bytes, counted as {}", written, size.bytes);
        let snapshot = published(&history);
        for (read, is_offered) in snapshot.releases().iter().zip(offered(&outlines)) {
            prop_assert!(is_offered || read.description().is_none());
        }
        let flagged = outlines.iter().map(|outline| ReleaseOutline { rollout: outline.rollout.filter(|rollout| *rollout < 100).map(|_| 99), ..*outline });
        prop_assert_eq!(Size::of(flagged), size, "flags do not change the size");
    }

    #[test]
    fn dropping_descriptions_keeps_the_size_limit(history in any_history(), max in 0_usize..20_000) {
        let mut bare = history.clone();
        for release in &mut bare {
            release.description = None;
            release.diffs.clear();
        }
        let text = Snapshot::publish_within(&header(), &history, max).unwrap();
        prop_assert!(text.len() <= max.max(publish(&bare).len()));
        let snapshot = Snapshot::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(snapshot.releases().len(), history.len());
    }
}
