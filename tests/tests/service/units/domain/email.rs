//! Email addresses: their normalized form, and which are accepted.

use control::testing::credentials::{Email, former};

#[test]
fn an_address_has_one_normalized_form() {
    for (typed, stored) in [
        (" Ada@Example.COM ", "ada@example.com"),
        ("ada@bu\u{308}cher.example", "ada@xn--bcher-kva.example"),
        ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("ada@example\u{3002}com", "ada@example.com"),
        ("ada@ｅxample.com", "ada@example.com"),
        ("jose\u{301}@example.com", "josé@example.com"),
        ("o'brien+news@mail.example.co.uk", "o'brien+news@mail.example.co.uk"),
        ("root@localhost", "root@localhost"),
    ] {
        assert_eq!(Email::parse_new(typed).as_deref(), Ok(stored), "{typed}");
        assert_eq!(stored.parse::<Email>().as_deref(), Ok(stored));
        assert_eq!(Email::parse_new(stored).as_deref(), Ok(stored));
    }
    assert_eq!(former("ada@xn--bcher-kva.example"), "ada@bücher.example");
    assert_eq!(former("ada@example.com"), "ada@example.com");
    assert_eq!(former("z\u{eb}@example.com"), "ze\u{308}@example.com");
}

#[test]
fn a_new_address_must_be_deliverable() {
    let long = format!("{}@example.com", "x".repeat(65));
    let long_label = format!("ada@{}.com", "x".repeat(64));
    let wrong = [
        "ada",
        "@example.com",
        "ada@",
        "a@b@c",
        "ada @example.com",
        "ada@exa mple.com",
        ".ada@example.com",
        "ada.@example.com",
        "a..da@example.com",
        "\"ada\"@example.com",
        "ada(x)@example.com",
        "<ada@example.com>",
        "ada@example.com,eve@example.com",
        "ada@-example.com",
        "ada@example-.com",
        "ada@example..com",
        "ada@example.com.",
        "ada@.example.com",
        "ada@exa_mple.com",
        "ada@127.0.0.1",
        "ada@[127.0.0.1]",
        "ada@xn--a",
        "ada\u{200b}@example.com",
        "ada@exam\u{200b}ple.com",
        "ada\u{202e}@example.com",
        "ada@exam\u{ad}ple.com\u{2066}",
        "ada😀@example.com",
        "ada@example.com\u{0}",
        &long,
        &long_label,
    ];
    for typed in wrong {
        assert!(Email::parse_new(typed).is_err(), "{typed:?}: {:?}", Email::parse_new(typed));
    }
}

#[test]
fn previously_stored_addresses_are_still_found() {
    for stored in ["ada@exa_mple.com", "\"ada\"@example.com", "a\u{200b}da@example.com", "ada@exam\u{200b}ple.com", "ada@xn--a"] {
        assert_eq!(stored.parse::<Email>().as_deref(), Ok(stored));
    }
}
