//! Versions and ranges behave as in node's `semver`.

use proptest::prelude::*;
use shared::version::{AppVersion, Range, gtr, parse_strict};

/// One line per pair: `1` or `0` for whether the version satisfies the range, `V` for an invalid version, `R` for an invalid range.
const PAIRS: &str = include_str!("../vectors/node-semver.tsv");

/// Pairs found by random search, with the canonical range and whether the version is above it.
const OUTSIDE: &str = include_str!("../vectors/node-semver-outside.tsv");

#[test]
fn published_pairs_give_the_same_results_as_node() {
    let mut judged = 0;
    for line in PAIRS.lines().skip(1) {
        let [version, range, expected] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line:?} does not have three columns") };
        match expected {
            "V" => assert!(parse_strict(version).is_none(), "{line:?}"),
            "R" => assert!(Range::parse(range).is_err(), "{line:?}"),
            _ => {
                let satisfies = Range::parse(range).unwrap().satisfies(&parse_strict(version).unwrap());
                assert_eq!(satisfies, expected == "1", "{line:?}");
            }
        }
        judged += 1;
    }
    assert_eq!(judged, 882);
}

#[test]
fn canonical_ranges_and_versions_above_a_range_match_node() {
    let mut judged = 0;
    for line in OUTSIDE.lines().skip(1) {
        let [version, range, canonical, satisfies, above] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line:?} does not have five columns")
        };
        let parsed = Range::parse(range);
        assert_eq!(parsed.as_ref().map_or("!", Range::canonical), canonical, "{line:?}");
        if satisfies != "-" {
            let (version, range) = (parse_strict(version).unwrap(), parsed.unwrap());
            assert_eq!(range.satisfies(&version), satisfies == "1", "{line:?}");
            assert_eq!(gtr(&version, &range), above == "1", "{line:?}");
        }
        judged += 1;
    }
    assert_eq!(judged, 1_271);
}

#[test]
fn short_versions_are_padded_and_echoed_as_sent() {
    let cases = [
        ("1", "1.0.0"),
        ("1.0", "1.0.0"),
        ("2.0-rc", "2.0.0-rc"),
        ("1.0+m", "1.0.0+m"),
        ("1.0-rc+m-1.2", "1.0.0-rc+m-1.2"),
        ("v1.0.0", "1.0.0"),
        (" 1.2.3\t", "1.2.3"),
        ("1.0-rc ", "1.0.0-rc"),
        ("1.2.3-beta.1+build.01", "1.2.3-beta.1+build.01"),
        ("9007199254740991.0.0", "9007199254740991.0.0"),
    ];
    for (sent, expanded) in cases {
        let version = AppVersion::parse(sent).unwrap();
        assert_eq!((version.sent(), version.version().to_string().as_str()), (sent, expanded));
    }
}

#[test]
fn invalid_versions_are_rejected() {
    let too_long = format!("1.2.3-{}", "a".repeat(251));
    let cases = [
        "",
        " ",
        "v1",
        "v1.0",
        "01",
        "1.02",
        "01.2.3",
        "1.2.3.4",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-01",
        "=1.2.3",
        "vv1.2.3",
        "v 1.2.3",
        " 1.0",
        "1.0-rc\n",
        "1.0.",
        ".1",
        "1.x",
        "-1",
        "1e3",
        "9007199254740992.0.0",
        "99999999999999999999",
        "١.٠",
        &too_long,
    ];
    for text in cases {
        assert!(AppVersion::parse(text).is_err(), "{text:?}");
    }
    assert!(AppVersion::parse(&too_long[..256]).is_ok());
}

#[test]
fn build_metadata_is_ignored() {
    let exact = Range::parse("1.2.3+one").unwrap();
    assert!(exact.satisfies(&parse_strict("1.2.3+two").unwrap()));
    assert_eq!(exact.canonical(), "1.2.3");
    let above = Range::parse(">1.2.3+one").unwrap();
    assert!(!above.satisfies(&parse_strict("1.2.3+two").unwrap()));
}

#[test]
fn exact_versions_are_distinguished_from_ranges() {
    for text in ["1.2.3", "v1.2.3", " 1.2.3 ", "1.2.3-beta+b", "0.0.0"] {
        let range = Range::parse(text).unwrap();
        assert_eq!(range.as_exact(), parse_strict(text).as_ref(), "{text:?}");
        assert_eq!(range.text(), text);
    }
    for text in ["1.2", "=1.2.3", "1.2.3 || 1.2.3", "*", "", "^1.2.3", "1.2.3 1.2.4", "1.x"] {
        assert_eq!(Range::parse(text).unwrap().as_exact(), None, "{text:?}");
    }
}

#[test]
fn a_range_has_at_most_255_characters() {
    assert!(Range::parse(&" ".repeat(255)).is_ok());
    assert!(Range::parse(&" ".repeat(256)).is_err());
    let long = "1.0.0 || ".repeat(28);
    assert!(Range::parse(&long[..252]).is_ok());
    assert!(Range::parse(&format!("{long}^1.0.0")).is_err());
}

/// Text, much of it almost a valid range.
fn range_like() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-3.xX*^~<>= v|+ab-]{0,24}",
        "[\\^~<>=]{0,2} ?[0-2](\\.[0-2x](\\.[0-2])?)?(-[a0.]{1,4})?( - [0-2.]{1,5})?"
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(version in range_like(), range in range_like()) {
        let (version, range) = (AppVersion::parse(&version), Range::parse(&range));
        if let (Ok(version), Ok(range)) = (version, range) {
            prop_assert!(!(range.satisfies(version.version()) && gtr(version.version(), &range)));
        }
    }

    #[test]
    fn the_canonical_text_means_the_same(
        range in range_like(),
        version in "[0-3]\\.[0-3]\\.[0-3](-[ab01](\\.[ab01])?)?",
    ) {
        let version = parse_strict(&version);
        if let (Ok(range), Some(version)) = (Range::parse(&range), version)
            && let Ok(canonical) = Range::parse(range.canonical())
        {
            prop_assert_eq!(range.satisfies(&version), canonical.satisfies(&version));
            prop_assert_eq!(range.canonical(), canonical.canonical());
        }
    }
}
