//! HMAC-SHA256 signatures of download URLs, of internal calls, and of the client address that the edge forwards.
//!
//! Each kind signs a message that no other kind can produce. Several secrets can be active at once, so that one can be rotated without downtime.

use crate::hash::{BlobKey, hex, sha256};
use crate::invalid::{FieldErrors, Invalid};
use crate::time::UnixMillis;
use crate::wire::path::BUNDLES;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

const HOUR: i64 = 3_600_000;
/// The tolerance for clock skew between two machines plus the transit time of a call.
const CALL_WINDOW: i64 = 5 * 60_000;
/// The minimum number of characters in a secret.
const MIN_SECRET: usize = 32;

/// Active secrets: the first signs, all verify.
#[derive(Clone)]
pub struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Parses a comma-separated list of secrets, each at least 32 characters. Surrounding whitespace is trimmed.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let secrets: Vec<&str> = text.split(',').map(str::trim).collect();
        if secrets.iter().any(|secret| secret.chars().count() < MIN_SECRET) {
            return Err(Invalid::from("must be secrets of at least 32 characters, separated by commas"));
        }
        Ok(Self(secrets.into_iter().map(|secret| secret.as_bytes().to_vec()).collect()))
    }

    /// The secret that signs.
    pub fn first(&self) -> &[u8] {
        self.0.first().map(Vec::as_slice).unwrap_or_default()
    }

    /// All active secrets, the one that signs first.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Whether one of the secrets produced `signature` for `message`; compares in constant time.
    fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.iter().any(|secret| mac(secret, message).verify_slice(signature).is_ok())
    }
}

/// Shows the number of secrets, never their values.
impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secrets({})", self.0.len())
    }
}

/// The inputs of download URLs.
#[derive(Clone, Copy)]
pub struct DownloadUrls<'a> {
    /// The base URL of the service, without a trailing slash.
    pub base_url: &'a str,
    /// The secret that signs.
    pub secret: &'a [u8],
    /// The current time.
    pub now: UnixMillis,
}

/// Omits the secret.
impl fmt::Debug for DownloadUrls<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DownloadUrls").field("base_url", &self.base_url).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Why a download URL is rejected. The answer is always 403.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DownloadRefusal {
    /// A part is missing or malformed.
    #[error("the download URL is malformed")]
    Malformed,
    /// This service did not sign it.
    #[error("the download URL was not signed by this service")]
    WrongSignature,
    /// It has expired.
    #[error("the download URL has expired: get a new one")]
    Expired,
}

/// The URL of a blob. It expires in 24 to 25 hours and stays the same within a clock hour, so that it can be cached.
pub fn download_url(urls: &DownloadUrls<'_>, blob: &BlobKey) -> String {
    let expires = (urls.now.as_millis().div_euclid(HOUR) + 25).saturating_mul(HOUR);
    let blob = blob.encoded();
    let signature =
        URL_SAFE_NO_PAD.encode(mac(urls.secret, download_message(&blob, &expires.to_string()).as_bytes()).finalize().into_bytes());
    format!("{}{BUNDLES}{blob}?expires={expires}&signature={signature}", urls.base_url)
}

/// A verified download URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// The blob.
    pub blob: BlobKey,
    /// The milliseconds until the URL expires.
    pub expires_in: i64,
}

/// `expires` and `signature` of a download URL's query, undecoded: they never need escapes. Absent is empty. Errors: those that are repeated.
pub fn download_parameters(query: &str) -> Result<(&str, &str), FieldErrors> {
    let mut errors = FieldErrors::default();
    let mut parameter = |name| {
        let mut values = query.split('&').filter_map(|pair| pair.split_once('=')).filter_map(|(key, value)| (key == name).then_some(value));
        let first = values.next().unwrap_or_default();
        if values.next().is_some() {
            errors.add(name, "must be given only once");
        }
        first
    };
    let found = (parameter("expires"), parameter("signature"));
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// Verifies a download URL, given its parts: the path segment and both query values.
pub fn verify_download(
    secrets: &Secrets,
    blob_text: &str,
    expires_text: &str,
    signature: &str,
    now: UnixMillis,
) -> Result<Download, DownloadRefusal> {
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| DownloadRefusal::Malformed)?;
    let expires = parse_millis(expires_text).ok_or(DownloadRefusal::Malformed)?;
    let blob = BlobKey::from_encoded(blob_text).map_err(|_| DownloadRefusal::Malformed)?;
    if !secrets.verify(download_message(blob_text, expires_text).as_bytes(), &signature) {
        return Err(DownloadRefusal::WrongSignature);
    }
    let expires_in = expires.as_millis().saturating_sub(now.as_millis());
    if expires_in < 0 { Err(DownloadRefusal::Expired) } else { Ok(Download { blob, expires_in }) }
}

fn download_message(blob: &str, expires: &str) -> String {
    format!("{blob}.{expires}")
}

/// The `X-Updraft-Signature` of an internal call: `t=<ms>,h=<hex>,v1=<hex>`. `h` is the body's SHA-256, so that the signature can be verified
/// before the body is read. `method` is upper-case; the path includes the query as sent.
pub fn sign_call(secrets: &Secrets, method: &str, path_and_query: &str, now: UnixMillis, body: &[u8]) -> String {
    let body = hex(&sha256(body));
    let mac = hex(&mac(secrets.first(), call_message(method, path_and_query, now, &body).as_bytes()).finalize().into_bytes());
    format!("t={},h={body},v1={mac}", now.as_millis())
}

/// The result of verifying an internal call before its body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSignature {
    /// Signed with an active secret, for a body with this SHA-256.
    Valid([u8; 32]),
    /// Undecided: a signature without `h`, as older edges send, can be verified only with the body ([`verify_call`]).
    NeedsBody,
    /// Not signed with an active secret, or not within five minutes of now.
    Invalid,
}

/// Verifies an internal call by its headers alone.
pub fn verify_call_head(secrets: &Secrets, header: &str, method: &str, path_and_query: &str, now: UnixMillis) -> CallSignature {
    let Some(signature) = Signature::parse(header).filter(|signature| signature.is_fresh(now)) else { return CallSignature::Invalid };
    let Some(body) = signature.body else { return CallSignature::NeedsBody };
    let message = call_message(method, path_and_query, signature.time, &hex(&body));
    if secrets.verify(message.as_bytes(), &signature.mac) { CallSignature::Valid(body) } else { CallSignature::Invalid }
}

/// Whether an internal call with this body was signed with an active secret, at most five minutes ago (or ahead).
pub fn verify_call(secrets: &Secrets, header: &str, method: &str, path_and_query: &str, now: UnixMillis, body: &[u8]) -> bool {
    let Some(signature) = Signature::parse(header).filter(|signature| signature.is_fresh(now)) else { return false };
    let digest = sha256(body);
    let is_named = signature.body.is_none_or(|named| named == digest);
    is_named && secrets.verify(call_message(method, path_and_query, signature.time, &hex(&digest)).as_bytes(), &signature.mac)
}

/// The `X-Updraft-Address-Signature` of a forwarded request: attests that the edge received it from `address`.
pub fn sign_address(secrets: &Secrets, method: &str, path_and_query: &str, now: UnixMillis, address: &str) -> String {
    let message = address_message(method, path_and_query, now, address);
    format!("t={},v1={}", now.as_millis(), hex(&mac(secrets.first(), message.as_bytes()).finalize().into_bytes()))
}

/// Whether the edge attested `address`, at most five minutes ago (or ahead).
pub fn verify_address(secrets: &Secrets, header: &str, method: &str, path_and_query: &str, now: UnixMillis, address: &str) -> bool {
    let signature = Signature::parse(header).filter(|signature| signature.body.is_none() && signature.is_fresh(now));
    signature.is_some_and(|signature| {
        secrets.verify(address_message(method, path_and_query, signature.time, address).as_bytes(), &signature.mac)
    })
}

/// `body` is the body's SHA-256 in lower-case hexadecimal.
fn call_message(method: &str, path_and_query: &str, time: UnixMillis, body: &str) -> String {
    format!("updraft-call-v1\n{method}\n{path_and_query}\n{}\n{body}", time.as_millis())
}

fn address_message(method: &str, path_and_query: &str, time: UnixMillis, address: &str) -> String {
    format!("updraft-address-v1\n{method}\n{path_and_query}\n{}\n{address}", time.as_millis())
}

/// The parts of a signature: `t=<ms>[,h=<hex>],v1=<hex>`.
struct Signature {
    time: UnixMillis,
    body: Option<[u8; 32]>,
    mac: Vec<u8>,
}

impl Signature {
    fn parse(header: &str) -> Option<Self> {
        let (head, mac) = header.strip_prefix("t=")?.split_once(",v1=")?;
        let (time, body) = match head.split_once(",h=") {
            Some((time, body)) => (time, Some(from_hex(body)?.try_into().ok()?)),
            None => (head, None),
        };
        Some(Self { time: parse_millis(time)?, body, mac: from_hex(mac)? })
    }

    fn is_fresh(&self, now: UnixMillis) -> bool {
        now.as_millis().abs_diff(self.time.as_millis()) <= CALL_WINDOW.unsigned_abs()
    }
}

/// Parses a time as this module writes it; rejects other spellings of the number.
fn parse_millis(text: &str) -> Option<UnixMillis> {
    let millis: i64 = text.parse().ok()?;
    (millis.to_string() == text).then_some(UnixMillis(millis))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

/// HMAC-SHA256 with `key`, updated with `message`.
pub(crate) fn mac(key: &[u8], message: &[u8]) -> Hmac<Sha256> {
    // As HMAC defines: a key longer than the hash's block is hashed, a shorter one is padded with zeros.
    let mut block = [0_u8; 64];
    let digest = sha256(key);
    let key = if key.len() > block.len() { digest.as_slice() } else { key };
    block.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(message);
    mac
}
