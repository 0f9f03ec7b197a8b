//! The rollout bucket equals the reference's exactly.

use proptest::prelude::*;
use shared::keys::Label;
use shared::rollout::{bucket, is_selected};

#[test]
fn buckets_equal_the_published_ones() {
    let cases = [
        ("device-1-v1", 30),
        ("device-1-v27", 4),
        ("8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d-v1", 79),
        ("8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d-v4", 76),
        ("8a5b3d2e-0f1c-4a7b-9c3d-1e2f3a4b5c6d-v27", 33),
        ("E621E1F8-C36C-495A-93FC-0C247A3E6E5F-v4", 47),
        ("日本-クライアント-v1", 25),
        ("😀client-v4", 47),
        ("a-v4", 82),
        ("e-v4", 46),
        ("f-v4", 37),
        ("-v4", 55),
        ("undefined-v4", 27),
    ];
    for (identifier, expected) in cases {
        assert_eq!(bucket(identifier), expected, "{identifier}");
        let (client, label) = identifier.rsplit_once('-').unwrap();
        let label = label.parse().unwrap();
        assert!(!is_selected(client, &label, expected), "{identifier}");
        assert!(is_selected(client, &label, expected + 1), "{identifier}");
    }
}

#[test]
fn the_share_of_selected_devices_is_close_to_the_percentage() {
    let label = Label::new(7).unwrap();
    for percentage in [1, 10, 25, 50, 90] {
        let selected = (0..20_000).filter(|number| is_selected(&format!("{number:08x}-client"), &label, percentage)).count();
        let share = selected * 100 / 20_000;
        assert!(share.abs_diff(usize::from(percentage)) <= 5, "{percentage} % gave {share} %");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_device_stays_selected_as_the_percentage_grows(client: String, number in 1_u32..1_000_000) {
        let label = Label::new(number).unwrap();
        let at = bucket(&format!("{client}-{label}"));
        prop_assert!(at < 100);
        for percentage in 0..=100 {
            prop_assert_eq!(is_selected(&client, &label, percentage), at < percentage);
        }
    }
}
