//! Names of people and things on a tour.

/// The maximum length of a label of a hostname, in characters (RFC 1035, section 2.3.4).
const LABEL: usize = 63;

/// Names. Those of accounts are the part before `@example.com`.
#[derive(Clone, Debug)]
pub struct Words {
    /// The account of a user who has just signed up.
    pub(super) newcomer: String,
    /// The account of the user who has one of everything.
    pub(super) account: String,
    /// That user's name.
    pub(super) name: String,
    /// One of that user's access keys.
    pub(super) key: String,
    /// Another one.
    pub(super) other_key: String,
    /// One of that user's API keys.
    pub(super) api_key: String,
    /// That user's passkey.
    pub(super) passkey: String,
    /// That user's device.
    pub(super) device_name: String,
    /// A CLI's hostname.
    pub(super) hostname: String,
    /// An app.
    pub(super) app: String,
}

impl Words {
    /// Typical names.
    pub fn plain() -> Self {
        Self {
            newcomer: "bob".to_owned(),
            account: "ada".to_owned(),
            name: "Ada Lovelace".to_owned(),
            key: "Laptop".to_owned(),
            other_key: "build / server".to_owned(),
            api_key: "old pipeline".to_owned(),
            passkey: "Laptop".to_owned(),
            device_name: "Ada's laptop".to_owned(),
            hostname: "old laptop".to_owned(),
            app: "demo".to_owned(),
        }
    }

    /// Long names without a place to break.
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
            device_name: of("machine", LABEL),
            hostname: of("hostname", LABEL),
            app: of("Application", 255),
        }
    }
}
