//! A soft authenticator with its browser: passkeys are created and asserted as in Web Authentication level 3 (sections 5.1.3, 5.1.4, 6.1, 6.5),
//! resident, on P-256, with `none` attestation. It can also create every forgery that a server must detect.
//!
//! A copy of an authenticator has the same keys and its own counter, like a stolen one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::database::entropy;
use crate::forgery::Forgery;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;

/// ECDSA on P-256 with SHA-256, by its COSE number.
const ES256: i64 = -7;

/// An authenticator in a browser with one origin.
#[derive(Clone, Debug)]
pub struct Authenticator {
    origin: String,
    is_synced: bool,
    is_backed_up: bool,
    passkeys: Vec<Passkey>,
}

#[derive(Clone, Debug)]
struct Passkey {
    id: Vec<u8>,
    rp_id: String,
    user: Vec<u8>,
    key: Vec<u8>,
    counter: u32,
}

/// The contents of a response, before it is signed.
struct Claims<'a> {
    ceremony: &'a str,
    challenge: String,
    origin: &'a str,
    is_cross_origin: bool,
    top_origin: Option<&'a str>,
    rp_id: &'a str,
    flags: u8,
    counter: u32,
}

impl Authenticator {
    /// A device-bound authenticator with a signature counter.
    pub fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), is_synced: false, is_backed_up: false, passkeys: Vec::new() }
    }

    /// A synced authenticator without a signature counter. Its passkeys are backed up until changed.
    pub fn synced(origin: &str) -> Self {
        Self { is_synced: true, is_backed_up: true, ..Self::new(origin) }
    }

    /// Changes whether the passkeys of a synced authenticator are backed up.
    pub fn set_backed_up(&mut self, is_backed_up: bool) {
        assert!(self.is_synced, "its passkeys are device-bound");
        self.is_backed_up = is_backed_up;
    }

    /// The ID of the newest passkey, in base64url.
    pub fn id(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.newest().id)
    }

    /// The user handle of the newest passkey, in base64url.
    pub fn user(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.newest().user)
    }

    /// Whether it has a passkey excluded by these registration options: then a browser creates no other.
    pub fn is_excluded(&self, options: &Value) -> bool {
        let excluded = ids(&options["excludeCredentials"]);
        self.passkeys.iter().any(|passkey| excluded.contains(&passkey.id))
    }

    /// Creates a passkey with these options, and returns the browser's response.
    pub fn register(&mut self, options: &Value) -> Value {
        self.make(options, None)
    }

    /// The same with a forgery.
    pub fn register_but(&mut self, options: &Value, forgery: &Forgery) -> Value {
        self.make(options, Some(forgery))
    }

    /// Asserts the newest passkey allowed by these options.
    pub fn assert(&mut self, options: &Value) -> Value {
        self.sign(options, None)
    }

    /// The same with a forgery.
    pub fn assert_but(&mut self, options: &Value, forgery: &Forgery) -> Value {
        self.sign(options, Some(forgery))
    }

    fn newest(&self) -> &Passkey {
        self.passkeys.last().expect("an authenticator with a passkey")
    }

    fn make(&mut self, options: &Value, forgery: Option<&Forgery>) -> Value {
        let rp_id = text(&options["rp"]["id"]);
        self.check_rp_id(&rp_id);
        assert!(!self.is_excluded(options), "the options exclude an existing passkey: {options}");
        let selection = &options["authenticatorSelection"];
        assert_eq!((text(&selection["residentKey"]).as_str(), text(&selection["userVerification"]).as_str()), ("required", "required"));
        let parameters = options["pubKeyCredParams"].as_array().expect("algorithms");
        assert!(parameters.iter().any(|offer| offer["alg"] == ES256 && offer["type"] == "public-key"), "{options}");
        let user = bytes(&options["user"]["id"]);
        assert!((1..=64).contains(&user.len()) && !text(&options["user"]["name"]).is_empty(), "{options}");

        let key = new_key();
        let counter = u32::from(!self.is_synced);
        let passkey = Passkey { id: [entropy(), entropy()].concat(), rp_id, user, key, counter };
        let mut claims = self.claims("webauthn.create", options, &passkey);
        claims.flags |= ATTESTED;
        forge(&mut claims, forgery);
        let id = match forgery {
            Some(Forgery::Credential(id)) => URL_SAFE_NO_PAD.decode(id).expect("an id in base64url"),
            _ => passkey.id.clone(),
        };
        let mut data = claims.data();
        data.extend([0; 16]);
        data.extend(u16::try_from(id.len()).expect("a short id").to_be_bytes());
        data.extend(&id);
        data.extend(cose_key(&passkey.key, forgery));
        if forgery == Some(&Forgery::Cut) {
            data.pop();
        }
        let response = json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(claims.client_data()),
            "attestationObject": URL_SAFE_NO_PAD.encode(attestation(&data)),
            "transports": if self.is_synced { json!(["internal", "hybrid"]) } else { json!(["usb"]) },
        });
        self.passkeys.push(passkey);
        credential(&id, &response)
    }

    fn sign(&mut self, options: &Value, forgery: Option<&Forgery>) -> Value {
        let rp_id = text(&options["rpId"]);
        self.check_rp_id(&rp_id);
        assert_eq!(text(&options["userVerification"]), "required", "{options}");
        let allowed = ids(&options["allowCredentials"]);
        let is_allowed = |passkey: &Passkey| passkey.rp_id == rp_id && (allowed.is_empty() || allowed.contains(&passkey.id));
        let place = self.passkeys.iter().rposition(is_allowed).unwrap_or_else(|| panic!("no passkey is allowed by {options}"));
        if !self.is_synced {
            self.passkeys[place].counter += 1;
        }
        let passkey = &self.passkeys[place];
        let mut claims = self.claims("webauthn.get", options, passkey);
        forge(&mut claims, forgery);
        let (mut data, client_data) = (claims.data(), claims.client_data());
        if forgery == Some(&Forgery::Cut) {
            data.pop();
        }
        let other = new_key();
        let key = if forgery == Some(&Forgery::OtherKey) { &other } else { &passkey.key };
        let mut signature = signature(key, &[&data[..], &Sha256::digest(&client_data)[..]].concat());
        if forgery == Some(&Forgery::FlippedBit) {
            // The last byte belongs to the number s, so that the encoding stays valid.
            *signature.last_mut().expect("a signature") ^= 1;
        }
        let (id, user) = match forgery {
            Some(Forgery::Credential(id)) => (URL_SAFE_NO_PAD.decode(id).expect("an id in base64url"), passkey.user.clone()),
            Some(Forgery::User(user)) => (passkey.id.clone(), URL_SAFE_NO_PAD.decode(user).expect("a user in base64url")),
            _ => (passkey.id.clone(), passkey.user.clone()),
        };
        let mut response = json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(&client_data),
            "authenticatorData": URL_SAFE_NO_PAD.encode(&data),
            "signature": URL_SAFE_NO_PAD.encode(&signature),
        });
        if forgery != Some(&Forgery::NoUser) {
            response["userHandle"] = URL_SAFE_NO_PAD.encode(&user).into();
        }
        credential(&id, &response)
    }

    /// A browser allows an origin's host and its parent domains as RP ID.
    fn check_rp_id(&self, rp_id: &str) {
        let host = self.origin.split_once("://").expect("an origin").1.split(':').next().unwrap_or_default();
        assert!(host == rp_id || host.ends_with(&format!(".{rp_id}")), "{} must not use the RP ID {rp_id}", self.origin);
    }

    fn claims<'a>(&'a self, ceremony: &'a str, options: &Value, passkey: &'a Passkey) -> Claims<'a> {
        let challenge = bytes(&options["challenge"]);
        assert!(challenge.len() >= 16, "the challenge is too short: {options}");
        let mut flags = PRESENT | VERIFIED;
        if self.is_synced {
            flags |= ELIGIBLE;
        }
        if self.is_backed_up {
            flags |= BACKED_UP;
        }
        let (rp_id, counter) = (&passkey.rp_id, passkey.counter);
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        Claims { ceremony, challenge, origin: &self.origin, is_cross_origin: false, top_origin: None, rp_id, flags, counter }
    }
}

impl Claims<'_> {
    /// The client data (section 5.8.1).
    fn client_data(&self) -> Vec<u8> {
        let mut data =
            json!({ "type": self.ceremony, "challenge": self.challenge, "origin": self.origin, "crossOrigin": self.is_cross_origin });
        if let Some(origin) = self.top_origin {
            data["topOrigin"] = origin.into();
        }
        data.to_string().into_bytes()
    }

    /// The authenticator data (section 6.1) without attested credential data.
    fn data(&self) -> Vec<u8> {
        [&Sha256::digest(self.rp_id)[..], &[self.flags], &self.counter.to_be_bytes()].concat()
    }
}

fn forge(claims: &mut Claims<'_>, forgery: Option<&Forgery>) {
    match forgery {
        Some(Forgery::Origin(origin)) => claims.origin = origin,
        Some(Forgery::CrossOrigin) => claims.is_cross_origin = true,
        Some(Forgery::TopOrigin(origin)) => claims.top_origin = Some(origin),
        Some(Forgery::RpId(rp_id)) => claims.rp_id = rp_id,
        Some(Forgery::Challenge(challenge)) => claims.challenge.clone_from(challenge),
        Some(Forgery::OtherCeremony) => {
            claims.ceremony = if claims.ceremony == "webauthn.get" { "webauthn.create" } else { "webauthn.get" };
        }
        Some(Forgery::NotVerified) => claims.flags &= !VERIFIED,
        Some(Forgery::NotPresent) => claims.flags &= !PRESENT,
        Some(Forgery::Counter(counter)) => claims.counter = *counter,
        Some(Forgery::ImpossibleBackup) => claims.flags = (claims.flags & !ELIGIBLE) | BACKED_UP,
        Some(Forgery::OtherEligibility) => claims.flags = (claims.flags ^ ELIGIBLE) & !BACKED_UP,
        _ => {}
    }
}

/// A response of either ceremony as JSON (sections 5.1.3 and 5.1.4: `toJSON`).
fn credential(id: &[u8], response: &Value) -> Value {
    let id = URL_SAFE_NO_PAD.encode(id);
    json!({
        "id": id, "rawId": id, "type": "public-key", "response": response,
        "authenticatorAttachment": "cross-platform", "clientExtensionResults": {},
    })
}

fn new_key() -> Vec<u8> {
    EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).expect("a key").as_ref().to_vec()
}

fn key_pair(key: &[u8]) -> EcdsaKeyPair {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key, &SystemRandom::new()).expect("a key pair")
}

fn signature(key: &[u8], message: &[u8]) -> Vec<u8> {
    key_pair(key).sign(&SystemRandom::new(), message).expect("a signature").as_ref().to_vec()
}

/// The COSE public key (RFC 9053, section 7.1.1) in CBOR: `{1: 2, 3: -7, -1: 1, -2: x, -3: y}`.
fn cose_key(key: &[u8], forgery: Option<&Forgery>) -> Vec<u8> {
    let pair = key_pair(key);
    // 0x04, x, y.
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let algorithm = match forgery {
        Some(Forgery::Algorithm(algorithm)) => *algorithm,
        _ => -7,
    };
    assert!((-24..0).contains(&algorithm), "one CBOR byte");
    let algorithm = 0x20 | (-1 - algorithm).unsigned_abs();
    [&[0xa5, 0x01, 0x02, 0x03, algorithm, 0x20, 0x01, 0x21, 0x58, 0x20], x, &[0x22, 0x58, 0x20], y].concat()
}

/// The attestation object (section 6.5.4) in CBOR: `{"fmt": "none", "attStmt": {}, "authData": …}`.
fn attestation(data: &[u8]) -> Vec<u8> {
    let head = match u8::try_from(data.len()) {
        Ok(length) => vec![0x58, length],
        Err(_) => [&[0x59][..], &u16::try_from(data.len()).expect("less than 64 KiB of data").to_be_bytes()].concat(),
    };
    [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData", &head[..], data].concat()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("expected a text, not {value}")).to_owned()
}

fn bytes(value: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text(value)).unwrap_or_else(|error| panic!("expected base64url, not {value}: {error}"))
}

/// The IDs in an optional list of credentials.
fn ids(list: &Value) -> Vec<Vec<u8>> {
    list.as_array().into_iter().flatten().map(|credential| bytes(&credential["id"])).collect()
}
