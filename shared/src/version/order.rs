//! The order of versions as in node: build metadata is ignored.

use semver::Version;
use std::cmp::Ordering;

/// Compares two versions, ignoring build metadata.
pub(super) fn compare(left: &Version, right: &Version) -> Ordering {
    (left.major, left.minor, left.patch)
        .cmp(&(right.major, right.minor, right.patch))
        .then_with(|| compare_prerelease(left.pre.as_str(), right.pre.as_str()))
}

/// A version without a pre-release is greater than those with one; otherwise the first differing identifier decides, then the length.
fn compare_prerelease(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (Some(_), None) => return Ordering::Greater,
            (None, Some(_)) => return Ordering::Less,
            (Some(left), Some(right)) if left == right => {}
            (Some(left), Some(right)) => return compare_identifiers(left, right),
        }
    }
}

/// Numbers come before words. Numbers compare as JavaScript's doubles, even where doubles are no longer exact.
fn compare_identifiers(left: &str, right: &str) -> Ordering {
    match (as_number(left), as_number(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// The sort key of these digits as a JavaScript number: the magnitude (position of the highest bit), then the 53 leading bits, rounded half to
/// even as in doubles. `None` if it is not a number. Hand-written, because the standard library's parser adds 20 KB of tables to the Worker for
/// fractions and exponents, which never occur here.
fn as_number(identifier: &str) -> Option<(usize, u64)> {
    // The integer, lowest 32 bits first.
    let mut limbs: Vec<u32> = Vec::new();
    for byte in identifier.bytes() {
        let mut carry = char::from(byte).to_digit(10)?;
        for limb in &mut limbs {
            let product = u64::from(*limb) * 10 + u64::from(carry);
            let [low, high] = [product & u64::from(u32::MAX), product >> 32].map(|half| u32::try_from(half).unwrap_or_default());
            (*limb, carry) = (low, high);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let (mut magnitude, mut leading, mut is_half, mut is_more) = (0_usize, 0_u64, false, false);
    for bit in limbs.iter().rev().flat_map(|limb| (0..32).rev().map(move |place| limb >> place & 1 == 1)).skip_while(|bit| !bit) {
        match magnitude {
            0..53 => leading = leading << 1 | u64::from(bit),
            53 => is_half = bit,
            _ => is_more |= bit,
        }
        magnitude += 1;
    }
    // Left-aligned, so that numbers of the same magnitude compare correctly.
    leading <<= 53_usize.saturating_sub(magnitude);
    if is_half && (is_more || leading & 1 == 1) {
        leading += 1;
        if leading >> 53 == 1 {
            (magnitude, leading) = (magnitude + 1, leading >> 1);
        }
    }
    Some((magnitude, leading))
}

#[cfg(test)]
mod tests {
    use super::as_number;

    #[test]
    fn numbers_are_ordered_as_doubles_are() {
        let mut texts = vec!["0".to_owned(), "9007199254740991".to_owned(), "10000000000000000000000000000001".to_owned()];
        for shift in [1_u32, 31, 32, 33, 52, 53, 54, 55, 63, 64, 100, 126] {
            for near in -5_i128..=5 {
                texts.push(((1_i128 << shift) + near).unsigned_abs().to_string());
                texts.push(((3_i128 << (shift - 1)) + near).unsigned_abs().to_string());
            }
        }
        texts.extend([39, 40, 100, 255].map(|digits| "9".repeat(digits)));
        texts.extend([39, 40, 100, 255].map(|digits| format!("1{}", "0".repeat(digits - 1))));
        texts.push(format!("9007199254740993{}", "0".repeat(40)));
        texts.push(format!("9007199254740993{}1", "0".repeat(39)));
        for left in &texts {
            for right in &texts {
                let expected = left.parse::<f64>().unwrap().total_cmp(&right.parse().unwrap());
                assert_eq!(as_number(left).cmp(&as_number(right)), expected, "{left} {right}");
            }
        }
        assert_eq!((as_number("1a"), as_number("-1"), as_number("1.5"), as_number("1e5")), (None, None, None, None));
        assert_eq!(as_number("007"), as_number("7"));
    }
}
