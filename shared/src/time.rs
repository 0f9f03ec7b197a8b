//! Times in milliseconds since 1970, days and durations. No clock here.

use std::fmt;

use crate::Invalid;
use serde::{Deserialize, Serialize};

const DAY: i64 = 86_400_000;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// The number of milliseconds since 1970; negative before that.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time `millis` later (earlier if negative), saturating at the 64-bit limits.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// RFC 3339 in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.
    pub fn iso8601(self) -> String {
        let millis = self.0.rem_euclid(DAY);
        let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1_000 % 60);
        format!("{}T{hour:02}:{minute:02}:{second:02}.{:03}Z", self.utc_date(), millis % 1_000)
    }

    /// The beginning of its minute.
    #[must_use]
    pub const fn minute(self) -> Self {
        Self(self.0 - self.0.rem_euclid(60_000))
    }

    /// The UTC calendar day: `2026-01-31`.
    pub fn utc_date(self) -> String {
        self.utc_day().to_string()
    }

    /// The UTC calendar day.
    pub const fn utc_day(self) -> UtcDay {
        UtcDay(self.0.div_euclid(DAY))
    }
}

/// A UTC calendar day, as the number of days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
#[cfg_attr(feature = "sqlx", sqlx(transparent))]
pub struct UtcDay(pub i64);

impl UtcDay {
    /// Year, month from 1, and day from 1.
    pub fn civil(self) -> (i64, i64, i64) {
        civil(self.0)
    }

    /// The last millisecond of the day, saturating at the 64-bit limits.
    pub const fn end(self) -> UnixMillis {
        UnixMillis(self.0.saturating_add(1).saturating_mul(DAY).saturating_sub(1))
    }

    /// The day `days` later (earlier if negative), saturating at the 64-bit limits.
    #[must_use]
    pub const fn plus_days(self, days: i64) -> Self {
        Self(self.0.saturating_add(days))
    }
}

/// `2026-01-31`.
impl fmt::Display for UtcDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0);
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

/// Accepts exactly `2026-01-31`: four, two and two digits, and a day that exists.
impl TryFrom<&str> for UtcDay {
    type Error = Invalid;

    fn try_from(text: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("must be a date such as 2026-01-31");
        let number = |range: std::ops::Range<usize>| text.get(range).and_then(|digits| digits.parse::<u16>().ok()).map(i64::from);
        let (year, month, day) = (number(0..4).ok_or_else(wrong)?, number(5..7).ok_or_else(wrong)?, number(8..10).ok_or_else(wrong)?);
        let parsed = Self(days_of(year, month, day));
        // A day that does not exist has become another date, and a sign or another separator formats differently.
        if parsed.to_string() == text { Ok(parsed) } else { Err(wrong()) }
    }
}

/// Year, month and day of the proleptic Gregorian calendar, `days` days after 1970-01-01.
///
/// Counts years from March 1, so that the leap day is the last day of its year and the calendar repeats every 400 years (146,097 days).
fn civil(days: i64) -> (i64, i64, i64) {
    // There are 719,468 days from 0000-03-01 to 1970-01-01.
    let shifted = days.saturating_add(719_468);
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, months have 31 30 31 30 31 days, repeated: 153 days in five months.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`civil`]. A month or day that does not exist results in another date.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year_from_march = year - i64::from(month <= 2);
    let (era, year_of_era) = (year_from_march.div_euclid(400), year_from_march.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Parses `60d`, `12h`, `15m`, `30s` or `500ms` to milliseconds: a whole number above 0 and a unit.
pub fn parse_duration(text: &str) -> Result<i64, Invalid> {
    let wrong = || Invalid::from("must be a duration such as 60d, 12h, 15m, 30s or 500ms");
    let digits = text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let millis = number.parse::<i64>().ok().and_then(|number| number.checked_mul(unit));
    millis.filter(|millis| *millis > 0).ok_or_else(wrong)
}
