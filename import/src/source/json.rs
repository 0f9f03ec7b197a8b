//! Members of the other server's answers, read as they come. Nothing nested is kept and lists end somewhere, so an answer takes about as much memory as
//! it has bytes, whatever is in it: what its entries take beyond that counts, too.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The most entries of one list or map. More than any server of the family sends, and than can be imported.
pub(super) const MOST_ENTRIES: usize = 20_000;

/// A member of any kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Member {
    /// It is not there, or null.
    #[default]
    Missing,
    /// `true` or `false`.
    Bool(bool),
    /// A number. Those of the family are far below 2^53.
    Number(f64),
    /// A text.
    Text(String),
    /// A list or an object. What is in it is not kept.
    Nested,
}

impl Member {
    /// Whether it is there.
    pub(super) fn is_there(&self) -> bool {
        *self != Self::Missing
    }

    /// The text, if it is one.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number, also as a text or with a fraction of zero, as JavaScript servers send it.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
            Self::Number(number) => (number.fract() == 0.0 && number.abs() < 9e15).then_some(*number as i64),
            Self::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The number without its fraction, bounded.
    pub(super) fn rounded(&self) -> Option<i64> {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "bounded first")]
            Self::Number(number) => Some(number.clamp(-9e15, 9e15) as i64),
            other => other.whole(),
        }
    }
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MemberVisitor)
    }
}

struct MemberVisitor;

impl<'de> Visitor<'de> for MemberVisitor {
    type Value = Member;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Member, E> {
        Ok(Member::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers above 2^53 are out of every range")]
    fn visit_i64<E>(self, value: i64) -> Result<Member, E> {
        Ok(Member::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers above 2^53 are out of every range")]
    fn visit_u64<E>(self, value: u64) -> Result<Member, E> {
        Ok(Member::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Member, E> {
        Ok(Member::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Member, E> {
        Ok(Member::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Member, E> {
        Ok(Member::Text(value))
    }

    fn visit_unit<E>(self) -> Result<Member, E> {
        Ok(Member::Missing)
    }

    fn visit_none<E>(self) -> Result<Member, E> {
        Ok(Member::Missing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Member, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Member::Nested)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Member, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Member::Nested)
    }
}

/// A list or a map with at most [`MOST_ENTRIES`] entries. The rest is not kept.
#[derive(Clone, Debug)]
pub(super) struct Bounded<T> {
    /// The entries.
    pub entries: T,
    /// Whether there were more.
    pub is_cut: bool,
}

/// An answer that was read.
pub(super) trait Weighed {
    /// What its entries take in memory, apart from their texts: one of three bytes takes hundreds.
    fn bytes(&self) -> usize;
}

impl<T> Weighed for Bounded<Vec<T>> {
    fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<T>()
    }
}

impl<T> Weighed for Bounded<BTreeMap<String, T>> {
    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<(String, T)>()
    }
}

impl Weighed for Names {
    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<String>()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<Vec<T>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BoundedVisitor::<Vec<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<BTreeMap<String, T>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BoundedVisitor::<BTreeMap<String, T>>(PhantomData))
    }
}

struct BoundedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedVisitor<Vec<T>> {
    type Value = Bounded<Vec<T>>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < MOST_ENTRIES {
            let Some(entry) = list.next_element()? else { return Ok(Bounded { entries, is_cut: false }) };
            entries.push(entry);
        }
        let mut is_cut = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            is_cut = true;
        }
        Ok(Bounded { entries, is_cut })
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedVisitor<BTreeMap<String, T>> {
    type Value = Bounded<BTreeMap<String, T>>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while entries.len() < MOST_ENTRIES {
            let Some((name, entry)) = map.next_entry()? else { return Ok(Bounded { entries, is_cut: false }) };
            entries.insert(name, entry);
        }
        let mut is_cut = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            is_cut = true;
        }
        Ok(Bounded { entries, is_cut })
    }
}

/// The names of an object's members, at most [`MOST_ENTRIES`]. Anything else has none.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_str<E>(self, _value: &str) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_unit<E>(self) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Names::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while names.len() < MOST_ENTRIES {
            let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? else { return Ok(Names(names)) };
            names.push(name);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Names(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_without_what_is_in_them() {
        let members: Vec<Member> = serde_json::from_str(r#"[true, 25, 25.0, 0.9, -5, "25", "25%", null, {"a": [1]}, [{}]]"#).unwrap();
        let whole: Vec<_> = members.iter().map(Member::whole).collect();
        assert_eq!(whole, [None, Some(25), Some(25), None, Some(-5), Some(25), None, None, None, None]);
        assert_eq!(members[0], Member::Bool(true));
        assert_eq!(members[7..], [Member::Missing, Member::Nested, Member::Nested]);
    }

    #[test]
    fn lists_and_maps_end_somewhere() {
        let list: Bounded<Vec<Member>> = serde_json::from_str(&format!("[{}1]", "{},".repeat(MOST_ENTRIES))).unwrap();
        assert!(list.is_cut && list.entries.len() == MOST_ENTRIES);
        let list: Bounded<Vec<Member>> = serde_json::from_str(&format!("[{}1]", "{},".repeat(MOST_ENTRIES - 1))).unwrap();
        assert!(!list.is_cut && list.entries.len() == MOST_ENTRIES);
        let members: Vec<_> = (0..=MOST_ENTRIES).map(|number| format!("\"{number}\":1")).collect();
        let map: Bounded<BTreeMap<String, Member>> = serde_json::from_str(&format!("{{{}}}", members.join(","))).unwrap();
        assert!(map.is_cut && map.entries.len() == MOST_ENTRIES);
    }
}
