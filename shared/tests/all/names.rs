//! Parsing of IDs, keys, labels, names and times.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::{AppId, ReportId};
use shared::keys::{BinaryVersion, ClientId, DeploymentKey, Label, Name};
use shared::kv::{KvKey, SnapshotKey, SnapshotMetadata, snapshot_key};
use shared::time::{UnixMillis, UtcDay};
use std::fmt::Debug;
use std::str::FromStr;

fn accepts<T: FromStr>(texts: &[&str]) {
    for text in texts {
        assert!(text.parse::<T>().is_ok(), "{text:?} was rejected");
    }
}

fn refuses<T: FromStr>(texts: &[&str]) {
    for text in texts {
        assert!(text.parse::<T>().is_err(), "{text:?} was accepted");
    }
}

#[test]
fn a_deployment_key_has_10_to_100_allowed_characters() {
    accepts::<DeploymentKey>(&["abcdefghij", "AZaz09_-__", "-123456789", &"x".repeat(100)]);
    refuses::<DeploymentKey>(&["", "abcdefghi", "abcdefghij ", "abcdefghi.", "abcdefghié", &"x".repeat(101)]);
}

#[test]
fn a_generated_key_has_43_characters_and_no_leading_hyphen() {
    assert_eq!(DeploymentKey::from_random([0; 32]).as_str(), "A".repeat(43));
    let mut random = [0; 32];
    random[0] = 0xf8;
    assert_eq!(DeploymentKey::from_random(random).as_str(), format!("_{}", "A".repeat(42)));
}

#[test]
fn debug_output_truncates_a_deployment_key() {
    let key = DeploymentKey::try_from("abcdefghijkl").unwrap();
    assert_eq!(format!("{key:?}"), "DeploymentKey(abcd…)");
    assert_eq!(key.to_string(), "abcdefghijkl");
}

#[test]
fn a_label_is_the_letter_v_and_a_number() {
    for (text, number) in [("v1", 1), ("v27", 27), ("v999999999", 999_999_999)] {
        let label: Label = text.parse().unwrap();
        assert_eq!((label.number(), label.to_string().as_str()), (number, text));
    }
    refuses::<Label>(&["", "v", "v0", "v01", "v1000000000", "V1", "1", "v+1", "v1 ", "v-1", "v1.0", "v١", "vv1"]);
    assert_eq!(Label::new(0), None);
    assert_eq!(Label::new(1_000_000_000), None);
}

#[test]
fn client_ids_and_binary_versions_are_short_without_control_characters() {
    accepts::<ClientId>(&["a", "日本-クライアント", &"é".repeat(128)]);
    refuses::<ClientId>(&["", "a\n", "\u{7f}", "\u{85}", &"é".repeat(129)]);
    accepts::<BinaryVersion>(&["1.0", "one point oh", &"1".repeat(100)]);
    refuses::<BinaryVersion>(&["", "1\t0", &"1".repeat(101)]);
}

#[test]
fn a_client_id_is_stored_as_the_first_half_of_its_hash() {
    let client: ClientId = "device-1".parse().unwrap();
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(&client.digest());
    assert_eq!(Sha256Hex::from_digest(digest).as_str()[..32], Sha256Hex::of(b"device-1").as_str()[..32]);
}

#[test]
fn a_name_can_be_a_path_segment() {
    accepts::<Name>(&["a", "My App", "Ünïcode 图", "...", "a.b", "a@b,c;d", &"n".repeat(255)]);
    refuses::<Name>(&["", ".", "..", " a", "a ", "\u{a0}a", "a/b", "a\\b", "a?b", "a:b", "a#b", "a\u{0}b", &"n".repeat(256)]);
}

#[test]
fn a_name_is_stored_in_normalization_form_c() {
    let decomposed = Name::try_from("e\u{301}t\u{e9}").unwrap();
    assert_eq!(decomposed, Name::try_from("\u{e9}te\u{301}".to_owned()).unwrap());
    assert_eq!(decomposed.as_str(), "\u{e9}t\u{e9}");
    assert_eq!(serde_json::from_str::<Name>("\"e\u{301}t\u{e9}\"").unwrap(), decomposed);
    // The length is counted after normalization.
    accepts::<Name>(&[&"e\u{301}".repeat(255)]);
    refuses::<Name>(&[&"e\u{301}".repeat(256), &"e\u{301}".repeat(100_000)]);
}

#[test]
fn a_name_has_no_invisible_or_direction_changing_characters() {
    let ranges = [0x61c..=0x61c, 0x200b..=0x200b, 0x200e..=0x200f, 0x2028..=0x202e, 0x2060..=0x2064, 0x2066..=0x2069, 0xfeff..=0xfeff];
    for character in ranges.into_iter().chain([0xe_0000..=0xe_007f]).flatten().filter_map(char::from_u32) {
        for name in [format!("a{character}b"), format!("{character}ab"), format!("ab{character}"), character.to_string()] {
            refuses::<Name>(&[&name]);
            assert!(shared::text::has_refused_character(&name), "{name:?}");
        }
    }
    // Joiners are allowed between letters, and the zero-width joiner in emoji.
    let useful =
        ["می\u{200c}خواهم", "क्\u{200d}ष", "क्\u{200c}ष", "👩\u{200d}💻", "🏳\u{fe0f}\u{200d}🌈", "👩🏽\u{200d}🚀", "ok 👍🏽", "日本語", "עברית"];
    accepts::<Name>(&useful);
    let useless = [
        "\u{200d}a",
        "a\u{200c}",
        "a\u{200d} b",
        "1\u{200d}2",
        "a\u{200c}\u{200c}b",
        "a\u{200d}💻",
        "👩\u{200d}",
        "👩\u{200c}💻",
        "-\u{200c}-",
        "a\u{fe0f}\u{200c}b",
    ];
    refuses::<Name>(&useless);
}

#[test]
fn lookups_accept_names_that_are_no_longer_allowed() {
    for old in ["a\u{200b}b", "e\u{301}", "\u{202e}x"] {
        assert_eq!(Name::for_lookup(old), Ok(old));
    }
    for never in ["", ".", " a", "a/b", "a\u{0}", &"n".repeat(256)] {
        assert!(Name::for_lookup(never).is_err(), "{never:?}");
    }
    assert_eq!(shared::text::spellings("e\u{301}").collect::<Vec<_>>(), ["e\u{301}", "\u{e9}"]);
    assert_eq!(shared::text::spellings("\u{e9}").collect::<Vec<_>>(), ["\u{e9}"]);
}

#[test]
fn texts_that_differ_only_in_case_or_normalization_fold_to_the_same() {
    for (one, other) in [("STRASSE", "straße"), ("E\u{301}", "\u{e9}"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("K\u{212a}", "kk")] {
        assert_eq!(shared::text::fold(one), shared::text::fold(other));
    }
    assert_ne!(shared::text::fold("a"), shared::text::fold("b"));
}

#[test]
fn text_that_could_reorder_its_surroundings_is_isolated() {
    for (text, isolated) in [
        ("plain, ünïcödé 図", "plain, ünïcödé 図"),
        ("עברית", "\u{2068}עברית\u{2069}"),
        ("a\u{202e}b", "\u{2068}a\u{202e}b\u{2069}"),
        ("a\u{2069}b", "\u{2068}ab\u{2069}"),
        ("a\u{2067}b", "\u{2068}a\u{2067}b\u{2069}\u{2069}"),
        ("a\u{2067}b\u{2069}c\u{2069}", "\u{2068}a\u{2067}b\u{2069}c\u{2069}"),
        ("one\nשתיים", "\u{2068}one\u{2069}\n\u{2068}שתיים\u{2069}"),
    ] {
        assert_eq!(shared::text::isolate(text), isolated, "{text:?}");
    }
}

#[test]
fn longer_text_may_contain_tabs_and_line_breaks_but_no_other_controls() {
    assert_eq!(shared::text::check_prose("one\n\ttwo\r\nthree \u{202e}\u{200b}"), Ok(()));
    for control in ["\u{0}", "a\u{7}", "\u{1b}[2J", "\u{7f}", "\u{85}", "\u{9b}"] {
        assert!(shared::text::check_prose(control).is_err(), "{control:?}");
    }
}

#[test]
fn an_id_is_a_lower_case_uuid() {
    accepts::<AppId>(&["0192d3a4-5b6c-7d8e-9f00-0123456789ab", "00000000-0000-0000-0000-000000000000"]);
    refuses::<AppId>(&[
        "",
        "0192d3a45b6c7d8e9f000123456789ab",
        "0192D3A4-5b6c-7d8e-9f00-0123456789ab",
        "0192d3a4-5b6c-7d8e-9f00-0123456789ag",
        "0192d3a4-5b6c-7d8e-9f00-0123456789abc",
        "{0192d3a4-5b6c-7d8e-9f00-0123456789ab",
        "0192d3a4é5b6c-7d8e-9f00-0123456789a",
    ]);
}

#[test]
fn ids_sort_by_creation_time() {
    let id = ReportId::v7(UnixMillis(1_769_851_800_000), [0xff; 10]);
    assert_eq!(id.as_str(), "019c1363-49c0-7fff-bfff-ffffffffffff");
    assert!(id < ReportId::v7(UnixMillis(1_769_851_800_001), [0; 10]));
    assert_eq!(AppId::v7(UnixMillis(-1), [0; 10]).as_str(), "00000000-0000-7000-8000-000000000000");
}

#[test]
fn times_are_formatted_as_in_the_api() {
    let cases = [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_769_851_800_000, "2026-01-31T09:30:00.000Z"),
        (951_782_400_001, "2000-02-29T00:00:00.001Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ];
    for (millis, text) in cases {
        assert_eq!(UnixMillis(millis).iso8601(), text);
        assert_eq!(UnixMillis(millis).utc_date(), text[..10]);
    }
    for extreme in [i64::MIN, i64::MAX] {
        assert!(UnixMillis(extreme).iso8601().ends_with('Z'));
        assert_eq!(UnixMillis(extreme).plus_millis(extreme.signum()).as_millis(), extreme);
    }
}

#[test]
fn days_parse_only_in_the_format_they_are_written_in() {
    for (number, text) in [(0, "1970-01-01"), (20_484, "2026-01-31"), (11_016, "2000-02-29"), (-1, "1969-12-31"), (2_932_896, "9999-12-31")]
    {
        assert_eq!(UtcDay::try_from(text), Ok(UtcDay(number)), "{text}");
        assert_eq!(UtcDay(number).to_string(), text);
    }
    for number in -800_000..800_000 {
        let day = UtcDay(number);
        let text = day.to_string();
        // Years below 0 and from 10,000 on take more than four digits.
        assert_eq!(UtcDay::try_from(text.as_str()).ok(), Some(day).filter(|_| !text.starts_with('-') && text.len() == 10), "{text}");
    }
    for wrong in [
        "",
        "2026-1-31",
        "2026-01-1",
        "26-01-31",
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-00-10",
        "2026-13-10",
        "2026-01-00",
        "2026-01-32",
        "2026/01/31",
        "20260131",
        "2026-01-31T00:00:00Z",
        " 2026-01-31",
        "2026-01-31 ",
        "+026-01-31",
        "-026-01-31",
        "2026-+1-31",
        "2026-01--1",
        "２026-01-31",
        "2026-01-3１",
        "today",
        "0",
        "\0\0\0\0-\0\0-\0\0",
    ] {
        assert!(UtcDay::try_from(wrong).is_err(), "{wrong}");
    }
    for extreme in [i64::MIN, i64::MAX] {
        assert_eq!(UtcDay(extreme).plus_days(extreme.signum()), UtcDay(extreme));
        assert_eq!(UnixMillis(extreme).utc_day(), UtcDay(extreme.div_euclid(86_400_000)));
    }
}

#[test]
fn a_blob_key_is_base64url_in_urls() {
    let key = BlobKey { app: AppId::v7(UnixMillis(0), [7; 10]), sha256: Sha256Hex::of(b"") };
    assert_eq!(key.to_string(), format!("{}/{}", key.app, key.sha256));
    assert_eq!(BlobKey::from_encoded(&key.encoded()), Ok(key.clone()));
    let padded = format!("{}=", key.encoded());
    for wrong in ["", "abc", "Li4vLi4", padded.as_str(), &key.encoded()[1..], &key.to_string()] {
        assert!(BlobKey::from_encoded(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_kv_key_of_a_snapshot_contains_the_deployment_key() {
    let key = DeploymentKey::try_from("abcdefghij").unwrap();
    assert_eq!(snapshot_key(&key), "deployment/abcdefghij");
    assert_eq!(SnapshotKey(&key).suffix(), "abcdefghij");
    let written = SnapshotMetadata { version: 7, signer: Some("0a1b2c3d".to_owned()) };
    assert_eq!(serde_json::to_string(&written).unwrap(), r#"{"version":7,"signer":"0a1b2c3d"}"#);
    assert_eq!(serde_json::from_str::<SnapshotMetadata>(r#"{"version":7}"#).unwrap(), SnapshotMetadata { version: 7, signer: None });
}

/// Asserts that text which parses formats to the same text and survives serde, and that serde rejects text which does not parse.
fn survives<T>(text: &str) -> Result<(), TestCaseError>
where
    T: FromStr + ToString + Serialize + DeserializeOwned + PartialEq + Debug,
{
    survives_as::<T>(text, text)
}

/// The same for text that formats differently.
fn survives_as<T>(text: &str, normal: &str) -> Result<(), TestCaseError>
where
    T: FromStr + ToString + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let json = serde_json::to_string(text).unwrap();
    match text.parse::<T>() {
        Ok(value) => {
            let written = value.to_string();
            prop_assert_eq!(&written, normal);
            prop_assert_eq!(serde_json::to_string(&value).unwrap(), serde_json::to_string(normal).unwrap());
            let again = written.parse::<T>().ok();
            prop_assert_eq!(again.as_ref(), Some(&value));
            prop_assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
        }
        Err(_) => prop_assert!(serde_json::from_str::<T>(&json).is_err()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_and_what_parses_survives_a_round_trip(
        text in prop_oneof![any::<String>(), "[A-Za-z0-9_-]{8,12}", "v[0-9]{0,10}", "[0-9a-f]{63,65}", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"],
    ) {
        survives::<DeploymentKey>(&text)?;
        survives::<Label>(&text)?;
        survives::<ClientId>(&text)?;
        survives::<BinaryVersion>(&text)?;
        survives_as::<Name>(&text, &shared::text::nfc(&text))?;
        let _ = shared::text::isolate(&text);
        survives::<AppId>(&text)?;
        survives::<Sha256Hex>(&text)?;
        if let Ok(key) = BlobKey::from_encoded(&text) {
            prop_assert_eq!(key.encoded(), text);
        }
    }

    #[test]
    fn every_created_id_parses(millis: i64, random: [u8; 10]) {
        let id = AppId::v7(UnixMillis(millis), random);
        prop_assert_eq!(AppId::try_from(id.as_str()), Ok(id));
    }

    #[test]
    fn every_generated_key_parses(random: [u8; 32]) {
        let key = DeploymentKey::from_random(random);
        prop_assert!(!key.as_str().starts_with('-'));
        prop_assert_eq!(DeploymentKey::try_from(key.as_str()), Ok(key));
    }

    #[test]
    fn every_time_can_be_formatted(millis: i64) {
        prop_assert!(UnixMillis(millis).iso8601().ends_with('Z'));
    }
}
