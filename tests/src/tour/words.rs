//! What people on a tour are called, and what they call their things.

/// The longest part of a host's name, in characters (RFC 1035, section 2.3.4).
const LABEL: usize = 63;

/// Names. Those of accounts are what stands before `@example.com`.
#[derive(Clone, Debug)]
pub struct Words {
    /// The account of whoever has just signed up.
    pub(super) newcomer: String,
    /// The account of whoever has everything.
    pub(super) account: String,
    /// Their name.
    pub(super) name: String,
    /// One of their access keys.
    pub(super) key: String,
    /// Another.
    pub(super) other_key: String,
    /// One of their API keys.
    pub(super) api_key: String,
    /// Their passkey.
    pub(super) passkey: String,
    /// Their machine.
    pub(super) machine: String,
    /// What a command line says of its machine.
    pub(super) hostname: String,
    /// An app.
    pub(super) app: String,
}

impl Words {
    /// As most people call things.
    pub fn plain() -> Self {
        Self {
            newcomer: "bob".to_owned(),
            account: "ada".to_owned(),
            name: "Ada Lovelace".to_owned(),
            key: "Laptop".to_owned(),
            other_key: "build / server".to_owned(),
            api_key: "old pipeline".to_owned(),
            passkey: "Laptop".to_owned(),
            machine: "Ada's laptop".to_owned(),
            hostname: "old laptop".to_owned(),
            app: "demo".to_owned(),
        }
    }

    /// Long ones that are broken nowhere.
    pub fn long() -> Self {
        let of = |letters: &str, length: usize| letters.chars().cycle().take(length).collect::<String>();
        Self {
            newcomer: "firstname.lastname.engineering.department.europe.headquarters".to_owned(),
            account: "another.firstname.lastname.engineering.department.europe.main".to_owned(),
            name: of("Adalovelace", 120),
            key: of("Accesskey", 110),
            other_key: of("m", 110),
            api_key: of("Pipeline", 110),
            passkey: of("Passkey", 100),
            machine: of("machine", LABEL),
            hostname: of("hostname", LABEL),
            app: of("Application", 255),
        }
    }
}
