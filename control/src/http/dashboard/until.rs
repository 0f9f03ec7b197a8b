//! A key's expiry date in forms: the key expires at the end of that day in UTC.

use shared::Invalid;
use shared::time::{UnixMillis, UtcDay};

use super::form::{Field, Form};
use crate::domain::error::{Error, Result};

/// The form field for the date.
pub(super) fn field(name: &'static str, value: &str) -> Field {
    Field { kind: "date", hint: "The end of this day in UTC.", ..Field::text(name, "Expiration date").value(value) }
}

/// The day of a time in the format of the field: `2026-12-03`.
pub(super) fn shown(time: UnixMillis) -> String {
    time.utc_date()
}

/// The end of the day in a field.
pub(super) fn end_of(day: &str) -> Result<UnixMillis, Invalid> {
    UtcDay::try_from(day).map(UtcDay::end).map_err(|_| Invalid::from("must be a date such as 2026-12-03"))
}

/// Shows what was wrong; a date in the past in words of the page.
pub(super) fn refuse(form: Form, error: Error, (name, day): (&str, &str), now: UnixMillis) -> Result<Form> {
    let is_past = end_of(day).is_ok_and(|end| end <= now);
    let form = form.refuse(error)?;
    Ok(if is_past { form.in_words(name, "Choose a date in the future.") } else { form })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_just_before_the_next() {
        assert_eq!(end_of("2026-12-03").unwrap().iso8601(), "2026-12-03T23:59:59.999Z");
        assert_eq!(end_of("9999-12-31").unwrap().0, 253_402_300_799_999);
        assert_eq!(shown(end_of("2028-02-29").unwrap()), "2028-02-29");
        for wrong in ["", "x", "2026-12", "2026-12-03-04", "2026-02-29", "2026-13-01", "12026-01-01", "-1-01-01", "2026-12-03T10:00"] {
            assert!(end_of(wrong).is_err(), "{wrong}");
        }
    }
}
