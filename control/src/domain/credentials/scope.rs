//! What an API key may be used for (decisions section 4).

use shared::Invalid;
use utoipa::ToSchema;

use crate::http::extract::Member;

/// One thing that an API key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum Scope {
    /// Release.
    Deploy,
    /// Look.
    Read,
    /// Make and manage apps and deployments.
    Apps,
}

impl Scope {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Deploy, Self::Read, Self::Apps];

    /// The name in requests, in answers and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Read => "read",
            Self::Apps => "apps",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Deploy => 1,
            Self::Read => 2,
            Self::Apps => 4,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// What a credential may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// Whatever its account may do: every credential but API keys.
    Unlimited,
    /// Of an API key: these, a set of bits of which at least one is there.
    Only(ScopeSet),
}

/// The scopes of an API key: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeSet(u8);

impl Scopes {
    /// Whether the credential may be used for `scope`.
    pub fn has(self, scope: Scope) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Only(set) => set.has(scope),
        }
    }

    /// Whether whatever this allows is allowed by `other`, too.
    pub fn is_within(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Unlimited) => true,
            (Self::Unlimited, Self::Only(_)) => false,
            (Self::Only(these), Self::Only(others)) => these.is_within(others),
        }
    }

    /// Whether the credential may be used for something that any of these scopes allows; for an empty list, only one that is not limited.
    pub fn has_any(self, scopes: &[Scope]) -> bool {
        self == Self::Unlimited || scopes.iter().any(|scope| self.has(*scope))
    }
}

impl ScopeSet {
    /// The scopes of these names, in whatever order and however often.
    pub fn parse(names: &[&str]) -> Result<Self, Invalid> {
        let wrong = || Invalid::from("must be a list of one or more of deploy, read, apps");
        let mut set = Self(0);
        for name in names {
            set.0 |= Scope::parse(name).ok_or_else(wrong)?.bit();
        }
        if set.0 == 0 { Err(wrong()) } else { Ok(set) }
    }

    /// The scopes that a member lists.
    pub fn of(member: &Member) -> Result<Self, Invalid> {
        Self::parse(&member.texts()?)
    }

    /// Whether `scope` is one of them.
    pub fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether all of these are in `other`.
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Their names, in a fixed order.
    pub fn names(self) -> Vec<&'static str> {
        Scope::ALL.into_iter().filter(|scope| self.has(*scope)).map(Scope::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_a_set_of_known_names() {
        let set = ScopeSet::parse(&["apps", "deploy", "apps"]).unwrap();
        assert_eq!(set.names(), ["deploy", "apps"]);
        for wrong in [&[] as &[&str], &["admin"], &["read", ""], &["Read"]] {
            assert!(ScopeSet::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn narrower_is_within_wider() {
        let (read, both) = (ScopeSet::parse(&["read"]).unwrap(), ScopeSet::parse(&["read", "apps"]).unwrap());
        assert!(read.is_within(both) && read.is_within(read) && !both.is_within(read));
    }
}
