//! A TOTP seed: how it is shown to an authenticator app, and how its codes are checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use qrcode::QrCode;
use qrcode::render::svg;
use shared::time::UnixMillis;
use totp_rs::{Builder, Totp, TotpError};

use crate::domain::error::{Error, Result};

/// The issuer that an authenticator app shows.
const ISSUER: &str = "Updraft";

/// 160 bits, as RFC 4226 (section 4) recommends.
pub const LENGTH: usize = 20;

/// The longest label, in bytes: any address that is plain ASCII.
const MAX_LABEL: usize = 255;

/// A TOTP seed with SHA-1, 6 digits, 30 seconds and a tolerance of one step either way: what every app supports, and the library's defaults.
pub struct Seed(Totp);

impl Seed {
    /// Creates a seed from its bytes, for the account with this email address.
    pub fn new(bytes: &[u8], email: &str) -> Result<Self> {
        let built = Builder::new().with_secret(bytes.to_vec()).with_issuer(Some(ISSUER)).with_account_name(label(email)).build();
        built.map(Self).map_err(fault)
    }

    /// The time step near `now` that has this code; counted from 1970 (RFC 6238, section 4.2).
    pub fn step_of(&self, code: &str, now: UnixMillis) -> Option<i64> {
        // Apps show the digits in groups, and people type the spaces.
        let code: String = code.chars().filter(|character| !character.is_whitespace()).collect();
        let seconds = u64::try_from(now.as_millis().div_euclid(1_000)).ok()?;
        self.0.check(&code, seconds).and_then(|step| i64::try_from(step).ok())
    }

    /// The secret to type into an app: base32 without padding.
    pub fn secret(&self) -> String {
        self.0.secret().to_base32()
    }

    /// The `otpauth` URL of the seed.
    pub fn url(&self) -> Result<String> {
        self.0.to_url().map_err(fault)
    }

    /// The URL as a QR code to scan: an SVG image in a data URL.
    pub fn qr_code(&self) -> Result<String> {
        let code = QrCode::new(self.url()?).map_err(Error::internal)?;
        let picture = code.render::<svg::Color<'_>>().min_dimensions(240, 240).build();
        Ok(format!("data:image/svg+xml;base64,{}", STANDARD.encode(picture)))
    }
}

/// The address, truncated to fit into a QR code: non-ASCII letters take nine times the space.
fn label(email: &str) -> &str {
    email.get(..email.floor_char_boundary(MAX_LABEL)).unwrap_or(email)
}

/// The library's errors may contain the input, so they are dropped.
fn fault(_: TotpError) -> Error {
    Error::internal("an authenticator seed is malformed")
}
