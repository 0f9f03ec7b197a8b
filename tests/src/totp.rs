//! An authenticator app: TOTP codes calculated from its secret (RFC 6238 with SHA-1).

use ring::hmac;
use shared::time::UnixMillis;

/// How long a code of an authenticator app is shown, in milliseconds.
pub const STEP: i64 = 30_000;

/// An authenticator app with one secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totp(Vec<u8>);

impl Totp {
    /// From the displayed secret: base32 (RFC 4648, section 6) without padding.
    pub fn new(secret: &str) -> Self {
        let mut bits = (0_u64, 0_u32);
        let mut bytes = Vec::new();
        for letter in secret.bytes() {
            let value = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".iter().position(|known| *known == letter).expect("base32");
            bits = ((bits.0 << 5) | u64::try_from(value).expect("a small number"), bits.1 + 5);
            if bits.1 >= 8 {
                bits.1 -= 8;
                bytes.push(u8::try_from((bits.0 >> bits.1) & 0xff).expect("a byte"));
            }
        }
        Self(bytes)
    }

    /// The secret itself.
    pub fn secret(&self) -> &[u8] {
        &self.0
    }

    /// The code at a time: six digits, changing every 30 seconds (RFC 6238 with SHA-1).
    pub fn code(&self, time: UnixMillis) -> String {
        format!("{:06}", self.number(time) % 1_000_000)
    }

    fn number(&self, time: UnixMillis) -> u32 {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let hash = hmac::sign(&key, &time.0.div_euclid(STEP).to_be_bytes());
        let hash = hash.as_ref();
        let place = usize::from(hash[19] & 0x0f);
        let number: [u8; 4] = hash[place..place + 4].try_into().expect("four bytes");
        u32::from_be_bytes(number) & 0x7fff_ffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6238, appendix B, its last six digits.
    #[test]
    fn codes_match_the_rfc_test_vectors() {
        let totp = Totp(b"12345678901234567890".to_vec());
        assert_eq!(totp, Totp::new("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"));
        for (seconds, code) in [(59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (20_000_000_000, "353130")] {
            assert_eq!(totp.code(UnixMillis(seconds * 1_000)), code);
        }
    }
}
