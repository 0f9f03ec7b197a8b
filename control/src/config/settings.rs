//! The list of settings, as `--help` prints it, and how one is read.

use super::error::ConfigError;
use crate::infra::loopback::is_loopback_address;

/// What every setting's name begins with.
const PREFIX: &str = "UPDRAFT_";

/// Names that the repository's own commands read, which run this program.
const OF_TOOLS: [&str; 3] = ["CACHE", "CONTROL", "REQUIRE_POSTGRES"];

/// Where values come from: the process's environment, or a map in tests.
pub trait Given {
    /// The value of the variable with this full name.
    fn get(&self, name: &str) -> Option<String>;
}

/// The process's environment.
#[derive(Debug)]
pub struct Environment;

impl Environment {
    /// Refuses values that are no text; taken for absent ones, they would quietly become defaults.
    pub fn check(&self) -> Result<(), ConfigError> {
        for setting in ALL {
            if let Err(std::env::VarError::NotUnicode(_)) = std::env::var(format!("UPDRAFT_{}", setting.name)) {
                return Err(ConfigError::setting(setting.name, "must be UTF-8 text"));
            }
        }
        Ok(())
    }

    /// Logs names that no setting has: a limit that is spelled wrong would quietly not be one.
    pub fn warn_of_unknown_names(&self) {
        for (name, nearest) in unknown_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
            tracing::warn!("{name} is no setting of this version; did you mean {nearest}?");
        }
    }
}

/// Names that begin as settings do and are none, each with the setting that is most like it.
pub fn unknown_names(given: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let unknown = given.filter(|name| {
        name.strip_prefix(PREFIX).is_some_and(|name| ALL.iter().all(|setting| setting.name != name) && !OF_TOOLS.contains(&name))
    });
    let nearest = |name: &str| {
        let name = name.trim_start_matches(PREFIX);
        let nearest = ALL.iter().min_by_key(|setting| distance(name, setting.name));
        nearest.map(|setting| format!("{PREFIX}{}", setting.name)).unwrap_or_default()
    };
    let mut found: Vec<(String, String)> = unknown.map(|name| (name.escape_debug().to_string(), nearest(&name))).collect();
    found.sort();
    found
}

/// How many letters must be put in, taken out or replaced to make one word of the other (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (number, letter) in left.bytes().enumerate() {
        let mut before = number;
        let mut last = number + 1;
        for (slot, other) in row.iter_mut().skip(1).zip(right.bytes()) {
            let replaced = before + usize::from(letter != other);
            before = *slot;
            last = replaced.min(before + 1).min(last + 1);
            *slot = last;
        }
        if let Some(first) = row.first_mut() {
            *first = number + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

impl Given for Environment {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

impl Given for std::collections::BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<String> {
        std::collections::BTreeMap::get(self, name).cloned()
    }
}

/// One setting: its name without the prefix, its default, what it is.
#[derive(Debug)]
pub struct Setting {
    /// The name without `UPDRAFT_`.
    pub name: &'static str,
    /// The default; empty when there is none.
    pub default: &'static str,
    /// What it is.
    pub help: &'static str,
}

macro_rules! settings {
    ($(($name:literal, $default:literal, $help:literal)),* $(,)?) => {
        /// Every setting, in the order in which `--help` lists them.
        pub const ALL: &[Setting] = &[$(Setting { name: $name, default: $default, help: $help }),*];
    };
}

settings![
    (
        "BASE_URL",
        "http://localhost:8080",
        "the address under which clients reach the service, without a path; the edge's when there is one"
    ),
    ("DASHBOARD_URL", "", "the address of the dashboard's pages, to which mails lead; the base address and /dashboard when not set"),
    ("UPLOAD_URL", "", "where uploads go directly, past the edge's body limit; the base address when not set"),
    ("LISTEN", "127.0.0.1:8080", "where the server listens"),
    ("BINDINGS_LISTEN", "", "where a self-hosted edge on this machine finds snapshots and leaves reports: a loopback address and a port"),
    ("HTTP2", "off", "on: HTTP/2 is spoken with those who begin with it, such as a proxy that does; off: HTTP/1.1 alone"),
    ("MAX_CONNECTIONS", "8192", "connections at once; beyond it the longest idle one is closed for a new one, or the new one refused"),
    ("REGISTRATION", "open", "open: strangers may register; closed: accounts are made by this program's command alone"),
    ("DATA_DIR", "./data", "the data folder: database, bundles, generated secrets"),
    (
        "DATABASE_URL",
        "",
        "sqlite:… or postgres://…, with TLS to another machine unless it says sslmode=…; a SQLite file in the data folder when not set"
    ),
    ("STORAGE", "file", "where bundles are kept: file (in the data folder)"),
    ("TRUSTED_PROXIES", "", "addresses or networks, comma-separated, whose X-Forwarded-For is believed"),
    ("EDGE_SECRET", "", "signs what edge and control say to each other; several, comma-separated: the first signs, all verify"),
    ("DOWNLOAD_SECRET", "", "signs bundle URLs; several, comma-separated: the first signs, all verify"),
    (
        "ENCRYPTION_KEY",
        "",
        "encrypts authenticator seeds and waiting mails at rest: a key id, a colon, 32 bytes in base64; several, comma-separated: the first encrypts, all decrypt"
    ),
    ("KV_API", "", "Workers KV's REST address up to and without /storage/kv; snapshots are pushed there"),
    ("KV_ACCOUNT", "", "the Cloudflare account's id, when KV_API ends with /accounts"),
    ("KV_NAMESPACE", "", "the KV namespace's id"),
    ("KV_TOKEN", "", "an API token that may edit Workers KV"),
    ("SMTP_URL", "", "the mail server, smtp://user:password@host:port or smtps://…; mails become files in the data folder when not set"),
    ("MAIL_FROM", "", "whom mails are from; Updraft <no-reply@…> at the base address's host when not set"),
    ("TURNSTILE_SECRET", "", "the secret of the human-verification challenge, which is on when this and the site key are set"),
    ("TURNSTILE_SITE_KEY", "", "the challenge's public key, for pages"),
    ("TURNSTILE_URL", "https://challenges.cloudflare.com/turnstile/v0/siteverify", "where the challenge's tokens are verified"),
    ("TURNSTILE_SCRIPT", "https://challenges.cloudflare.com/turnstile/v0/api.js", "the script that shows the challenge on pages"),
    ("LOG", "info", "what is logged: a level, or a filter such as control=debug"),
    ("LOG_FORMAT", "text", "text or json"),
    ("LIMIT_MAX_API_KEYS", "25", "API keys per account, for accounts made from now on"),
    ("LIMIT_RETENTION_DAYS", "90", "days of daily history, for accounts made from now on"),
    ("LIMIT_MAX_UPLOAD_BYTES", "200MiB", "the largest bundle, for accounts made from now on"),
    ("LIMIT_APPS", "200", "apps per account"),
    ("LIMIT_DEPLOYMENTS", "50", "deployments per app"),
    ("LIMIT_ACCESS_KEYS", "200", "named access keys per account"),
    ("LIMIT_COLLABORATORS_PER_APP", "200", "collaborators per app, its owner included"),
    ("LIMIT_STORED_BYTES", "50GiB", "what the bundles of an account's apps may take together, those of deleted apps included"),
    ("LIMIT_SESSION", "14d", "how long a dashboard session lasts"),
    ("LIMIT_SESSION_IDLE", "3d", "how long a dashboard session lasts that nobody uses"),
    ("LIMIT_CLI_CREDENTIAL", "90d", "how long a command line's credential lasts"),
    (
        "LIMIT_FRESHNESS",
        "15m",
        "how long after a login or re-authentication a dashboard session may create keys and give other lasting access without a new proof"
    ),
    (
        "LIMIT_LOGIN_ADDRESS",
        "5/15m",
        "failed logins per client address; in this and every limit by address IPv6 counts by /64, and by /48 at ten times the number"
    ),
    ("LIMIT_LOGIN_CHALLENGE", "3/15m", "failed logins of one e-mail address before a challenge token is needed, where one is configured"),
    (
        "LIMIT_LOGIN_STOP",
        "10/1h",
        "failed logins of one e-mail address before it takes no more for that long, where no challenge is configured"
    ),
    ("LIMIT_REGISTER", "10/1h", "registrations per client address"),
    ("LIMIT_MAIL_REQUESTS", "5/1h", "requests for verification and reset mails per client address"),
    (
        "LIMIT_REGISTRATION_MAILS",
        "3/1h",
        "mails about registrations per e-mail address and requesting network (IPv4 /24, IPv6 /48); beyond it nothing is sent"
    ),
    ("LIMIT_ALL_REGISTRATION_MAILS", "10/1h", "mails about registrations per e-mail address from all networks together"),
    ("LIMIT_RESET_MAILS", "3/1h", "password resets per e-mail address; beyond it nothing is sent"),
    ("LIMIT_MFA_ATTEMPTS", "10/15m", "failed proofs of a second factor per account: logins, step-ups, confirmations, recovery codes"),
    ("LIMIT_POSTS", "60/10m", "other requests without a credential, and new passwords that are judged, by client address"),
    ("LIMIT_VERIFY_TOKEN", "24h", "how long the link of a verification mail works"),
    ("LIMIT_RESET_TOKEN", "1h", "how long the link of a reset mail works"),
    ("LIMIT_CLI_STARTS", "20/10m", "requests of command lines to be let in, by browser and by device together, per client address"),
    ("LIMIT_CLI_TOKEN", "1000/10m", "exchanges of command lines per client address; polls that keep their interval do not count"),
    ("LIMIT_CLI_RESOLVES", "10/15m", "wrong user codes per account"),
    ("LIMIT_CLI_REQUEST", "10m", "how long a command line's request can be approved"),
    ("LIMIT_CLI_CODE", "1m", "how long the authorization code of an approved request can be exchanged"),
    ("LIMIT_CLI_FRESHNESS", "15m", "how old a login may be that lets a command line in, where the account has a second factor"),
    ("LIMIT_ZIP_ENTRIES", "20000", "entries of an archive"),
    ("LIMIT_ZIP_TOTAL", "1GiB", "uncompressed bytes of an archive"),
    ("LIMIT_ZIP_RATIO", "200", "how many times larger than itself an archive may unpack to"),
    ("LIMIT_REPORTS", "600/1m", "reports per client address and deployment, counted by each process"),
    ("LIMIT_MANAGEMENT_API", "1200/1m", "requests per credential, counted by each process"),
    ("LIMIT_REPORTS_ADDRESS", "6000/1m", "reports per client address in all, counted by each process"),
    ("LIMIT_ACCOUNT_MANAGEMENT_API", "3600/1m", "requests per account with all its credentials, counted by each process"),
    ("LIMIT_UPLOADS", "60/15m", "uploads per credential, counted by each process"),
    ("LIMIT_ACCOUNT_UPLOADS", "120/15m", "uploads per account with all its credentials, counted by each process"),
    ("LIMIT_UPLOADS_AT_ONCE", "10", "uploads of one account under way at once, counted by each process"),
    ("LIMIT_COLLABORATORS", "30/1h", "collaborators added and apps transferred, done or refused, per account"),
    (
        "LIMIT_SNAPSHOT_BYTES",
        "2MiB",
        "what devices may be told of one deployment: ranges of versions, releases, descriptions; what would be more is refused. At most 24MiB"
    ),
    (
        "LIMIT_CONNECTIONS_ADDRESS",
        "256",
        "connections at once per client address; not counted for this machine, trusted proxies, and edges that signed something in the last 10 minutes"
    ),
    ("LIMIT_REQUEST_HEAD", "10s", "how long a client may take for a request's head"),
    ("LIMIT_CONNECTION_IDLE", "60s", "how long a connection may be without a request, or take nothing of an answer"),
    ("LIMIT_BODY_PAUSE", "30s", "how long nothing of a request's body may come"),
    ("LIMIT_BINARY_VERSIONS", "200", "binary versions counted per deployment; the rest are counted under \"other\""),
];

/// Reads settings by their names without the prefix.
#[derive(Clone, Copy)]
pub struct Settings<'a>(pub &'a dyn Given);

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Settings")
    }
}

impl Settings<'_> {
    /// The value, when one is given and not empty.
    pub fn optional(self, name: &str) -> Option<String> {
        self.0.get(&format!("UPDRAFT_{name}")).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The value, or the default of the list.
    pub fn text(self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            ALL.iter().find(|setting| setting.name == name).map_or_else(String::new, |setting| setting.default.to_owned())
        })
    }

    /// An http or https address without a trailing slash.
    pub fn address(self, name: &'static str) -> Result<Option<String>, ConfigError> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        let wrong = || ConfigError::setting(name, "must be an http or https address without query or fragment");
        let url = reqwest::Url::parse(&value).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong());
        }
        Ok(Some(value.trim_end_matches('/').to_owned()))
    }

    /// The same for an address to which secrets are sent: over http only to this machine.
    pub fn secret_address(self, name: &'static str) -> Result<Option<String>, ConfigError> {
        let address = self.address(name)?;
        if address.as_ref().is_some_and(|address| !address.starts_with("https:") && !is_loopback_address(address)) {
            return Err(ConfigError::setting(name, "must be https, unless it is an address of this machine: a secret is sent there"));
        }
        Ok(address)
    }
}

/// The list of settings as `--help` shows it.
pub fn help() -> String {
    let mut text = String::from("Settings (environment variables):\n");
    let width = ALL.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
    for setting in ALL {
        let default = if setting.default.is_empty() { String::new() } else { format!(" [{}]", setting.default) };
        text.extend([format!("  UPDRAFT_{:<width$}  ", setting.name), setting.help.to_owned(), default, "\n".to_owned()]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances_are_counted_in_letters() {
        for (left, right, expected) in [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("same", "same", 0)] {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }
}
