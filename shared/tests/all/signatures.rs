//! Signatures are valid only for what was signed, until they expire.

use proptest::prelude::*;
use shared::Invalid;
use shared::hash::{BlobKey, Sha256Hex};
use shared::ids::AppId;
use shared::signature::{
    CallSignature, Download, DownloadRefusal, DownloadUrls, Secrets, download_parameters, download_url, sign_address, sign_call,
    verify_address, verify_call, verify_call_head, verify_download,
};
use shared::time::UnixMillis;

const OLD: &str = "the old secret that has 32 characters";
const NEW: &str = "the new secret that has 32 characters";
const HOUR: i64 = 3_600_000;
const NOW: UnixMillis = UnixMillis(1_769_851_800_000);

fn secrets(texts: &[&str]) -> Result<Secrets, Invalid> {
    Secrets::parse(&texts.join(","))
}

#[test]
fn secrets_are_long_and_stay_secret() {
    assert_eq!(secrets(&[NEW, OLD]).unwrap().first(), NEW.as_bytes());
    assert_eq!(Secrets::parse(&format!(" {NEW}, {OLD} ")).unwrap().first(), NEW.as_bytes());
    for wrong in ["", "short", &NEW[..31], &format!("{NEW},"), &format!("{NEW},,{OLD}"), &" ".repeat(40)] {
        assert!(Secrets::parse(wrong).is_err(), "{wrong}");
    }
    let urls = DownloadUrls { base_url: "https://updates.example", secret: OLD.as_bytes(), now: NOW };
    assert_eq!(format!("{:?}", secrets(&[NEW, OLD]).unwrap()), "Secrets(2)");
    assert!(!format!("{urls:?}").contains("116"));
}

fn blob() -> BlobKey {
    BlobKey { app: AppId::v7(NOW, [3; 10]), sha256: Sha256Hex::of(b"bytes") }
}

/// The parts of a download URL: blob, expires, signature.
fn url_at(now: UnixMillis, secret: &str) -> [String; 3] {
    let url = download_url(&DownloadUrls { base_url: "https://updates.example", secret: secret.as_bytes(), now }, &blob());
    let rest = url.strip_prefix("https://updates.example/v1/public/svc/bundles/").unwrap_or_default();
    let (blob, query) = rest.split_once("?expires=").unwrap_or_default();
    let (expires, signature) = query.split_once("&signature=").unwrap_or_default();
    [blob, expires, signature].map(str::to_owned)
}

#[test]
fn a_download_url_is_the_same_for_an_hour_and_valid_for_24_to_25() {
    let hour = UnixMillis(NOW.0 / HOUR * HOUR);
    let [blob_text, expires, signature] = url_at(hour, NEW);
    assert_eq!(url_at(hour.plus_millis(HOUR - 1), NEW)[1..], [expires.clone(), signature.clone()]);
    assert_ne!(url_at(hour.plus_millis(HOUR), NEW)[1], expires);
    assert_eq!(expires.parse::<i64>().unwrap(), hour.0 + 25 * HOUR);
    let secrets = secrets(&[NEW]).unwrap();
    let at = |millis| verify_download(&secrets, &blob_text, &expires, &signature, hour.plus_millis(millis));
    assert_eq!(at(0), Ok(Download { blob: blob(), expires_in: 25 * HOUR }));
    assert_eq!(at(25 * HOUR), Ok(Download { blob: blob(), expires_in: 0 }));
    assert_eq!(at(25 * HOUR + 1), Err(DownloadRefusal::Expired));
}

#[test]
fn a_download_url_is_signed_as_documented() {
    // HMAC-SHA256 over `blob "." expires`, from another implementation.
    let key = BlobKey { app: AppId::try_from("00000000-0000-7000-8000-000000000000").unwrap(), sha256: Sha256Hex::of(b"") };
    let url = download_url(&DownloadUrls { base_url: "https://u.example", secret: NEW.as_bytes(), now: UnixMillis(0) }, &key);
    assert_eq!(url, include_str!("../vectors/download-url.txt").trim_end());
}

#[test]
fn modified_or_foreign_download_urls_are_rejected() {
    let now = NOW;
    let [blob_text, expires, signature] = url_at(now, OLD);
    let both = secrets(&[NEW, OLD]).unwrap();
    assert_eq!(verify_download(&both, &blob_text, &expires, &signature, now).map(|download| download.blob), Ok(blob()));
    let only_new = secrets(&[NEW]).unwrap();
    assert_eq!(verify_download(&only_new, &blob_text, &expires, &signature, now), Err(DownloadRefusal::WrongSignature));
    let other = BlobKey { sha256: Sha256Hex::of(b"other"), ..blob() }.encoded();
    assert_eq!(verify_download(&both, &other, &expires, &signature, now), Err(DownloadRefusal::WrongSignature));
    let later = (expires.parse::<i64>().unwrap() + HOUR).to_string();
    assert_eq!(verify_download(&both, &blob_text, &later, &signature, now), Err(DownloadRefusal::WrongSignature));
    assert_eq!(verify_download(&both, &blob_text, &expires, &signature[..40], now), Err(DownloadRefusal::WrongSignature));
    assert_eq!(verify_download(&both, &blob_text, &expires, "", now), Err(DownloadRefusal::WrongSignature));
    for [blob_text, expires, signature] in [
        ["", &expires, &signature],
        [&blob_text, "", &signature],
        [&blob_text, &format!("+{expires}"), &signature],
        [&blob_text, &format!("0{expires}"), &signature],
        [&blob_text, &expires, "=="],
    ] {
        assert_eq!(verify_download(&both, blob_text, expires, signature, now), Err(DownloadRefusal::Malformed));
    }
}

#[test]
fn the_parameters_of_a_download_url_are_found_by_name_and_must_not_be_repeated() {
    assert_eq!(download_parameters("expires=1&signature=ab-_"), Ok(("1", "ab-_")));
    assert_eq!(download_parameters("xsignature=1&expires"), Ok(("", "")));
    let errors = download_parameters("expires=1&signature=ab-_&expires=2&signature=").unwrap_err();
    assert_eq!(errors.to_string(), "expires: must be given only once; signature: must be given only once");
}

#[test]
fn an_internal_call_is_signed_as_documented() {
    let header = sign_call(&secrets(&[NEW]).unwrap(), "POST", "/internal/v1/reports?x=1", NOW, b"{}");
    assert_eq!(header, include_str!("../vectors/call-signature.txt").trim_end());
    let header = sign_address(&secrets(&[NEW]).unwrap(), "GET", "/v1/apps", NOW, "2001:db8::1");
    assert_eq!(header, include_str!("../vectors/address-signature.txt").trim_end());
}

#[test]
fn a_call_is_accepted_only_if_signed_and_fresh() {
    let (old, both, new) = (secrets(&[OLD]).unwrap(), secrets(&[NEW, OLD]).unwrap(), secrets(&[NEW]).unwrap());
    let header = sign_call(&old, "POST", "/internal/v1/reports", NOW, b"{}");
    let check = |secrets: &Secrets, header: &str, millis: i64, body: &[u8]| {
        verify_call(secrets, header, "POST", "/internal/v1/reports", NOW.plus_millis(millis), body)
    };
    assert!(check(&both, &header, 0, b"{}"));
    assert!(check(&old, &header, 300_000, b"{}"));
    assert!(check(&old, &header, -300_000, b"{}"));
    assert!(!check(&old, &header, 300_001, b"{}"));
    assert!(!check(&old, &header, -300_001, b"{}"));
    assert!(!check(&new, &header, 0, b"{}"));
    assert!(!check(&old, &header, 0, b"{ }"));
    assert!(!verify_call(&old, &header, "GET", "/internal/v1/reports", NOW, b"{}"));
    assert!(!verify_call(&old, &header, "POST", "/internal/v1/reports?", NOW, b"{}"));
    for wrong in ["", "t=1,v1=", "t=1", "v1=00", &header.replace("t=", "t=+"), &header[..header.len() - 1], &format!("{header}0")] {
        assert!(!check(&old, wrong, 0, b"{}"), "{wrong}");
    }
}

#[test]
fn a_call_is_verified_before_its_body_is_read() {
    let (old, new) = (secrets(&[OLD]).unwrap(), secrets(&[NEW]).unwrap());
    let header = sign_call(&old, "POST", "/internal/v1/reports", NOW, b"{}");
    let digest = shared::hash::sha256(b"{}");
    let head = |secrets: &Secrets, header: &str, millis: i64| {
        verify_call_head(secrets, header, "POST", "/internal/v1/reports", NOW.plus_millis(millis))
    };
    assert_eq!(head(&old, &header, 0), CallSignature::Valid(digest));
    assert_eq!(head(&old, &header, 300_001), CallSignature::Invalid);
    assert_eq!(head(&new, &header, 0), CallSignature::Invalid);
    assert_eq!(verify_call_head(&old, &header, "PUT", "/internal/v1/reports", NOW), CallSignature::Invalid);
    // The signature does not cover another body's hash.
    let other = header.replace(Sha256Hex::of(b"{}").as_str(), Sha256Hex::of(b"[]").as_ref());
    assert_ne!(other, header);
    assert_eq!(head(&old, &other, 0), CallSignature::Invalid);
    for wrong in ["", "t=1,h=,v1=00", &header.replace(",h=", ",h=00"), &header.replace(",h=", ",v1=")] {
        assert_eq!(head(&old, wrong, 0), CallSignature::Invalid, "{wrong}");
    }
}

#[test]
fn a_call_from_an_older_edge_is_verified_with_its_body() {
    let old = secrets(&[OLD]).unwrap();
    let header = sign_call(&old, "POST", "/internal/v1/reports", NOW, b"{}");
    let without = header.replace(&format!(",h={}", Sha256Hex::of(b"{}")), "");
    let head = |millis: i64| verify_call_head(&old, &without, "POST", "/internal/v1/reports", NOW.plus_millis(millis));
    assert_eq!((head(0), head(300_001)), (CallSignature::NeedsBody, CallSignature::Invalid));
    assert!(verify_call(&old, &without, "POST", "/internal/v1/reports", NOW, b"{}"));
    assert!(!verify_call(&old, &without, "POST", "/internal/v1/reports", NOW, b"[]"));
}

#[test]
fn download_and_internal_call_signatures_are_not_interchangeable() {
    let secrets = secrets(&[OLD]).unwrap();
    let address = Sha256Hex::of(b"").to_string();
    let header = sign_address(&secrets, "GET", "/", NOW, &address);
    assert!(verify_address(&secrets, &header, "GET", "/", NOW, &address));
    assert!(!verify_call(&secrets, &header, "GET", "/", NOW, b""));
    assert!(!verify_address(&secrets, &header, "GET", "/", NOW, "192.0.2.1"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(one: String, two: String, three: String, now: i64, text in "t=-?[0-9]{1,20},v1=[0-9a-fé]{0,70}") {
        let secrets = secrets(&[OLD]).unwrap();
        let now = UnixMillis(now);
        prop_assert!(verify_download(&secrets, &one, &two, &three, now).is_err());
        for header in [&one, &text] {
            prop_assert!(!verify_call(&secrets, header, &two, &three, now, b""));
            prop_assert!(!verify_address(&secrets, header, &two, &three, now, &one));
        }
        let _ = Secrets::parse(&one);
    }

    #[test]
    fn signed_messages_verify(method: String, path: String, now: i64, body: Vec<u8>, address: String) {
        let secrets = secrets(&[NEW, OLD]).unwrap();
        let now = UnixMillis(now);
        prop_assert!(verify_call(&secrets, &sign_call(&secrets, &method, &path, now, &body), &method, &path, now, &body));
        prop_assert!(verify_address(&secrets, &sign_address(&secrets, &method, &path, now, &address), &method, &path, now, &address));
    }
}
