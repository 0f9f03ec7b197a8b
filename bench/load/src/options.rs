//! Parses the options: a name and a number each.

use crate::Failure;

/// An option and the number to set, which must be above 0.
pub(crate) type Number<'n> = (&'static str, &'n mut u32);

/// Parses `--name NUMBER` pairs into the numbers with these names.
pub(crate) fn read(arguments: &[&str], known: &mut [Number<'_>]) -> Result<(), Failure> {
    let mut rest = arguments.iter();
    let names = known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    while let Some(name) = rest.next() {
        let Some((_, number)) = known.iter_mut().find(|(known, _)| known == name) else {
            return Err(format!("unknown option {name}; the options are {names}").into());
        };
        let value = rest.next().and_then(|value| value.parse().ok()).filter(|value| *value > 0);
        **number = value.ok_or_else(|| format!("{name} must be a number above 0"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn options_are_numbers_above_zero() {
        let (mut rounds, mut seconds) = (5, 4);
        let mut parse = |arguments: &[&str]| read(arguments, &mut [("--rounds", &mut rounds), ("--seconds", &mut seconds)]).is_ok();
        assert!(parse(&["--seconds", "2", "--rounds", "1"]));
        assert!(!parse(&["--seconds"]) && !parse(&["--rounds", "0"]) && !parse(&["--loud", "1"]));
        assert_eq!((rounds, seconds), (1, 2));
    }
}
