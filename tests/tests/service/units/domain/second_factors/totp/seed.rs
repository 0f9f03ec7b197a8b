//! Seeds of authenticator apps: their codes and setup URL.

use control::testing::credentials::Seed;
use shared::time::UnixMillis;

/// The seed of RFC 6238, appendix B, for SHA-1.
const RFC: &[u8] = b"12345678901234567890";

#[test]
fn codes_match_the_rfc_test_vectors() {
    let seed = Seed::new(RFC, "ada@example.com").unwrap();
    // The last six of the eight digits there.
    for (seconds, code) in [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")] {
        assert_eq!(seed.step_of(code, UnixMillis(seconds * 1_000)), Some(seconds / 30), "{code}");
    }
}

#[test]
fn a_code_is_accepted_at_most_one_step_early_or_late() {
    let seed = Seed::new(RFC, "ada@example.com").unwrap();
    let taken = |seconds: i64| seed.step_of("287 082", UnixMillis(seconds * 1_000)).is_some();
    assert_eq!([-1, 0, 30, 59, 89, 90].map(taken), [false, true, true, true, true, false]);
}

#[test]
fn malformed_codes_are_rejected() {
    let seed = Seed::new(RFC, "ada@example.com").unwrap();
    for code in ["", "28708", "2870820", "+87082", "２８７０８２", "287082; DROP"] {
        assert_eq!(seed.step_of(code, UnixMillis(59_000)), None, "{code}");
    }
}

#[test]
fn the_setup_url_contains_issuer_and_address() {
    let seed = Seed::new(RFC, "ada+x@example.com").unwrap();
    assert_eq!(seed.secret(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    let url = seed.url().unwrap();
    assert!(url.starts_with("otpauth://totp/Updraft:ada%2Bx%40example.com?"), "{url}");
    assert!(url.contains("secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ") && url.contains("issuer=Updraft"), "{url}");
    assert!(seed.qr_code().unwrap().starts_with("data:image/svg+xml;base64,"));
}

#[test]
fn the_longest_address_fits_in_a_qr_code() {
    let email = format!("{}@example.com", "\u{1F600}".repeat(243));
    assert!(Seed::new(RFC, &email).unwrap().qr_code().is_ok());
}
