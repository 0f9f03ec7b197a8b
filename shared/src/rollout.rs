//! A device's bucket in a staged rollout, computed exactly as existing CodePush SDKs and servers do.

use serde::Serialize;

use crate::keys::Label;

/// A share of the devices: 1 to 100 percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Percent(u8);

impl Percent {
    /// All devices.
    pub const ALL: Self = Self(100);

    /// Creates a percentage; `None` for 0 and for more than 100.
    pub fn new(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| (1..=100).contains(number)).map(Self)
    }

    /// The number, 1 to 100.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The bucket, 0 to 99, of `{client id}-{label}`.
///
/// The reference computes `h = (h << 5) - h + c` over UTF-16 code units with JavaScript numbers: the shift is 32-bit, the subtraction is not.
/// The usual 32-bit string hash gives different buckets for most IDs, and a device whose bucket changes would drop out of its rollout.
pub fn bucket(identifier: &str) -> u8 {
    bucket_of(identifier.encode_utf16())
}

/// The bucket, 0 to 99, of a device in the rollout of a release.
pub fn bucket_of_device(client_id: &str, label: &Label) -> u8 {
    let label = label.to_string();
    bucket_of(client_id.encode_utf16().chain("-".encode_utf16()).chain(label.encode_utf16()))
}

/// Whether the device is among the `rollout` percent that get the release. Raising the percentage never removes a device.
pub fn is_selected(client_id: &str, label: &Label, rollout: u8) -> bool {
    bucket_of_device(client_id, label) < rollout
}

fn bucket_of(units: impl Iterator<Item = u16>) -> u8 {
    let hash = units.fold(0_i64, |hash, unit| i64::from(low_32_bits(hash).wrapping_shl(5)) - hash + i64::from(unit));
    u8::try_from(hash.unsigned_abs() % 100).unwrap_or(0)
}

/// JavaScript's `ToInt32` for an integer: its low 32 bits as a signed number.
fn low_32_bits(number: i64) -> i32 {
    let [first, second, third, fourth, ..] = number.to_le_bytes();
    i32::from_le_bytes([first, second, third, fourth])
}
