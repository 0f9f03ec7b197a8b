//! What differs between a binary and the project.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Fingerprint;

/// How something differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    /// The binary lacks it.
    Added,
    /// The binary has another version.
    Changed,
    /// Only the binary has it.
    Removed,
}

impl Change {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    /// How it differs.
    pub(crate) change: Change,
    /// The package, or `JavaScript engine`.
    pub(crate) name: String,
    /// The version in the binary, if it has one.
    pub(crate) built_with: Option<String>,
    /// The version in the project, if it has one.
    pub(crate) now: Option<String>,
}

/// What differs: React Native and the engine first, then packages by name.
pub(crate) fn differences(built: &Fingerprint, now: &Fingerprint) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut compare = |name: &str, built_with: Option<&str>, now: Option<&str>| {
        let change = match (built_with, now) {
            (built_with, now) if built_with == now => return,
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            _ => Change::Changed,
        };
        all.push(Difference { change, name: name.to_owned(), built_with: built_with.map(str::to_owned), now: now.map(str::to_owned) });
    };
    compare("react-native", Some(&built.react_native), Some(&now.react_native));
    compare("JavaScript engine", Some(built.engine.name()), Some(now.engine.name()));
    let names: BTreeSet<&String> = built.modules.keys().chain(now.modules.keys()).collect();
    for name in names {
        compare(name, built.modules.get(name).map(String::as_str), now.modules.get(name).map(String::as_str));
    }
    all
}

/// How many differences a text names.
const MAX_NAMED: usize = 10;

/// The differences as the end of "was built …"; `None` if there are none.
pub(crate) fn summary(differences: &[Difference]) -> Option<String> {
    let of = |change: Change| differences.iter().filter(move |difference| difference.change == change);
    // What an update can crash for comes first.
    let named: Vec<&Difference> = of(Change::Changed).chain(of(Change::Added)).chain(of(Change::Removed)).take(MAX_NAMED).collect();
    let texts = |change: Change, separator: &str, text: fn(&Difference) -> String| {
        let texts: Vec<String> = named.iter().filter(|difference| difference.change == change).map(|difference| text(difference)).collect();
        (!texts.is_empty()).then(|| texts.join(separator))
    };
    let changed = texts(Change::Changed, "; ", |difference| {
        format!("{}, now {}", built_with(difference), difference.now.as_deref().unwrap_or_default())
    });
    let added = texts(Change::Added, ", ", |difference| difference.name.clone());
    let removed = texts(Change::Removed, ", ", built_with);
    let rest = differences.len().saturating_sub(MAX_NAMED);
    let parts = [
        changed.map(|changed| format!("with {changed}")),
        added.map(|added| format!("without {added}")),
        removed.map(|removed| format!("with {removed}, which the project no longer has")),
        (rest > 0).then(|| format!("and {rest} more")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn built_with(difference: &Difference) -> String {
    format!("{} {}", difference.name, difference.built_with.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Engine;
    use super::*;

    fn fingerprint(react_native: &str, engine: Engine, modules: &[(&str, &str)]) -> Fingerprint {
        let modules = modules.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect::<BTreeMap<_, _>>();
        Fingerprint { engine, modules, react_native: react_native.to_owned() }
    }

    fn described(built: &Fingerprint, now: &Fingerprint) -> Option<String> {
        summary(&differences(built, now))
    }

    #[test]
    fn what_differs_is_named() {
        let built = fingerprint("0.87.1", Engine::Jsc, &[("a", "1.0.0"), ("b", "1.0.0"), ("c", "1.0.0")]);
        let now = fingerprint("0.88.0", Engine::Hermes, &[("b", "1.0.1"), ("c", "1.0.0"), ("d", "2.0.0")]);
        assert_eq!(described(&built, &built), None);
        assert_eq!(
            described(&built, &now).as_deref(),
            Some(
                "with react-native 0.87.1, now 0.88.0; JavaScript engine jsc, now hermes; b 1.0.0, now 1.0.1; without d; \
                 with a 1.0.0, which the project no longer has"
            )
        );
        let changes: Vec<_> = differences(&built, &now).into_iter().map(|difference| (difference.change, difference.name)).collect();
        let expected = [
            (Change::Changed, "react-native"),
            (Change::Changed, "JavaScript engine"),
            (Change::Removed, "a"),
            (Change::Changed, "b"),
            (Change::Added, "d"),
        ];
        assert_eq!(changes, expected.map(|(change, name)| (change, name.to_owned())));
    }

    #[test]
    fn many_differences_are_counted() {
        let names: Vec<String> = (10..30).map(|number| format!("m{number}")).collect();
        let modules: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1.0.0")).collect();
        let (without, with) = (fingerprint("1", Engine::Hermes, &[]), fingerprint("1", Engine::Hermes, &modules));
        let text = described(&without, &with).unwrap();
        assert_eq!(text, "without m10, m11, m12, m13, m14, m15, m16, m17, m18, m19; and 10 more");
        let text = described(&without, &fingerprint("2", Engine::Hermes, &modules[..9])).unwrap();
        assert!(text.starts_with("with react-native 1, now 2; without m10, ") && text.ends_with(", m18"), "{text}");
    }
}
