//! What an API key may be used for.

use shared::Invalid;
pub use shared::api::api_keys::Scope;

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

fn bit(scope: Scope) -> u8 {
    match scope {
        Scope::Deploy => 1,
        Scope::Read => 2,
        Scope::Apps => 4,
    }
}

impl ScopeSet {
    /// These scopes, in whatever order and however often; at least one.
    pub fn of(scopes: impl IntoIterator<Item = Scope>) -> Result<Self, Invalid> {
        let bits = scopes.into_iter().fold(0, |bits, scope| bits | bit(scope));
        if bits == 0 { Err(Invalid::from(Scope::WRONG)) } else { Ok(Self(bits)) }
    }

    /// The scopes of these names.
    pub fn parse(names: &[&str]) -> Result<Self, Invalid> {
        Self::of(names.iter().map(|name| name.parse()).collect::<Result<Vec<_>, _>>()?)
    }

    /// Whether `scope` is one of them.
    pub fn has(self, scope: Scope) -> bool {
        self.0 & bit(scope) != 0
    }

    /// Whether all of these are in `other`.
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
