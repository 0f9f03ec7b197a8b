//! Numbers as people read them, the same on pages and in the CLI.

/// A number with thousands separators: `1,234,567`.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size for people, in units of 1,000 as download sizes are shown elsewhere: `999 bytes`, `1.5 MB`. Rounded down: a limit that is nearly reached is not
/// shown as reached.
pub fn size(bytes: i64) -> String {
    const UNITS: [(&str, i64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let Some((unit, one)) = UNITS.into_iter().find(|(_, one)| bytes >= *one) else {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    };
    format!("{}.{} {unit}", grouped(bytes / one), bytes % one / (one / 10))
}

/// `part` of `whole` in percent: `12%`, `0.3%`; `None` if there is no whole. Few is never shown as none, nor nearly all as all.
pub fn share(part: i64, whole: i64) -> Option<String> {
    if whole <= 0 {
        return None;
    }
    // Tenths of a percent, rounded.
    let tenths = (i128::from(part) * 2_000 + i128::from(whole)) / (2 * i128::from(whole));
    Some(match tenths {
        0 if part > 0 => "<0.1%".to_owned(),
        1_000.. if part < whole => ">99.9%".to_owned(),
        tenths if tenths % 10 == 0 => format!("{}%", tenths / 10),
        tenths => format!("{}.{}%", tenths / 10, tenths % 10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_sizes_rounded_down() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_234_567, "-1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (2_550_000_000, "2.5 GB"),
            (i64::MAX, "9,223,372,036.8 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn shares_are_never_rounded_to_none_or_all() {
        for (part, whole, text) in [
            (0, 0, None),
            (0, 10, Some("0%")),
            (1, 3, Some("33.3%")),
            (1, 8, Some("12.5%")),
            (1, 2, Some("50%")),
            (10, 10, Some("100%")),
            (1, 100_000, Some("<0.1%")),
            (99_999, 100_000, Some(">99.9%")),
            (i64::MAX, i64::MAX, Some("100%")),
        ] {
            assert_eq!(share(part, whole).as_deref(), text, "{part} of {whole}");
        }
    }
}
