//! A single condition on a version. Ranges consist of them.

use super::order::compare;
use semver::Version;
use std::cmp::Ordering;
use std::fmt;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// Splits off the leading operator. No operator means equality.
    pub(super) fn split(text: &str) -> (Self, &str) {
        let (operator, rest) = match text.as_bytes() {
            [b'<', b'=', ..] => (Self::LessOrEqual, 2),
            [b'>', b'=', ..] => (Self::GreaterOrEqual, 2),
            [b'<', ..] => (Self::Less, 1),
            [b'>', ..] => (Self::Greater, 1),
            [b'=', ..] => (Self::Equal, 1),
            _ => (Self::Equal, 0),
        };
        (operator, text.get(rest..).unwrap_or_default())
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Equal => "",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// A condition: an operator and the version to compare with.
#[derive(Debug, Clone)]
pub(super) struct Comparator {
    pub(super) operator: Operator,
    pub(super) version: Version,
}

impl Comparator {
    /// A condition on a version without a pre-release.
    pub(super) fn new(operator: Operator, major: u64, minor: u64, patch: u64) -> Self {
        Self { operator, version: Version::new(major, minor, patch) }
    }

    pub(super) fn test(&self, version: &Version) -> bool {
        let order = compare(version, &self.version);
        match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
        }
    }

    /// Whether both have the same text, ignoring build metadata.
    pub(super) fn same(&self, other: &Self) -> bool {
        let parts = |version: &Version| (version.major, version.minor, version.patch);
        self.operator == other.operator && parts(&self.version) == parts(&other.version) && self.version.pre == other.version.pre
    }

    /// Whether this is `<0.0.0-0`, which node writes for a condition that no version meets.
    pub(super) fn is_impossible(&self) -> bool {
        let Version { major, minor, patch, pre, .. } = &self.version;
        self.operator == Operator::Less && (major, minor, patch) == (&0, &0, &0) && pre.as_str() == "0"
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version { major, minor, patch, pre, .. } = &self.version;
        write!(formatter, "{}{major}.{minor}.{patch}", self.operator.text())?;
        if pre.is_empty() { Ok(()) } else { write!(formatter, "-{pre}") }
    }
}
