//! Ids, keys, labels, names and times are made by parsing, and only by parsing.
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
        assert!(text.parse::<T>().is_ok(), "{text:?} was refused");
    }
}

fn refuses<T: FromStr>(texts: &[&str]) {
    for text in texts {
        assert!(text.parse::<T>().is_err(), "{text:?} was accepted");
    }
}

#[test]
fn a_deployment_key_is_10_to_100_of_its_characters() {
    accepts::<DeploymentKey>(&["abcdefghij", "AZaz09_-__", "-123456789", &"x".repeat(100)]);
    refuses::<DeploymentKey>(&["", "abcdefghi", "abcdefghij ", "abcdefghi.", "abcdefghié", &"x".repeat(101)]);
}

#[test]
fn a_generated_key_is_43_characters_and_no_option() {
    assert_eq!(DeploymentKey::from_random([0; 32]).as_str(), "A".repeat(43));
    let mut random = [0; 32];
    random[0] = 0xf8;
    assert_eq!(DeploymentKey::from_random(random).as_str(), format!("_{}", "A".repeat(42)));
}

#[test]
fn a_deployment_key_does_not_print_whole_in_debug_output() {
    let key = DeploymentKey::try_from("abcdefghijkl").unwrap();
    assert_eq!(format!("{key:?}"), "DeploymentKey(abcd…)");
    assert_eq!(key.to_string(), "abcdefghijkl");
}

#[test]
fn a_label_is_v_and_a_number() {
    for (text, number) in [("v1", 1), ("v27", 27), ("v999999999", 999_999_999)] {
        let label: Label = text.parse().unwrap();
        assert_eq!((label.number(), label.to_string().as_str()), (number, text));
    }
    refuses::<Label>(&["", "v", "v0", "v01", "v1000000000", "V1", "1", "v+1", "v1 ", "v-1", "v1.0", "v١", "vv1"]);
    assert_eq!(Label::new(0), None);
    assert_eq!(Label::new(1_000_000_000), None);
}

#[test]
fn client_ids_and_binary_versions_are_short_plain_texts() {
    accepts::<ClientId>(&["a", "日本-クライアント", &"é".repeat(128)]);
    refuses::<ClientId>(&["", "a\n", "\u{7f}", "\u{85}", &"é".repeat(129)]);
    accepts::<BinaryVersion>(&["1.0", "one point oh", &"1".repeat(100)]);
    refuses::<BinaryVersion>(&["", "1\t0", &"1".repeat(101)]);
}

#[test]
fn a_client_id_is_stored_as_half_of_its_hash() {
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
fn an_id_is_a_uuid_in_lower_case() {
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
fn ids_sort_by_the_time_they_were_made() {
    let id = ReportId::v7(UnixMillis(1_769_851_800_000), [0xff; 10]);
    assert_eq!(id.as_str(), "019c1363-49c0-7fff-bfff-ffffffffffff");
    assert!(id < ReportId::v7(UnixMillis(1_769_851_800_001), [0; 10]));
    assert_eq!(AppId::v7(UnixMillis(-1), [0; 10]).as_str(), "00000000-0000-7000-8000-000000000000");
}

#[test]
fn times_are_written_as_the_interface_has_them() {
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
fn days_are_read_as_they_are_written_and_nothing_else_is_a_day() {
    for (number, text) in [(0, "1970-01-01"), (20_484, "2026-01-31"), (11_016, "2000-02-29"), (-1, "1969-12-31"), (2_932_896, "9999-12-31")]
    {
        assert_eq!(UtcDay::try_from(text), Ok(UtcDay(number)), "{text}");
        assert_eq!(UtcDay(number).to_string(), text);
    }
    for number in -800_000..800_000 {
        let day = UtcDay(number);
        let text = day.to_string();
        // Until the year 0, and from the year 10,000 on, it takes more than four digits.
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
fn a_blob_key_stands_in_urls_in_base64url() {
    let key = BlobKey { app: AppId::v7(UnixMillis(0), [7; 10]), sha256: Sha256Hex::of(b"") };
    assert_eq!(key.to_string(), format!("{}/{}", key.app, key.sha256));
    assert_eq!(BlobKey::from_encoded(&key.encoded()), Ok(key.clone()));
    let padded = format!("{}=", key.encoded());
    for wrong in ["", "abc", "Li4vLi4", padded.as_str(), &key.encoded()[1..], &key.to_string()] {
        assert!(BlobKey::from_encoded(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_snapshot_lies_under_its_deployment_key() {
    let key = DeploymentKey::try_from("abcdefghij").unwrap();
    assert_eq!(snapshot_key(&key), "deployment/abcdefghij");
    assert_eq!(SnapshotKey(&key).suffix(), "abcdefghij");
    assert_eq!(serde_json::to_string(&SnapshotMetadata { version: 7 }).unwrap(), r#"{"version":7}"#);
}

/// A text that parses is written as it was, read back as the same, and refused by serde when it does not parse.
fn survives<T>(text: &str) -> Result<(), TestCaseError>
where
    T: FromStr + ToString + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let json = serde_json::to_string(text).unwrap();
    match text.parse::<T>() {
        Ok(value) => {
            prop_assert_eq!(value.to_string(), text);
            prop_assert_eq!(serde_json::to_string(&value).unwrap(), json.clone());
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
        survives::<Name>(&text)?;
        survives::<AppId>(&text)?;
        survives::<Sha256Hex>(&text)?;
        if let Ok(key) = BlobKey::from_encoded(&text) {
            prop_assert_eq!(key.encoded(), text);
        }
    }

    #[test]
    fn every_made_id_parses(millis: i64, dice: [u8; 10]) {
        let id = AppId::v7(UnixMillis(millis), dice);
        prop_assert_eq!(AppId::try_from(id.as_str()), Ok(id));
    }

    #[test]
    fn every_made_key_parses(random: [u8; 32]) {
        let key = DeploymentKey::from_random(random);
        prop_assert!(!key.as_str().starts_with('-'));
        prop_assert_eq!(DeploymentKey::try_from(key.as_str()), Ok(key));
    }

    #[test]
    fn every_time_can_be_written(millis: i64) {
        prop_assert!(UnixMillis(millis).iso8601().ends_with('Z'));
    }
}
