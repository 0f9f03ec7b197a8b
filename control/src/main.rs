//! `updraft-control`: the control plane's program.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use control::config::settings::{self, RawSettings};
use control::config::values::parse_size;
use control::config::{Config, DatabaseConfig, LogConfig};
use control::domain::access::operator::Operator;
use control::domain::audit::{self, KnownHead};
use control::domain::encryption::{check, rotation};
use control::domain::error::{Result, chain};
use control::domain::imports::compared::FullName;
use control::domain::operator;
use control::domain::operator::accounts::{LimitsPatch, Operation};
use control::domain::operator::deployment_keys::KeyOperation;
use control::infra::clock::{Clock, Entropy};
use control::infra::crypto::keys::EncryptionKeys;
use control::infra::db::Db;
use control::infra::s3::Credentials;
use control::infra::storage::{Storage, StorageConfig};
use control::jobs::import::{self, compare};
use control::jobs::publish_all::{self, publish_all};
use control::jobs::replay::{Location, Replay};
use control::jobs::stores::{self, Broken, Repair, Stores};
use control::server::{self as serve, telemetry};
use shared::keys::DeploymentKey;
use shared::time::parse_duration;

// It gives memory back to the system when connections close; glibc keeps it (docs/adr/0029-jemalloc.md).
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The folder of bundles in the data folder.
const BLOBS: &str = "blobs";
/// The file in the data folder that notes what `storage migrate` has copied.
const JOURNAL: &str = "storage-migration";

/// Updraft's control plane: accounts, apps, releases, metrics, and snapshots for the edge.
#[derive(Debug, Parser)]
#[command(name = "updraft-control", version)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start the server; it runs until SIGINT or SIGTERM
    Serve,
    /// Create and manage accounts
    #[command(subcommand)]
    Account(AccountAction),
    /// Create access keys
    #[command(subcommand, name = "access-key")]
    AccessKey(AccessKeyAction),
    /// Release or reassign deployment keys
    #[command(subcommand, name = "deployment-key")]
    DeploymentKey(DeploymentKeyAction),
    /// Verify the audit trail
    #[command(subcommand)]
    Audit(AuditAction),
    /// Rotate encryption keys
    #[command(subcommand)]
    Keys(KeysAction),
    /// Write snapshots to the edge's KV
    #[command(subcommand)]
    Snapshots(SnapshotsAction),
    /// Verify stored bundles, or move them to another storage
    #[command(subcommand)]
    Storage(StorageAction),
    /// Replay reports from devices
    #[command(subcommand)]
    Reports(ReportsAction),
    /// Move apps here from another server
    #[command(subcommand)]
    Import(ImportAction),
}

#[derive(Debug, Subcommand)]
enum ImportAction {
    /// Import apps, deployments with their keys, releases and collaborators from a CodePush server. Reads the other server only. You can rerun an
    /// interrupted import, and repeat a finished one to take over what was released there since
    Codepush(ImportArguments),
    /// Compare the update checks of the old server and this one. Asks both the same checks and lists every difference with its reason. Writes nothing
    Compare(CompareArguments),
}

#[derive(Debug, Args)]
struct ImportArguments {
    /// The address of the other server's management API
    #[arg(long, value_name = "URL")]
    from: String,
    /// A file with an access key of an account there. The import sees what this account sees
    #[arg(long, value_name = "FILE")]
    key_file: std::path::PathBuf,
    /// The email address of the account here that will own the apps
    #[arg(long, value_name = "EMAIL")]
    owner: String,
    /// Import this app only, by its name there. Can be given several times
    #[arg(long = "app", value_name = "APP")]
    apps: Vec<String>,
    /// Read, download and check everything, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Import also what goes beyond the account's quotas
    #[arg(long)]
    ignore_quotas: bool,
    /// Import the rest if an upload here would refuse some of the releases
    #[arg(long)]
    leave_out_refused: bool,
}

#[derive(Debug, Args)]
struct CompareArguments {
    /// The address of the old server, as apps have it
    #[arg(long, value_name = "URL")]
    from: String,
    /// The address of the new server; by default, the base URL of this service
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// A deployment to compare, by its name here; both servers know it by its key. Can be given several times
    #[arg(long = "deployment", value_name = "OWNER:APP/DEPLOYMENT", required = true)]
    deployments: Vec<String>,
    /// The most checks to ask
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    checks: usize,
    /// Take the checks from this access log of the old server, in common or combined format or with one path and query per line. Without it, they
    /// are generated from the histories here and, with --key-file, those of the old server
    #[arg(long, value_name = "FILE")]
    log: Option<std::path::PathBuf>,
    /// The most requests to each server: 20/s or 300/min
    #[arg(long, value_name = "RATE", default_value = "20/s")]
    rate: compare::Rate,
    /// A file with an access key of an account on the old server. Its histories are then read, so that reasons are exact
    #[arg(long, value_name = "FILE")]
    key_file: Option<std::path::PathBuf>,
    /// The seed of generated checks: the same seed gives the same checks
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum StorageAction {
    /// Read every bundle and diff that a release needs and compare it with its hash. The server may run meanwhile. Exits with 1 if one is missing or altered
    Verify {
        /// Replace missing and altered bundles by those of another storage, given with `--from`. Drop missing and altered diffs that are not there: the
        /// server makes them again
        #[arg(long)]
        repair: bool,
        /// The other storage: `file`, or a bucket, as in `UPDRAFT_STORAGE`
        #[arg(long, value_name = "STORAGE", value_parser = StorageConfig::parse, requires = "repair")]
        from: Option<StorageConfig>,
    },
    /// Copy every bundle that a release needs into another storage, each verified by its hash. The server may run meanwhile. You can rerun it after an
    /// interruption. To switch: run it, stop the server, run it once more for what is new, then start the server with the new `UPDRAFT_STORAGE`
    Migrate {
        /// The storage to read: `file`, or a bucket, as in `UPDRAFT_STORAGE`
        #[arg(long, value_name = "STORAGE", value_parser = StorageConfig::parse)]
        from: StorageConfig,
        /// The storage to write to. A bucket has the credentials of the environment, as at `UPDRAFT_STORAGE`
        #[arg(long, value_name = "STORAGE", value_parser = StorageConfig::parse)]
        to: StorageConfig,
    },
}

#[derive(Debug, Subcommand)]
enum SnapshotsAction {
    /// Write the snapshot of every deployment once more, signed with the first secret in `UPDRAFT_EDGE_SECRET`, and wait until all are in KV. The
    /// running server does the writing
    Publish {
        /// Every deployment, those deleted included
        #[arg(long, required = true)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
enum ReportsAction {
    /// Count dead letters: reports that the edge could not deliver and stored. Each dead letter is deleted once it is counted. You can rerun an
    /// interrupted replay
    Replay(ReplayArguments),
}

#[derive(Debug, Args)]
struct ReplayArguments {
    #[arg(
        long,
        value_name = "DIR|s3://BUCKET?endpoint=URL&region=NAME",
        help = "A folder with the downloaded dead letters, or an S3 bucket (needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)"
    )]
    from: Location,
    /// Keep dead letters after counting them
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Subcommand)]
enum DeploymentKeyAction {
    /// Release a key, so that the next account to claim it gets it. A deployment that uses the key gets a new one; its owner is notified by email
    Release(ReleasedKey),
    /// Assign a key to the deployment whose devices use it. A deployment that has the key now gets a new one; both owners are notified by email
    Assign(AssignedKey),
}

#[derive(Debug, Args)]
struct ReleasedKey {
    /// The deployment key
    #[arg(long, allow_hyphen_values = true)]
    key: String,
}

#[derive(Debug, Args)]
struct AssignedKey {
    /// The deployment key
    #[arg(long, allow_hyphen_values = true)]
    key: String,
    /// The app: its owner's email address, a colon and its name
    #[arg(long, value_name = "OWNER:APP")]
    app: String,
    /// The deployment's name
    #[arg(long)]
    deployment: String,
}

#[derive(Debug, Subcommand)]
enum KeysAction {
    /// Re-encrypt all stored secrets with the first key in `UPDRAFT_ENCRYPTION_KEY`. Afterwards you can remove the other keys
    Rotate,
}

#[derive(Debug, Subcommand)]
enum AuditAction {
    /// Verify that no row was changed, removed or inserted; print the first row that fails
    Verify {
        /// Checkpoint printed by an earlier run. Also verifies that no row up to it was truncated or recreated
        #[arg(long, value_name = "ROWS:HASH")]
        since: Option<KnownHead>,
    },
}

#[derive(Debug, Subcommand)]
enum AccountAction {
    /// Create an account with a verified email address, even if registration is closed
    Create(NewAccount),
    /// Change the limits of an account
    SetLimits(AccountLimitsPatch),
    /// Turn off two-factor authentication for an owner who lost access to it. Verify the owner's identity first: afterwards the password alone is
    /// enough to sign in. Sessions and keys keep working. The owner is notified by email
    RemoveSecondFactors(OneAccount),
    /// Suspend a compromised account: nobody can sign in, and its sessions and keys stop working. Its apps stay available to other collaborators, and
    /// devices still get updates. The owner is notified by email
    Suspend(OneAccount),
    /// Lift a suspension: sessions and keys that have not expired work again. The owner is notified by email
    Reinstate(OneAccount),
    /// Sign an account out of all browsers and authorized devices. The owner is notified by email
    EndSessions(EndSessions),
    /// Unlock an account that is locked after too many failed logins or second factors. The owner is notified by email
    Unlock(OneAccount),
}

#[derive(Debug, Args)]
struct NewAccount {
    /// The account's email address
    #[arg(long)]
    email: String,
    /// The display name
    #[arg(long)]
    name: Option<String>,
    /// Read the password from standard input, because other processes can see command-line arguments
    #[arg(long, required = true)]
    password_stdin: bool,
}

#[derive(Debug, Args)]
struct OneAccount {
    /// The account's email address
    #[arg(long)]
    email: String,
}

#[derive(Debug, Args)]
struct EndSessions {
    /// The account's email address
    #[arg(long)]
    email: String,
    /// Also delete its access keys and revoke its API keys
    #[arg(long)]
    keys: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("limits").required(true).multiple(true)))]
struct AccountLimitsPatch {
    /// The account's email address
    #[arg(long)]
    email: String,
    /// Maximum number of active API keys: neither revoked nor expired
    #[arg(long, group = "limits", value_name = "NUMBER")]
    max_api_keys: Option<u32>,
    /// Retention of daily metrics, in days
    #[arg(long, group = "limits", value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    retention_days: Option<u32>,
    /// Maximum size of a bundle, such as 200MiB or 1GiB
    #[arg(long, group = "limits", value_name = "SIZE", value_parser = parse_size)]
    max_upload_bytes: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum AccessKeyAction {
    /// Create a named access key and print only the key to standard output
    Create(NewKey),
}

#[derive(Debug, Args)]
struct NewKey {
    /// The account's email address
    #[arg(long)]
    email: String,
    /// The key's name, unique within the account
    #[arg(long)]
    name: String,
    /// Lifetime of the key, such as 60d, 12h, 15m or 30s
    #[arg(long, default_value = "60d", value_parser = parse_duration)]
    ttl: i64,
}

fn main() -> ExitCode {
    // Files that this program or its libraries create are private to their owner, in any folder.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let matches = settings::command(Command::command()).get_matches();
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(async { run(command.action, &settings::given(&matches)?).await }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error.as_ref()),
    }
}

fn fail(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    eprintln!("updraft-control: {}", chain(error));
    ExitCode::FAILURE
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn run(action: Action, given: &RawSettings) -> Result<(), Failure> {
    telemetry::start(&LogConfig::read(given)?)?;
    settings::warn_of_unknown_names();
    match action {
        Action::Serve => Ok(serve::run(Config::read(given)?).await?),
        Action::Account(AccountAction::Create(new)) => create_account(&DatabaseConfig::read(given)?, &new).await,
        Action::Account(AccountAction::SetLimits(patch)) => set_limits(&DatabaseConfig::read(given)?, &patch).await,
        Action::Account(AccountAction::RemoveSecondFactors(account)) => {
            let removed = operate(given, &account.email, async |operation| operation.remove_second_factors().await).await?;
            eprintln!(
                "Removed: passkeys {}, authenticator apps {}. The password alone is now enough to sign in.",
                removed.passkeys, removed.authenticators
            );
            Ok(())
        }
        Action::Account(AccountAction::Suspend(account)) => {
            operate(given, &account.email, async |operation| operation.suspend().await).await?;
            eprintln!("The account is suspended.");
            Ok(())
        }
        Action::Account(AccountAction::Reinstate(account)) => {
            operate(given, &account.email, async |operation| operation.reinstate().await).await?;
            eprintln!("The account is reinstated.");
            Ok(())
        }
        Action::Account(AccountAction::EndSessions(EndSessions { email, keys })) => {
            let ended = operate(given, &email, async |operation| operation.end_sessions(keys).await).await?;
            eprintln!("Revoked: sessions {}, keys {}.", ended.sessions, ended.keys);
            Ok(())
        }
        Action::Account(AccountAction::Unlock(account)) => {
            operate(given, &account.email, async |operation| operation.unlock().await).await?;
            eprintln!("The account is unlocked.");
            Ok(())
        }
        Action::DeploymentKey(DeploymentKeyAction::Release(released)) => {
            operate_on_key(given, &released.key, async |operation| operation.release().await).await?;
            eprintln!("The deployment key is released.");
            Ok(())
        }
        Action::DeploymentKey(DeploymentKeyAction::Assign(AssignedKey { key, app, deployment })) => {
            let (owner, app) =
                app.split_once(':').ok_or("--app must be OWNER:APP: the owner's email address, a colon and the app's name")?;
            operate_on_key(given, &key, async |operation| operation.assign(&operator::email(owner)?, app, &deployment).await).await?;
            eprintln!("The deployment key is assigned.");
            Ok(())
        }
        Action::AccessKey(AccessKeyAction::Create(new)) => create_access_key(&DatabaseConfig::read(given)?, &new).await,
        Action::Audit(AuditAction::Verify { since }) => verify_audit(&DatabaseConfig::read(given)?, since.as_ref()).await,
        Action::Keys(KeysAction::Rotate) => rotate_keys(given).await,
        Action::Snapshots(SnapshotsAction::Publish { all: _ }) => publish_snapshots(given).await,
        Action::Storage(StorageAction::Verify { repair, from }) => verify_storage(given, repair, from).await,
        Action::Storage(StorageAction::Migrate { from, to }) => migrate_storage(given, from, to).await,
        Action::Reports(ReportsAction::Replay(arguments)) => replay(&DatabaseConfig::read(given)?, &arguments).await,
        Action::Import(ImportAction::Codepush(arguments)) => import_codepush(given, &arguments).await,
        Action::Import(ImportAction::Compare(arguments)) => import_compare(given, &arguments).await,
    }
}

async fn create_account(config: &DatabaseConfig, new: &NewAccount) -> Result<(), Failure> {
    let password = read_password()?;
    let account =
        operator::accounts::NewAccount::new(&new.email, new.name.as_deref(), password, &config.addresses, Entropy::System).await?;
    // A database that is created here would be another one than the service's: the folder is wrong.
    let db = Db::open_existing(&config.database_url.0).await?;
    operator::accounts::create(&operator_of(&db), &account, config.limits.account, &config.limits.quotas).await?;
    db.close().await;
    eprintln!("The account was created.");
    Ok(())
}

async fn set_limits(config: &DatabaseConfig, patch: &AccountLimitsPatch) -> Result<(), Failure> {
    let limits = LimitsPatch { api_keys: patch.max_api_keys, retention_days: patch.retention_days, upload_bytes: patch.max_upload_bytes };
    let db = Db::open_existing(&config.database_url.0).await?;
    operator::accounts::set_limits(&operator_of(&db), &operator::email(&patch.email)?, limits).await?;
    db.close().await;
    eprintln!("The account's limits were updated.");
    Ok(())
}

fn operator_of(db: &Db) -> Operator<'_> {
    Operator::new(db, Entropy::System, Clock::System)
}

/// Runs a command for an account.
async fn operate<T>(given: &RawSettings, email: &str, command: impl AsyncFnOnce(Operation<'_>) -> Result<T>) -> Result<T, Failure> {
    let (db, keys) = open_with_keys(given).await?;
    let email = operator::email(email)?;
    let done = command(Operation { operator: &operator_of(&db), email: &email, keys: &keys }).await?;
    db.close().await;
    Ok(done)
}

/// Runs a command for a deployment key.
async fn operate_on_key(given: &RawSettings, key: &str, command: impl AsyncFnOnce(KeyOperation<'_>) -> Result<()>) -> Result<(), Failure> {
    let key = DeploymentKey::try_from(key).map_err(|fault| format!("--key {fault}"))?;
    let (db, keys) = open_with_keys(given).await?;
    command(KeyOperation { operator: &operator_of(&db), key: &key, keys: &keys }).await?;
    db.close().await;
    Ok(())
}

/// The database, and the encryption keys that it was checked to have: the emails to owners wait in it, encrypted.
async fn open_with_keys(given: &RawSettings) -> Result<(Db, EncryptionKeys), Failure> {
    // First, since where there is no database, there would be new secrets.
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let keys = Config::read(given)?.settings.encryption_keys;
    check::check(&db, &keys).await?;
    Ok((db, keys))
}

async fn verify_audit(config: &DatabaseConfig, since: Option<&KnownHead>) -> Result<(), Failure> {
    let db = Db::open_existing(&config.database_url.0).await?;
    let verified = audit::verify(&mut db.read().await?, since).await?;
    db.close().await;
    let unbroken = verified?;
    // Stored elsewhere, this checkpoint shows later whether rows were truncated or recreated.
    writeln!(std::io::stdout(), "{} rows, unbroken: {unbroken}", unbroken.rows)?;
    Ok(())
}

async fn rotate_keys(given: &RawSettings) -> Result<(), Failure> {
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    // Opened first: without a database, reading the settings would generate new secrets.
    let config = Config::read(given)?;
    let rotated = rotation::rotate(&operator_of(&db), &config.settings.encryption_keys).await?;
    db.close().await;
    writeln!(
        std::io::stdout(),
        "re-encrypted: authenticator seeds {}, keys of recovery codes {}, queued emails {}, open challenges {}; everything is encrypted with {}",
        rotated.seeds,
        rotated.recovery_keys,
        rotated.mails,
        rotated.challenges,
        config.settings.encryption_keys.first().id
    )?;
    Ok(())
}

async fn publish_snapshots(given: &RawSettings) -> Result<(), Failure> {
    // Opened first: without a database, reading the settings would generate new secrets.
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    if Config::read(given)?.kv.is_none() {
        return Err("UPDRAFT_KV_API is not set: this service writes no snapshots to KV".into());
    }
    let outcome = publish_all(&db, &Clock::System, &mut |left| eprintln!("Snapshots to write: {left}")).await;
    db.close().await;
    match outcome? {
        publish_all::Outcome::Published(count) => {
            eprintln!("All {count} snapshots are in KV.");
            Ok(())
        }
        publish_all::Outcome::Stuck(left) => Err(format!(
            "{left} snapshots are still queued, and none was written for a minute: is the server running, and what does its log say about KV?"
        )
        .into()),
    }
}

/// A storage that is not the configured one.
async fn open_storage(config: &Config, storage: StorageConfig) -> Result<Storage, Failure> {
    let name = storage.to_string();
    let storage = storage.with(Credentials::read(|name| std::env::var(name).ok()));
    let opened = Storage::connect(storage, config.data_dir.join(BLOBS)).await;
    Ok(opened.map_err(|error| format!("cannot open {name}: {error}"))?)
}

async fn verify_storage(given: &RawSettings, repairs: bool, from: Option<StorageConfig>) -> Result<(), Failure> {
    // Opened first: without a database, reading the settings would generate new secrets.
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let config = Config::read(given)?;
    if from.as_ref().is_some_and(|from| from.is_same(&config.storage)) {
        return Err("--from is the storage of this service: give another one".into());
    }
    let own = Storage::connect(config.storage.clone(), config.data_dir.join(BLOBS)).await?;
    let other = match from {
        Some(from) => Some(open_storage(&config, from).await?),
        None => None,
    };
    let stores = Stores { db: &db, clock: &Clock::System, from: &own };
    let repair = repairs.then_some(Repair { other: other.as_ref() });
    let found = stores::verify(stores, repair, &mut |count| eprintln!("Read: {count}")).await;
    db.close().await;
    let found = found?;
    for broken in &found.repaired {
        writeln!(std::io::stdout(), "{broken}, repaired")?;
    }
    for broken in &found.dropped {
        writeln!(std::io::stdout(), "{broken}, dropped: the server makes it again")?;
    }
    for broken in &found.broken {
        writeln!(std::io::stdout(), "{broken}")?;
    }
    eprintln!(
        "Intact: {} objects, {} bytes. Repaired: {}. Diffs dropped: {}.",
        found.intact,
        found.bytes,
        found.repaired.len(),
        found.dropped.len()
    );
    let is_folder = matches!(config.storage, StorageConfig::Folder);
    still_broken(&found.broken, repairs, other.is_some(), is_folder).map_or(Ok(()), |text| Err(text.into()))
}

/// What is broken after all, and what to do; `None` if nothing is.
fn still_broken(broken: &[Broken], repairs: bool, has_other: bool, is_folder: bool) -> Option<String> {
    let diffs = broken.iter().filter(|broken| broken.is_diff).count();
    let bundles = broken.len() - diffs;
    let mut texts = Vec::new();
    if bundles > 0 && has_other {
        texts.push(format!("{} broken, and the other storage has nothing better", counted(bundles, "object")));
    } else if bundles > 0 && is_folder {
        texts.push(format!(
            "{} broken: copy the files from a backup of the data folder, where APP/HASH is blobs/APP/HA/HASH, with the first two characters of HASH as HA; or repair from another storage with --repair --from STORAGE",
            counted(bundles, "object")
        ));
    } else if bundles > 0 {
        texts.push(format!(
            "{} broken: repair from a backup or the former storage with --repair --from STORAGE",
            counted(bundles, "object")
        ));
    }
    if diffs > 0 && repairs {
        texts.push(format!("{} broken and could not be dropped: run the command again", counted(diffs, "diff")));
    } else if diffs > 0 {
        texts.push(format!("{} broken: drop with --repair, and the server makes what is needed again", counted(diffs, "diff")));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// So many things, with their verb.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun} is") } else { format!("{count} {noun}s are") }
}

async fn migrate_storage(given: &RawSettings, from: StorageConfig, to: StorageConfig) -> Result<(), Failure> {
    if from.is_same(&to) {
        return Err("--from and --to are the same storage".into());
    }
    // Opened first: without a database, reading the settings would generate new secrets.
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let config = Config::read(given)?;
    let (about, name, setting) = (format!("from {from} to {to}"), to.to_string(), to.setting());
    let (source, target) = (open_storage(&config, from).await?, open_storage(&config, to).await?);
    let stores = Stores { db: &db, clock: &Clock::System, from: &source };
    let journal = config.data_dir.join(JOURNAL);
    let done = stores::migrate(stores, &target, &journal, &about, &mut |count| eprintln!("Copied or there: {count}")).await;
    db.close().await;
    let done = done?;
    for broken in &done.broken {
        writeln!(std::io::stdout(), "{broken}")?;
    }
    eprintln!("Copied to {name}: {} objects, {} bytes. Already there: {}.", done.copied, done.bytes, done.kept);
    if done.deleted > 0 {
        eprintln!("Deleted there, because no release needs them any more: {}.", done.deleted);
    }
    if !done.broken.is_empty() {
        let count = done.broken.len();
        return Err(format!("{} missing or altered in the old storage, and not copied", counted(count, "object")).into());
    }
    eprintln!("Next: stop the server, run this command once more, and start the server with UPDRAFT_STORAGE='{setting}'.");
    Ok(())
}

async fn replay(config: &DatabaseConfig, arguments: &ReplayArguments) -> Result<(), Failure> {
    let credentials = Credentials::read(|name| std::env::var(name).ok());
    if matches!(arguments.from, Location::Bucket(_)) && credentials.is_none() {
        return Err("a bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into());
    }
    let db = Db::open_existing(&config.database_url.0).await?;
    let replay = Replay { db: &db, clock: Clock::System, most_binary_versions: config.limits.binary_versions, is_kept: arguments.keep };
    // Names may contain control characters.
    let replayed = replay.run(&arguments.from, credentials, |name, reason| eprintln!("remaining: {}: {reason}", name.escape_debug())).await;
    db.close().await;
    let replayed = replayed?;
    writeln!(std::io::stdout(), "dead letters counted: {}, remaining: {}", replayed.counted, replayed.left)?;
    if replayed.left == 0 { Ok(()) } else { Err("some dead letters could not be counted or deleted; they are listed above".into()) }
}

async fn import_codepush(given: &RawSettings, arguments: &ImportArguments) -> Result<(), Failure> {
    let key = read_key(&arguments.key_file)?;
    let wanted = import::Wanted {
        from: arguments.from.clone(),
        key,
        owner: operator::email(&arguments.owner)
            .map_err(|error| advised(&error, Some("Give --owner the email address of an account here.")))?,
        apps: arguments.apps.clone(),
        is_dry_run: arguments.dry_run,
        ignores_quotas: arguments.ignore_quotas,
        leaves_out_refused: arguments.leave_out_refused,
    };
    // Opened first: without a database, reading the settings would generate new secrets.
    Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?.close().await;
    let (context, folder) = serve::open_for_import(Config::read(given)?).await?;
    // Names of the other server may have control characters.
    let report = import::codepush(&context, folder, wanted, &mut |text| eprintln!("{}", text.escape_debug())).await;
    context.db.close().await;
    let report = report.map_err(|error| advised(&error, import::of_import(&error)))?;
    write!(std::io::stdout(), "{report}")?;
    if !report.is_possible() {
        return Err("nothing was imported; what blocks it is listed above".into());
    }
    report.objection().map_or(Ok(()), |text| Err(text.into()))
}

async fn import_compare(given: &RawSettings, arguments: &CompareArguments) -> Result<(), Failure> {
    let wrong =
        "--deployment must be OWNER:APP/DEPLOYMENT: the owner's email address, a colon, the app's name, a slash and the deployment's name";
    let mut deployments = Vec::new();
    for name in &arguments.deployments {
        let (owner, rest) = name.split_once(':').ok_or(wrong)?;
        let (app, deployment) = rest.split_once('/').ok_or(wrong)?;
        deployments.push(FullName { owner: operator::email(owner)?, app: app.to_owned(), deployment: deployment.to_owned() });
    }
    let key = arguments.key_file.as_deref().map(read_key).transpose()?;
    // Opened first: without a database, reading the settings would generate new secrets.
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let to = match &arguments.to {
        Some(to) => to.clone(),
        None => Config::read(given)?.settings.base_url,
    };
    let (from, checks, log) = (arguments.from.clone(), arguments.checks, arguments.log.clone());
    let wanted = compare::Run { from, to, checks, log, rate: arguments.rate, key, seed: arguments.seed };
    serve::install_crypto();
    let report = compare::run(&db, &deployments, wanted, &mut |text| eprintln!("{}", text.escape_debug())).await;
    db.close().await;
    let report = report.map_err(|error| advised(&error, import::of_comparison(&error)))?;
    write!(std::io::stdout(), "{report}")?;
    report.objection().map_or(Ok(()), |text| Err(format!("{text}\n{}", report.advice()).into()))
}

/// Reads an access key of another server.
fn read_key(path: &std::path::Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path);
    Ok(text.map_err(|error| {
        format!("--key-file: {} cannot be read: {error}\nGive a file with an access key of the other server.", path.display())
    })?)
}

/// An error with a second line: what to do about it.
fn advised(error: &(dyn std::error::Error + 'static), next: Option<&str>) -> Failure {
    let what = chain(error);
    next.map_or_else(|| what.clone(), |next| format!("{what}\n{next}")).into()
}

/// Reads the first line of standard input, without the line ending.
fn read_password() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("Enter the password:");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let mut text = String::new();
    std::io::stdin().take(8_192).read_to_string(&mut text)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

async fn create_access_key(config: &DatabaseConfig, new: &NewKey) -> Result<(), Failure> {
    let email = operator::email(&new.email)?;
    let db = Db::open_existing(&config.database_url.0).await?;
    let token = operator::access_keys::create(&operator_of(&db), &email, &new.name, new.ttl).await?;
    db.close().await;
    // If the key cannot be printed, the command fails. The key exists by then, so a retry needs another name.
    writeln!(std::io::stdout(), "{}", token.reveal())?;
    Ok(())
}
