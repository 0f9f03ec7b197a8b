//! Scopes of API keys.

use shared::Invalid;
pub use shared::api::api_keys::Scope;

/// The scopes of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// Everything that the account may do: all credentials except API keys.
    Unlimited,
    /// An API key's scopes.
    Only(ScopeSet),
}

/// The scopes of an API key, as a set of bits with at least one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeSet(u8);

impl Scopes {
    /// Whether the credential has `scope`.
    pub fn has(self, scope: Scope) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Only(set) => set.has(scope),
        }
    }

    /// Whether `other` allows everything that this allows.
    pub fn is_within(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Unlimited) => true,
            (Self::Unlimited, Self::Only(_)) => false,
            (Self::Only(these), Self::Only(others)) => these.is_within(others),
        }
    }

    /// Whether the credential has any of these scopes. For an empty list, only an unlimited credential qualifies.
    pub fn has_any(self, scopes: &[Scope]) -> bool {
        self == Self::Unlimited || scopes.iter().any(|scope| self.has(*scope))
    }
}

fn bit(scope: Scope) -> u8 {
    match scope {
        Scope::Deploy => 1,
        Scope::Read => 2,
        Scope::Apps => 4,
    }
}

impl ScopeSet {
    /// A set of these scopes, in any order, with or without duplicates; at least one.
    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Result<Self, Invalid> {
        let bits = scopes.into_iter().fold(0, |bits, scope| bits | bit(scope));
        if bits == 0 { Err(Invalid::from(Scope::WRONG)) } else { Ok(Self(bits)) }
    }

    /// Parses the names of scopes.
    pub fn parse(names: &[&str]) -> Result<Self, Invalid> {
        Self::of(names.iter().map(|name| name.parse()).collect::<Result<Vec<_>, _>>()?)
    }

    /// Whether the set contains `scope`.
    pub fn has(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }

    /// Whether `other` contains all of them.
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// All of them, in a fixed order.
    pub fn list(self) -> Vec<Scope> {
        Scope::ALL.into_iter().filter(|scope| self.has(*scope)).collect()
    }

    /// Their names, in the same order.
    pub fn names(self) -> Vec<&'static str> {
        self.list().into_iter().map(Scope::as_str).collect()
    }
}
