//! `updraft-control`: the control plane's program.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use control::config::settings::{self, Given};
use control::config::values::parse_size;
use control::config::{Config, DatabaseConfig, LogConfig};
use control::domain::accounts::{self, strength};
use control::domain::audit::{self, Actor, Kept};
use control::domain::email::Email;
use control::domain::encryption::{check, rotation};
use control::domain::error::{Error, Result, Thing, chain};
use control::domain::keys::access_keys;
use control::domain::operator;
use control::domain::operator::accounts::Operation;
use control::domain::operator::deployment_keys::KeyOperation;
use control::domain::second_factors::changes;
use control::infra::clock::{Clock, Dice};
use control::infra::crypto::password;
use control::infra::db::{Db, WriteTx};
use control::jobs::replay::{Credentials, Place, Replay};
use control::server::{self as serve, telemetry};
use shared::keys::DeploymentKey;
use shared::time::parse_duration;

/// Updraft's control plane: accounts, apps, releases, snapshots for the edge, and the counts that come back.
#[derive(Debug, Parser)]
#[command(name = "updraft-control", version)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Serve until SIGINT or SIGTERM
    Serve,
    /// Accounts
    #[command(subcommand)]
    Account(AccountAction),
    /// Access keys
    #[command(subcommand, name = "access-key")]
    AccessKey(AccessKeyAction),
    /// Deployment keys that somebody else's devices have
    #[command(subcommand, name = "deployment-key")]
    DeploymentKey(DeploymentKeyAction),
    /// The audit trail
    #[command(subcommand)]
    Audit(AuditAction),
    /// Encryption keys
    #[command(subcommand)]
    Keys(KeysAction),
    /// What clients reported
    #[command(subcommand)]
    Reports(ReportsAction),
}

#[derive(Debug, Subcommand)]
enum ReportsAction {
    /// Count dead letters: reports that the edge has parked because it could not deliver them. Each that is counted is deleted where it was; an
    /// interrupted run can be repeated
    Replay(ReplayArguments),
}

#[derive(Debug, Args)]
struct ReplayArguments {
    #[arg(
        long,
        value_name = "DIR|s3://BUCKET?endpoint=URL&region=NAME",
        help = "Where they are: the bucket, opened by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a folder that it was downloaded to"
    )]
    from: Place,
    /// Leave where it is what is counted
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Subcommand)]
enum DeploymentKeyAction {
    /// Free a key: the next account that brings it has it. A deployment that uses it gets a new key, and its owner is told by mail
    Release(ReleasedKey),
    /// Give a key to the deployment whose devices have it. A deployment that uses it gets a new key; both owners are told by mail
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
    /// The app, as its owner's e-mail address, a colon and its name
    #[arg(long, value_name = "OWNER:APP")]
    app: String,
    /// The deployment's name
    #[arg(long)]
    deployment: String,
}

#[derive(Debug, Subcommand)]
enum KeysAction {
    /// Encrypt anew, with the first key of the setting, what the others encrypted; those can be taken away then
    Rotate,
}

#[derive(Debug, Subcommand)]
enum AuditAction {
    /// Prove that no row was changed, removed or put in between; name the first that was
    Verify {
        /// What an earlier run printed at its end, ROWS:HASH: prove also that no row up to there was cut off or made anew
        #[arg(long, value_name = "ROWS:HASH")]
        since: Option<Kept>,
    },
}

#[derive(Debug, Subcommand)]
enum AccountAction {
    /// Make a verified account; works with registration closed, too
    Create(NewAccount),
    /// Change what an account may have
    SetLimits(AccountLimitsPatch),
    /// Remove every second factor of an account whose owner has lost them all. Make sure first that it is the owner who asks: the password alone is
    /// enough to sign in then. The owner is told by mail; sessions and keys stay
    RemoveSecondFactors(OneAccount),
    /// Suspend an account that was taken over: nobody can sign in to it, and none of its sessions and keys works. Its apps stay open to other
    /// collaborators, and devices still get updates. The owner is told by mail
    Suspend(OneAccount),
    /// End a suspension: sessions and keys that have not expired work again. The owner is told by mail
    Reinstate(OneAccount),
    /// Sign an account out everywhere: browsers and authorized devices. The owner is told by mail
    EndSessions(EndSessions),
    /// Clear what failed logins and failed second factors have stopped, for an owner who is locked out. The owner is told by mail
    Unlock(OneAccount),
}

#[derive(Debug, Args)]
struct NewAccount {
    /// The e-mail address
    #[arg(long)]
    email: String,
    /// The display name
    #[arg(long)]
    name: Option<String>,
    /// Read the password from standard input; a password on a command line would be seen by every process
    #[arg(long, required = true)]
    password_stdin: bool,
}

#[derive(Debug, Args)]
struct OneAccount {
    /// The account's e-mail address
    #[arg(long)]
    email: String,
}

#[derive(Debug, Args)]
struct EndSessions {
    /// The account's e-mail address
    #[arg(long)]
    email: String,
    /// Also delete its access keys and revoke its API keys
    #[arg(long)]
    keys: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("limits").required(true).multiple(true)))]
struct AccountLimitsPatch {
    /// The account's e-mail address
    #[arg(long)]
    email: String,
    /// API keys that are neither revoked nor expired
    #[arg(long, group = "limits", value_name = "NUMBER")]
    max_api_keys: Option<u32>,
    /// Days of daily history
    #[arg(long, group = "limits", value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    retention_days: Option<u32>,
    /// The largest bundle: 200MiB, 1GiB
    #[arg(long, group = "limits", value_name = "SIZE", value_parser = parse_size)]
    max_upload_bytes: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum AccessKeyAction {
    /// Make a named access key and print it, alone, on standard output
    Create(NewKey),
}

#[derive(Debug, Args)]
struct NewKey {
    /// The account's e-mail address
    #[arg(long)]
    email: String,
    /// The key's name, unique within the account
    #[arg(long)]
    name: String,
    /// How long it is valid: 60d, 12h, 15m, 30s
    #[arg(long, default_value = "60d", value_parser = parse_duration)]
    ttl: i64,
}

fn main() -> ExitCode {
    // Whatever this program or a library of it creates is its owner's alone, in any folder.
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

async fn run(action: Action, given: &Given) -> Result<(), Failure> {
    telemetry::start(&LogConfig::read(given)?)?;
    settings::warn_of_unknown_names();
    match action {
        Action::Serve => Ok(serve::run(Config::read(given)?).await?),
        Action::Account(AccountAction::Create(new)) => create_account(&DatabaseConfig::read(given)?, &new).await,
        Action::Account(AccountAction::SetLimits(patch)) => set_limits(&DatabaseConfig::read(given)?, &patch).await,
        Action::Account(AccountAction::RemoveSecondFactors(account)) => remove_second_factors(given, &account.email).await,
        Action::Account(AccountAction::Suspend(account)) => {
            operate(given, &account.email, async |tx, operation| operation.suspend(tx).await).await?;
            eprintln!("The account is suspended.");
            Ok(())
        }
        Action::Account(AccountAction::Reinstate(account)) => {
            operate(given, &account.email, async |tx, operation| operation.reinstate(tx).await).await?;
            eprintln!("The account is reinstated.");
            Ok(())
        }
        Action::Account(AccountAction::EndSessions(EndSessions { email, keys })) => {
            let ended = operate(given, &email, async |tx, operation| operation.end_sessions(tx, keys).await).await?;
            eprintln!("Ended: sessions {}, keys {}.", ended.sessions, ended.keys);
            Ok(())
        }
        Action::Account(AccountAction::Unlock(account)) => {
            operate(given, &account.email, async |tx, operation| operation.unlock(tx).await).await?;
            eprintln!("The account is unlocked.");
            Ok(())
        }
        Action::DeploymentKey(DeploymentKeyAction::Release(released)) => {
            operate_on_key(given, &released.key, async |tx, operation| operation.release(tx).await).await?;
            eprintln!("The deployment key is free.");
            Ok(())
        }
        Action::DeploymentKey(DeploymentKeyAction::Assign(AssignedKey { key, app, deployment })) => {
            let (owner, app) = app.split_once(':').ok_or("--app must be the owner's e-mail address, a colon and the app's name")?;
            operate_on_key(given, &key, async |tx, operation| operation.assign(tx, &operator::email(owner)?, app, &deployment).await)
                .await?;
            eprintln!("The deployment has the key.");
            Ok(())
        }
        Action::AccessKey(AccessKeyAction::Create(new)) => create_access_key(&DatabaseConfig::read(given)?, &new).await,
        Action::Audit(AuditAction::Verify { since }) => verify_audit(&DatabaseConfig::read(given)?, since.as_ref()).await,
        Action::Keys(KeysAction::Rotate) => rotate_keys(given).await,
        Action::Reports(ReportsAction::Replay(arguments)) => replay(&DatabaseConfig::read(given)?, &arguments).await,
    }
}

async fn create_account(config: &DatabaseConfig, new: &NewAccount) -> Result<(), Failure> {
    let password = read_password()?;
    let email = Email::parse_new(&new.email).map_err(|fault| Error::invalid("email", fault))?;
    let name = new.name.as_deref().map(accounts::service::judge_name).transpose().map_err(|fault| format!("name: {fault}"))?;
    let addresses: Vec<&str> = config.addresses.iter().map(String::as_str).collect();
    let known = strength::context(&addresses, &email, name.as_deref());
    strength::judge(&password, &known).map_err(|fault| Error::invalid("password", fault))?;
    let password_hash = tokio::task::spawn_blocking(move || password::hash(&password, &Dice::System)).await??;
    let db = Db::open(&config.database_url.0).await?;
    let mut tx = db.write().await?;
    let account = accounts::service::NewAccount {
        email: &email,
        name: name.as_deref(),
        password_hash: &password_hash,
        limits: config.limits.account,
    };
    accounts::service::create(&mut tx, &Actor::operator(), &account, &Dice::System, Clock::System.now()).await?;
    tx.commit().await?;
    db.close().await;
    eprintln!("The account was made.");
    Ok(())
}

async fn set_limits(config: &DatabaseConfig, patch: &AccountLimitsPatch) -> Result<(), Failure> {
    let limits = accounts::service::LimitsPatch {
        api_keys: patch.max_api_keys,
        retention_days: patch.retention_days,
        upload_bytes: patch.max_upload_bytes,
    };
    let db = Db::open_existing(&config.database_url.0).await?;
    let mut tx = db.write().await?;
    let email = operator::email(&patch.email)?;
    accounts::service::set_limits(&mut tx, &Actor::operator(), &email, limits, &Dice::System, Clock::System.now()).await?;
    tx.commit().await?;
    db.close().await;
    eprintln!("The account's limits were set.");
    Ok(())
}

async fn remove_second_factors(given: &Given, email: &str) -> Result<(), Failure> {
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let config = Config::read(given)?;
    // The owner's mail waits in the database, sealed.
    check::check(&db, &config.settings.encryption_keys).await?;
    let mut tx = db.write().await?;
    let (keys, dice, now) = (&config.settings.encryption_keys, Dice::System, Clock::System.now());
    let removed = changes::remove_all(&mut tx, &Actor::operator(), email, keys, &dice, now).await?;
    tx.commit().await?;
    db.close().await;
    eprintln!(
        "Removed: passkeys {}, authenticator apps {}. The account's password alone is enough to sign in.",
        removed.passkeys, removed.authenticators
    );
    Ok(())
}

/// Runs an operator's command on an account in a transaction of its own.
async fn operate<T>(
    given: &Given,
    email: &str,
    command: impl AsyncFnOnce(&mut WriteTx, &Operation<'_>) -> Result<T>,
) -> Result<T, Failure> {
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let config = Config::read(given)?;
    // The owner's mail waits in the database, sealed.
    check::check(&db, &config.settings.encryption_keys).await?;
    let mut tx = db.write().await?;
    let email = operator::email(email)?;
    let operation = Operation { email: &email, keys: &config.settings.encryption_keys, dice: &Dice::System, now: Clock::System.now() };
    let done = command(&mut tx, &operation).await?;
    tx.commit().await?;
    db.close().await;
    Ok(done)
}

/// The same on a deployment key.
async fn operate_on_key(
    given: &Given,
    key: &str,
    command: impl AsyncFnOnce(&mut WriteTx, &KeyOperation<'_>) -> Result<()>,
) -> Result<(), Failure> {
    let key = DeploymentKey::try_from(key).map_err(|fault| format!("--key {fault}"))?;
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    let config = Config::read(given)?;
    check::check(&db, &config.settings.encryption_keys).await?;
    let mut tx = db.write().await?;
    let operation = KeyOperation { key: &key, keys: &config.settings.encryption_keys, dice: &Dice::System, now: Clock::System.now() };
    command(&mut tx, &operation).await?;
    tx.commit().await?;
    db.close().await;
    Ok(())
}

async fn verify_audit(config: &DatabaseConfig, since: Option<&Kept>) -> Result<(), Failure> {
    let db = Db::open_existing(&config.database_url.0).await?;
    let verified = audit::verify(&mut db.read().await?, since).await?;
    db.close().await;
    let unbroken = verified?;
    // On standard output: whoever keeps it elsewhere can tell later that nothing was cut off and nothing made anew.
    writeln!(std::io::stdout(), "{} rows, unbroken: {unbroken}", unbroken.rows)?;
    Ok(())
}

async fn rotate_keys(given: &Given) -> Result<(), Failure> {
    let db = Db::open_existing(&DatabaseConfig::read(given)?.database_url.0).await?;
    // After that, or where there is no database there would be new secrets.
    let config = Config::read(given)?;
    let rotated = rotation::rotate(&db, &config.settings.encryption_keys, &Dice::System, Clock::System.now()).await?;
    db.close().await;
    writeln!(
        std::io::stdout(),
        "encrypted anew: authenticator seeds {}, keys of recovery codes {}, waiting mails {}, open challenges {}; all is encrypted with {}",
        rotated.seeds,
        rotated.recovery_keys,
        rotated.mails,
        rotated.challenges,
        config.settings.encryption_keys.first().id
    )?;
    Ok(())
}

async fn replay(config: &DatabaseConfig, arguments: &ReplayArguments) -> Result<(), Failure> {
    let credentials = Credentials::read(|name| std::env::var(name).ok());
    if matches!(arguments.from, Place::Bucket(_)) && credentials.is_none() {
        return Err("a bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into());
    }
    let db = Db::open_existing(&config.database_url.0).await?;
    let replay = Replay { db: &db, clock: Clock::System, most_binary_versions: config.limits.binary_versions, is_kept: arguments.keep };
    // Names may hold anything.
    let replayed = replay.run(&arguments.from, credentials, |name, reason| eprintln!("left: {}: {reason}", name.escape_debug())).await;
    db.close().await;
    let replayed = replayed?;
    writeln!(std::io::stdout(), "dead letters counted: {}, left: {}", replayed.counted, replayed.left)?;
    if replayed.left == 0 {
        Ok(())
    } else {
        Err("not every dead letter could be counted and deleted; those that are left are named above".into())
    }
}

/// The first line of standard input, without its end.
fn read_password() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("Type the password and end the line:");
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
    let mut tx = db.write().await?;
    let account = accounts::repo::find_by_email(&mut tx, &email).await?.ok_or(Error::NotFound(Thing::Account))?;
    let token = access_keys::create_by_operator(&mut tx, &account, &new.name, new.ttl, &Dice::System, Clock::System.now()).await?;
    tx.commit().await?;
    db.close().await;
    // A key that nobody could read is an error; the next try needs another name.
    writeln!(std::io::stdout(), "{}", token.reveal())?;
    Ok(())
}
