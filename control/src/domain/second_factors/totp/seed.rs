//! A seed: how it is shown to an authenticator app, and which codes are its.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use qrcode::QrCode;
use qrcode::render::svg;
use shared::time::UnixMillis;
use totp_rs::{Builder, Totp, TotpError};

use crate::domain::error::{Error, Result};

/// Who an authenticator app says that the codes are for.
const ISSUER: &str = "Updraft";

/// 160 bits, as RFC 4226 (section 4) recommends.
pub const LENGTH: usize = 20;

/// The longest label, in bytes: any address that is plain ASCII.
const LONGEST_LABEL: usize = 255;

/// Of SHA-1, with 6 digits, 30 seconds, and one step either way: what every app knows, and the library's defaults.
pub struct Seed(Totp);

impl Seed {
    /// From its bytes, for the account with this e-mail address.
    pub fn new(bytes: &[u8], email: &str) -> Result<Self> {
        let built = Builder::new().with_secret(bytes.to_vec()).with_issuer(Some(ISSUER)).with_account_name(label(email)).build();
        built.map(Self).map_err(fault)
    }

    /// The step whose code this is, of those around `now`; counted from 1970 (RFC 6238, section 4.2).
    pub fn step_of(&self, code: &str, now: UnixMillis) -> Option<i64> {
        // Apps show the digits in groups, and people type them so.
        let code: String = code.chars().filter(|character| !character.is_whitespace()).collect();
        let seconds = u64::try_from(now.as_millis().div_euclid(1_000)).ok()?;
        self.0.check(&code, seconds).and_then(|step| i64::try_from(step).ok())
    }

    /// What to type into an app: base32 without padding.
    pub fn secret(&self) -> String {
        self.0.secret().to_base32()
    }

    /// What an app reads the seed from.
    pub fn url(&self) -> Result<String> {
        self.0.to_url().map_err(fault)
    }

    /// The same to be scanned: a QR code, an SVG picture as a data address.
    pub fn qr_code(&self) -> Result<String> {
        let code = QrCode::new(self.url()?).map_err(Error::internal)?;
        let picture = code.render::<svg::Color<'_>>().min_dimensions(240, 240).build();
        Ok(format!("data:image/svg+xml;base64,{}", STANDARD.encode(picture)))
    }
}

/// The address as far as it fits into a QR code, in which other letters than those of English take nine times the room.
fn label(email: &str) -> &str {
    email.get(..email.floor_char_boundary(LONGEST_LABEL)).unwrap_or(email)
}

/// The library's errors may repeat what they are about.
fn fault(_: TotpError) -> Error {
    Error::internal("an authenticator's seed has no valid form")
}
