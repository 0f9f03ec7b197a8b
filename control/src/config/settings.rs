//! All settings by area, and how they are read: by clap from flags and the environment, or from a map in tests.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};

use super::error::ConfigError;
use super::limits::LimitSettings;
use super::outside::{Bundles, Challenge, Kv, Mail};
use super::secrets::SecretSettings;
use super::service::{Connections, Database, Log, Service};

/// The prefix of every setting's name.
const PREFIX: &str = "UPDRAFT_";

/// Variables of the CLI and of the repository's own commands. They may be set where this program runs.
const TOOL_VARIABLES: [&str; 12] = [
    "UPDRAFT_APP",
    "UPDRAFT_BROWSER",
    "UPDRAFT_CACHE",
    "UPDRAFT_CLI",
    "UPDRAFT_CONTROL",
    "UPDRAFT_CREDENTIAL_STORE",
    "UPDRAFT_DEPLOYMENT",
    "UPDRAFT_INSECURE",
    "UPDRAFT_REQUIRE_POSTGRES",
    "UPDRAFT_TIMEOUT",
    "UPDRAFT_TOKEN",
    "UPDRAFT_URL",
];

/// The maximum width of `--help`.
const WIDTH: usize = 120;

/// The formats of values, explained at the end of `--help`.
const VALUE_FORMATS: &str = "Values:
  COUNT     a whole number above 0
  DURATION  a number with a unit: 500ms, 30s, 15m, 12h, 60d
  RATE      a count per duration: 5/15m is 5 in 15 minutes
  SIZE      bytes, or a number with a unit: 512, 10KiB, 200MiB, 1GiB

";

/// The values that are set, by their full names, such as `UPDRAFT_BASE_URL`. An empty value counts as not set.
pub type RawSettings = BTreeMap<String, String>;

/// All settings, in the order of `--help`. A setting whose flag is hidden there is a secret, read only from the environment.
#[derive(Args)]
pub(super) struct Settings {
    #[command(flatten)]
    pub(super) service: Service,
    #[command(flatten)]
    pub(super) connections: Connections,
    #[command(flatten)]
    pub(super) database: Database,
    #[command(flatten)]
    pub(super) secrets: SecretSettings,
    #[command(flatten)]
    pub(super) bundles: Bundles,
    #[command(flatten)]
    pub(super) kv: Kv,
    #[command(flatten)]
    pub(super) mail: Mail,
    #[command(flatten)]
    pub(super) challenge: Challenge,
    #[command(flatten)]
    pub(super) limits: LimitSettings,
    /// Read separately, before all others.
    #[command(flatten)]
    _log: Log,
}

/// A clap command with the settings of one area, or all.
fn settings<S: Args>() -> Command {
    // Values are passed as arguments: clap must not read the process's environment as well.
    S::augment_args(Command::new("settings").no_binary_name(true))
}

/// A setting's full name.
fn name(setting: &Arg) -> &str {
    setting.get_env().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The error for an invalid value of this setting.
fn wrong(setting: &Arg, reason: impl Into<String>) -> ConfigError {
    ConfigError::setting(name(setting).trim_start_matches(PREFIX), reason)
}

/// The full names of all settings.
pub fn names() -> Vec<String> {
    settings::<Settings>().get_arguments().map(|setting| name(setting).to_owned()).collect()
}

/// Adds the settings to a program's flags and help. Values are taken as text; [`read`] validates them.
pub fn command(program: Command) -> Command {
    let mut footer = String::from(VALUE_FORMATS);
    footer.push_str("Secrets, set by environment variables only (other users of this machine can see command-line arguments):\n");
    for secret in settings::<Settings>().get_arguments().filter(|setting| setting.is_hide_set()) {
        footer.extend([format!("  {}\n          {}\n", name(secret), secret.get_help().cloned().unwrap_or_default())]);
    }
    let raw = |setting: Arg| setting.value_parser(ValueParser::os_string()).hide_env_values(true);
    // Clap would use the description of the settings as the program's.
    let about = program.get_about().cloned().unwrap_or_default();
    Settings::augment_args(program).mut_args(raw).about(about).after_help(footer).max_term_width(WIDTH)
}

/// The settings among the arguments and the environment of a [`command`]. A value that is not UTF-8 is refused: ignoring it would silently apply the
/// default.
pub fn given(matches: &ArgMatches) -> Result<RawSettings, ConfigError> {
    let mut given = RawSettings::new();
    for setting in settings::<Settings>().get_arguments() {
        let id = setting.get_id().as_str();
        match matches.value_source(id) {
            Some(ValueSource::CommandLine) if setting.is_hide_set() => {
                let reason =
                    "is a secret: set it as an environment variable, because other users of this machine can see command-line arguments";
                return Err(wrong(setting, reason));
            }
            Some(ValueSource::CommandLine | ValueSource::EnvVariable) => {
                let value = matches.get_one::<OsString>(id).and_then(|value| value.to_str());
                let value = value.ok_or_else(|| wrong(setting, "must be UTF-8 text"))?;
                given.insert(name(setting).to_owned(), value.to_owned());
            }
            _ => {}
        }
    }
    Ok(given)
}

/// The value of a setting, if it is set and not empty.
pub(super) fn optional<'g>(given: &'g RawSettings, name: &str) -> Option<&'g str> {
    given.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// Reads the settings of one area, or all, with their defaults.
pub fn read<S: Args>(given: &RawSettings) -> Result<S, ConfigError> {
    let mut command = settings::<S>();
    let argument = |setting: &Arg| Some(format!("--{}={}", setting.get_long()?, optional(given, name(setting))?));
    let arguments: Vec<String> = command.get_arguments().filter_map(argument).collect();
    command = command.mut_args(|setting| setting.env(None));
    let matches = command.try_get_matches_from_mut(arguments);
    matches.and_then(|matches| S::from_arg_matches(&matches)).map_err(|error| refusal::<S>(&error))
}

/// Names the variable and what is wrong with its value. Clap's own text would repeat the value, which may be a secret.
fn refusal<S: Args>(error: &clap::Error) -> ConfigError {
    let settings = settings::<S>();
    // For example `--listen <ADDRESS:PORT>`.
    let flag = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let flag = flag.split(' ').next().and_then(|flag| flag.strip_prefix("--"));
    let setting = settings.get_arguments().find(|setting| setting.get_long() == flag);
    let reason = match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(cause), _) => cause.to_string(),
        (None, Some(ContextValue::Strings(values))) => format!("must be {}", values.join(" or ")),
        _ => "is not valid".to_owned(),
    };
    setting.map_or_else(|| ConfigError::setting("", error.to_string()), |setting| wrong(setting, reason))
}

/// Logs a warning for unknown names: a misspelled limit would silently not apply.
pub fn warn_of_unknown_names() {
    for (name, nearest) in unknown_names(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
        tracing::warn!("unknown setting {name}; did you mean {nearest}?");
    }
}

/// Unknown names with the prefix of settings, each with the most similar setting.
pub fn unknown_names(given: impl Iterator<Item = String>) -> Vec<(String, String)> {
    let known = names();
    let unknown = given.filter(|name| name.starts_with(PREFIX) && !known.contains(name) && !TOOL_VARIABLES.contains(&name.as_str()));
    let nearest = |name: &str| known.iter().min_by_key(|known| strsim::levenshtein(name, known)).cloned().unwrap_or_default();
    let mut found: Vec<(String, String)> = unknown.map(|name| (name.escape_debug().to_string(), nearest(&name))).collect();
    found.sort();
    found
}
