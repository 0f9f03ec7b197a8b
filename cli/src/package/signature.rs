//! Code signatures of packages: the file `.codepushrelease` in the package's folder, a JWT with the package hash, signed with RS256 (wire facts, part 5.4;
//! RFC 7515; RFC 7518, section 3.3). An SDK that has a public key installs only what is signed with its private key.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use shared::hash::PackageHash;
use shared::time::UnixMillis;
use spki::{ObjectIdentifier, SubjectPublicKeyInfoRef};

use crate::bundle::is_placeholder;
use crate::error::{Error, Result};

/// The name of the file, in the package's own folder.
pub(crate) const FILE: &str = ".codepushrelease";
/// The folders in which SDKs look for it: React Native's, Cordova's and Capacitor's.
pub(crate) const FOLDERS: [&str; 3] = ["CodePush", "www", "public"];
/// What `--sign-key` and `--public-key` begin with if the key is in an environment variable.
const ENVIRONMENT: &str = "env:";
/// The version of the claims.
const CLAIM_VERSION: &str = "1.0.0";
/// `rsaEncryption` (RFC 8017, appendix A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
/// The longest file name that file systems take, in bytes.
const LONGEST_NAME: usize = 255;
/// Fewer letters of Base64 are no key, even for elliptic curves. File names can have them.
const SHORTEST_KEY: usize = 40;
/// How to make a key.
const MAKE_ONE: &str = "Make a key: openssl genrsa -out private.pem 2048";
/// What to do about a public key in an app that cannot be used.
const WRITE_PUBLIC: &str =
    "Put the public key of your private key there: openssl rsa -in private.pem -pubout (docs/signing.md). Then ship a new build";

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    typ: Option<String>,
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Claims {
    /// The version of the claims.
    claim_version: String,
    /// The package hash.
    pub content_hash: String,
    /// When it was signed, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
}

/// A private key.
pub(crate) struct SigningKey(RsaKeyPair);

/// Without the key.
impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a key from a PEM file, or from an environment variable as `env:NAME`. Errors: usage (2).
    pub(crate) fn read(given: &str) -> Result<Self> {
        let pem = Pem::read(given, "--sign-key")?;
        match pem.label.as_str() {
            "PRIVATE KEY" | "RSA PRIVATE KEY" if !pem.is_encrypted() => {}
            // Another key would lock out the apps that have this one.
            "PUBLIC KEY" | "RSA PUBLIC KEY" => return Err(pem.wrong("an RSA private key", "Give the private key that belongs to it.")),
            _ => return Err(pem.wrong("an RSA private key", MAKE_ONE)),
        }
        let damaged = |why: &str| Error::usage(format!("{given} cannot be used: {why}"), MAKE_ONE);
        let pair = match PrivateKeyDer::from_pem_slice(pem.text.as_bytes()) {
            Ok(PrivateKeyDer::Pkcs1(der)) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            Ok(PrivateKeyDer::Pkcs8(der)) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(damaged("it is damaged")),
        };
        pair.map(Self).map_err(|error| match error.to_string().as_str() {
            "WrongAlgorithm" => Error::usage(format!("{given} is no RSA key: SDKs verify RS256 only"), MAKE_ONE),
            "TooSmall" => damaged("it has fewer than 2048 bits"),
            "TooLarge" => damaged("it has more than 4096 bits"),
            why => damaged(&format!("it is damaged ({why})")),
        })
    }

    /// Whether a public key belongs to it.
    pub(crate) fn belongs_to(&self, key: &VerifyingKey) -> bool {
        self.0.public().as_ref() == key.0
    }

    /// The contents of `.codepushrelease` for a package with this hash. Errors: failed (1).
    pub(crate) fn sign(&self, hash: &PackageHash, now: UnixMillis) -> Result<String> {
        let header = Header { alg: "RS256".to_owned(), typ: Some("JWT".to_owned()) };
        let claims = Claims { claim_version: CLAIM_VERSION.to_owned(), content_hash: hash.to_string(), iat: Some(now.0.div_euclid(1_000)) };
        let encode = |json: serde_json::Result<Vec<u8>>| json.map(|json| BASE64_URL_SAFE_NO_PAD.encode(json)).map_err(|_| unsigned());
        let signed = format!("{}.{}", encode(serde_json::to_vec(&header))?, encode(serde_json::to_vec(&claims))?);
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).map_err(|_| unsigned())?;
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn unsigned() -> Error {
    Error::failed("the package could not be signed", "Run the command again.")
}

/// What an app has as its public key, and no SDK can verify with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unusable {
    /// The end of a sentence that begins with the key.
    pub why: &'static str,
    /// What to do, as a sentence without its period.
    pub next: &'static str,
}

impl Unusable {
    /// A text that is certainly something else.
    fn of_another_kind(text: &str) -> Option<Self> {
        let because = |why| Some(Self { why, next: WRITE_PUBLIC });
        if text.trim().is_empty() {
            because("is empty, which the SDK on iOS takes for a key")
        } else if text.contains("PRIVATE KEY-----") {
            Some(Self {
                why: "is a private key, which everybody who has the app can read",
                next: "If a build with it was shipped, it has leaked: make new keys (docs/signing.md). Put the public key there: openssl rsa -in \
                       private.pem -pubout. Then ship a new build",
            })
        } else if text.contains("RSA PUBLIC KEY-----") {
            because("is in the old format of RSA keys (PKCS#1), which SDKs do not read")
        } else if text.contains('…') || text.contains("...") || is_placeholder(&without_public(text)) {
            because("is only a placeholder")
        } else {
            None
        }
    }
}

/// A text without the word that only placeholders of public keys have, such as `YOUR_PUBLIC_KEY`.
fn without_public(text: &str) -> String {
    let words = text.split(['_', '-', ' ']).filter(|word| !word.eq_ignore_ascii_case("public"));
    words.collect::<Vec<_>>().join("_")
}

/// A public key: PKCS#1, as `ring` takes it.
#[derive(Debug)]
pub(crate) struct VerifyingKey(Vec<u8>);

impl VerifyingKey {
    /// Reads a key from a PEM file, or from an environment variable as `env:NAME`. Errors: usage (2).
    pub(crate) fn read(given: &str) -> Result<Self> {
        let next = "Write it: openssl rsa -in private.pem -pubout -out public.pem";
        let pem = Pem::read(given, "--public-key")?;
        if pem.label != "PUBLIC KEY" {
            return Err(pem.wrong("an RSA public key", next));
        }
        let refused = |why: &str| Error::usage(format!("{given} {why}"), next);
        let damaged = "cannot be used: it is damaged";
        let der = SubjectPublicKeyInfoDer::from_pem_slice(pem.text.as_bytes()).map_err(|_| refused(damaged))?;
        Self::of_der(der.as_ref()).map_err(refused)
    }

    /// The key in an app's native project, read as the SDK reads it: on iOS, the first line must end there, and nothing but line ends is allowed between the
    /// others. On Android, lines can be joined. Errors: what is wrong with it, and what to do.
    pub(crate) fn of_app(text: &str, is_ios: bool) -> Result<Self, Unusable> {
        if let Some(unusable) = Unusable::of_another_kind(text) {
            return Err(unusable);
        }
        Self::of_pem(text, is_ios).map_err(|why| Unusable { why, next: WRITE_PUBLIC })
    }

    /// A public key, read as the SDK reads it. Errors: what is wrong with it.
    fn of_pem(text: &str, is_ios: bool) -> Result<Self, &'static str> {
        let (removed, wrong): (&[&str], _) = if is_ios {
            (
                &["-----BEGIN PUBLIC KEY-----\n", "-----END PUBLIC KEY-----", "\n"],
                "is not a public key with the line ends of its PEM file, which the SDK needs on iOS",
            )
        } else {
            (&["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----", "\\n"], "is not a public key as PEM")
        };
        let mut text = removed.iter().fold(text.to_owned(), |text, part| text.replace(part, ""));
        if !is_ios {
            text.retain(|letter| !letter.is_whitespace());
        }
        Self::of_der(&BASE64_STANDARD.decode(text).map_err(|_| wrong)?)
    }

    /// A key in the structure of RFC 5280, section 4.1.2.7. Errors: what is wrong with it.
    fn of_der(der: &[u8]) -> Result<Self, &'static str> {
        let damaged = "cannot be used: it is damaged";
        let info = SubjectPublicKeyInfoRef::try_from(der).map_err(|_| damaged)?;
        if info.algorithm.oid != RSA {
            return Err("is no RSA key: SDKs verify RS256 only");
        }
        info.subject_public_key.as_bytes().map(|key| Self(key.to_vec())).ok_or(damaged)
    }

    /// What a signature says. Errors: why an SDK with this key would refuse it.
    pub(crate) fn verify(&self, token: &str) -> Result<Claims, &'static str> {
        let parts: Vec<&str> = token.trim().split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { return Err("it is not a JWT") };
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is not a JWT");
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| "it is not a JWT")?;
        if header.alg != "RS256" {
            return Err("it is not signed with RS256");
        }
        let signed = token.trim().rsplit_once('.').map_or("", |(signed, _)| signed);
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.0);
        key.verify(signed.as_bytes(), &decode(signature)?).map_err(|_| "it was signed with another key, or changed")?;
        serde_json::from_slice(&decode(claims)?).map_err(|_| "it does not say what is signed")
    }
}

/// Whether a text has a key, as far as that can be seen: PEM, or Base64 of it or of the key's binary form. Such a text is never printed.
pub(crate) fn has_key(text: &str) -> bool {
    if text.contains("-----BEGIN") || text.contains("PRIVATE KEY") {
        return true;
    }
    let compact: String = text.split_whitespace().collect();
    let compact = compact.trim_end_matches('=');
    let decoded = || BASE64_STANDARD_NO_PAD.decode(compact).or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(compact));
    // The binary form of every key begins with a sequence (RFC 5208, section 5).
    compact.len() >= SHORTEST_KEY && decoded().is_ok_and(|bytes| bytes.starts_with(b"-----BEGIN") || bytes.first() == Some(&0x30))
}

/// Whether what was given in place of a file's name is certainly no name, or a key.
fn is_no_name(given: &str) -> bool {
    given.contains(['\n', '\r'])
        || given.contains("-----BEGIN")
        || (!Path::new(given).exists() && (given.len() > LONGEST_NAME || has_key(given)))
}

/// A key as text, and the label of its first section.
struct Pem {
    given: String,
    text: String,
    label: String,
}

impl Pem {
    fn read(given: &str, option: &str) -> Result<Self> {
        // All other errors print what was given.
        if is_no_name(given) || given.strip_prefix(ENVIRONMENT).is_some_and(is_no_name) {
            let next = "Put it into an environment variable, and give env:NAME.";
            return Err(Error::usage(format!("{option}: the text is a key itself, not a file"), next));
        }
        let text = match given.strip_prefix(ENVIRONMENT) {
            Some(name) => {
                let set = std::env::var(name).ok().filter(|text| !text.is_empty());
                let text = set.ok_or_else(|| {
                    Error::usage(
                        format!("{option}: the environment variable {name} is not set, or empty"),
                        "Set it to the text of the PEM file.",
                    )
                })?;
                // Secrets of pipelines often have one line only.
                if text.contains('\n') { text } else { text.replace("\\n", "\n") }
            }
            None => fs::read_to_string(Path::new(given)).map_err(|error| {
                Error::usage(format!("{option}: cannot read {given}: {error}"), "Give a PEM file, or env:NAME for an environment variable.")
            })?,
        };
        let label = text.split_once("-----BEGIN ").and_then(|(_, rest)| rest.split_once("-----")).map(|(label, _)| label.to_owned());
        let label = label.ok_or_else(|| {
            Error::usage(format!("{option}: {given} is not a PEM file"), "Convert it: openssl pkey -inform DER -in KEY -out private.pem")
        })?;
        Ok(Self { given: given.to_owned(), text, label })
    }

    fn is_encrypted(&self) -> bool {
        self.label == "ENCRYPTED PRIVATE KEY" || self.text.contains("Proc-Type: 4,ENCRYPTED")
    }

    /// The refusal of a key of another kind.
    fn wrong(&self, wanted: &str, next: &str) -> Error {
        let given = &self.given;
        if self.is_encrypted() {
            let next = "Decrypt it into a file that only you can read: openssl pkey -in KEY -out private.pem";
            return Error::usage(format!("{given} is encrypted, and its password cannot be asked for"), next);
        }
        let kind = match self.label.as_str() {
            "PRIVATE KEY" | "RSA PRIVATE KEY" => "a private key",
            "PUBLIC KEY" => "a public key",
            "RSA PUBLIC KEY" => "a public key in the old format of RSA keys",
            "CERTIFICATE" => "a certificate",
            "EC PRIVATE KEY" => "a key for elliptic curves",
            "OPENSSH PRIVATE KEY" => "a key for SSH",
            _ => "a PEM file of another kind",
        };
        Error::usage(format!("{given} is {kind}, not {wanted}"), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_public_key_at_all_is_called_what_it_is() {
        for (text, said) in [
            (" ", Some("is empty")),
            ("-----BEGIN RSA PRIVATE KEY-----\nAAAA", Some("is a private key")),
            ("-----BEGIN PRIVATE KEY-----AAAA", Some("is a private key")),
            ("-----BEGIN RSA PUBLIC KEY-----AAAA", Some("is in the old format")),
            ("YOUR_PUBLIC_KEY", Some("is only a placeholder")),
            ("PUBLIC_KEY_HERE", Some("is only a placeholder")),
            ("-----BEGIN PUBLIC KEY-----\nMIIB…\n-----END PUBLIC KEY-----", Some("is only a placeholder")),
            ("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", None),
        ] {
            let why = Unusable::of_another_kind(text).map(|unusable| unusable.why);
            assert_eq!(why.is_some(), said.is_some(), "{text}: {why:?}");
            assert!(said.is_none_or(|said| why.is_some_and(|why| why.starts_with(said))), "{text}: {why:?}");
        }
    }

    #[test]
    fn names_are_not_taken_for_keys() {
        for (text, expected) in [
            ("private.pem", false),
            ("MAIN", false),
            ("keys/of/a/folder/with/a/long/name/private-key.pem", false),
            ("/dev/null", false),
            ("-----BEGIN PRIVATE KEY-----", true),
            ("-----BEGIN RSA PRIVATE KEY-----\\nMIIE", true),
            ("MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", true),
            (&"x".repeat(256), true),
            ("two\nlines", true),
        ] {
            assert_eq!(is_no_name(text), expected, "{text}");
        }
        assert!(!has_key("two\nlines") && !has_key(&"x".repeat(256)));
    }

    #[test]
    fn what_is_no_jwt_is_no_signature() {
        let key = VerifyingKey(vec![1, 2, 3]);
        let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        for (token, why) in [
            ("", "it is not a JWT"),
            ("a.b", "it is not a JWT"),
            ("{}.{}.{}", "it is not a JWT"),
            (&format!("{none}.{none}."), "it is not signed with RS256"),
        ] {
            assert_eq!(key.verify(token), Err(why), "{token}");
        }
    }
}
