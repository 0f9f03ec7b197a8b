//! Permissions on an app in the words of pages: the table of roles, and refusals.

use super::view::sentence;
use crate::domain::access::Role;
use crate::domain::access::grant::PERMISSIONS;
use crate::domain::error::Refusal;

/// The permissions that pages name, in the order of the table. `app.read` goes with `metrics.read`.
const WORDS: &[(&str, &str)] = &[
    ("metrics.read", "See releases and metrics"),
    ("deploymentKeys.read", "See deployment keys"),
    ("releases.manage", "Release, promote and roll back"),
    ("deployments.manage", "Manage deployments"),
    ("apps.manage", "Rename the app and see activity"),
    ("collaborators.manage", "Manage collaborators"),
    ("apps.own", "Transfer or delete the app"),
];

/// What a permission allows, and whether each role has it.
pub struct Row {
    /// What it allows.
    pub text: &'static str,
    /// Whether the owner, an Admin, a Developer and a Viewer have it.
    pub roles: [(&'static str, bool); 4],
}

/// The table of roles.
pub fn table() -> Vec<Row> {
    let row = |(name, text): &(&str, &'static str)| {
        let (_, holders, _) = PERMISSIONS.iter().find(|(known, ..)| known == name)?;
        let roles = [Role::Owner, Role::Admin, Role::Developer, Role::Viewer].map(|role| (role.as_str(), holders.contains(&role)));
        Some(Row { text, roles })
    };
    WORDS.iter().filter_map(row).collect()
}

/// A refusal as a sentence, with the permission as the table calls it.
pub fn refused(refusal: &Refusal) -> String {
    let words = match refusal {
        Refusal::Permission(name) => WORDS.iter().find(|(known, _)| known == name).map(|(_, text)| *text),
        _ => None,
    };
    match words {
        Some(text) => {
            format!("Your role on this app does not include this permission: {text}. The owner or an Admin can give you another role.")
        }
        None => sentence(&refusal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_that_a_role_lacks_is_in_the_table() {
        for (name, holders, _) in PERMISSIONS {
            let text = refused(&Refusal::Permission(name));
            assert_eq!(text.contains("does not include this permission:"), holders.len() < 4 || *name == "metrics.read", "{text}");
        }
        assert_eq!(table().len(), WORDS.len());
    }
}
