//! The program `updraft-control`: its commands and settings, startup and shutdown, and its log.

mod keys_rotate;
mod remove_second_factors;
mod storage;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use control::testing::audit;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use shared::signature::{Secrets, sign_call};
use tempfile::TempDir;
use tests::database::TestDatabase;
use tests::people::limits;
use tests::program::program;
use tests::wait::until;
use tests::{Bundle, Client, Clock, Db, on_write};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;

const PASSWORD: &str = "a long passphrase nobody guesses";

/// A folder and a database for the program, and settings that differ from the default.
struct Place {
    folder: TempDir,
    database: TestDatabase,
    settings: Vec<(String, String)>,
}

/// The result of running the program.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    async fn new() -> Self {
        let (folder, database) = (TempDir::new().unwrap(), TestDatabase::create().await);
        let mut place = Self { folder, database, settings: Vec::new() };
        if place.database.url().is_some() {
            // The program generates its own secrets only with SQLite.
            place = place.with("EDGE_SECRET", &"e".repeat(40)).with("DOWNLOAD_SECRET", &"d".repeat(40)).with("ENCRYPTION_KEY", KEY);
        }
        place
    }

    /// SQLite regardless of the suite's database, for tests that concern only SQLite.
    fn embedded() -> Self {
        Self { folder: TempDir::new().unwrap(), database: TestDatabase::Sqlite, settings: Vec::new() }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.retain(|(known, _)| *known != format!("UPDRAFT_{name}"));
        self.settings.push((format!("UPDRAFT_{name}"), value.to_owned()));
        self
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env_clear().current_dir(self.folder.path()).kill_on_drop(true);
        command.env("UPDRAFT_LISTEN", "127.0.0.1:0").env("UPDRAFT_DATA_DIR", self.data());
        command.envs(self.database.url().map(|url| ("UPDRAFT_DATABASE_URL", url)));
        command.envs(self.settings.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command until it exits.
    async fn run(&self, arguments: &[&str], input: &str) -> Ended {
        ended(self.command(arguments), input).await
    }

    /// The file of the SQLite database.
    fn database_file(&self) -> PathBuf {
        self.data().join("updraft.db")
    }

    /// Creates the database, as the first `serve` does.
    async fn create_database(&self) {
        std::fs::create_dir_all(self.data()).unwrap();
        Db::open(&format!("sqlite://{}", self.database_file().display())).await.unwrap().close().await;
    }

    async fn create_account(&self, email: &str, password: &str) -> Ended {
        if self.database.url().is_none() && !self.database_file().exists() {
            self.create_database().await;
        }
        self.run(&["account", "create", "--email", email, "--password-stdin"], &format!("{password}\n")).await
    }

    async fn create_key(&self, email: &str, more: &[&str]) -> Ended {
        let mut arguments = vec!["access-key", "create", "--email", email];
        arguments.extend(more);
        self.run(&arguments, "").await
    }
}

const KEY: &str = "t1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

async fn ended(mut command: Command, input: &str) -> Ended {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It is fine if the program exits before reading its input.
    drop(stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = tokio::time::timeout(Duration::from_secs(30), child.wait_with_output()).await.expect("the program exits").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The program serving.
struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    out: String,
    /// Reads what the program logs, from its start on: a program whose pipe is full waits.
    err: JoinHandle<String>,
    base: String,
}

impl Server {
    async fn start(place: &Place) -> Self {
        let mut child = place.command(&["serve"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stderr = child.stderr.take().unwrap();
        let err = tokio::spawn(async move {
            let mut text = String::new();
            stderr.read_to_string(&mut text).await.unwrap();
            text
        });
        let first = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
            .await
            .expect("the program prints its listening address")
            .unwrap();
        let Some(first) = first else { panic!("the program exited: {}", err.await.unwrap()) };
        let base = first.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap_or_else(|| panic!("{first}"));
        let base = base.trim_end_matches([';', ',']).to_owned();
        let server = Self { child, lines, out: first, err, base };
        let client = Client::new(&server.base, None);
        until("the program responds", async || (client.get("/v1/health").await.status.as_u16() == 200).then_some(())).await;
        server
    }

    /// Reads until a line contains this text.
    async fn says(&mut self, wanted: &str) {
        while !self.out.contains(wanted) {
            let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await.expect("another line").unwrap();
            let Some(line) = line else { panic!("{wanted:?} was never printed: {}", self.out) };
            self.out.push('\n');
            self.out.push_str(&line);
        }
    }

    /// Sends a signal and waits for the program to exit.
    async fn end(mut self, signal: Signal) -> Ended {
        let id = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        let ending = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                self.out.push('\n');
                self.out.push_str(&line);
            }
            Ended { code: self.child.wait().await.unwrap().code(), out: self.out, err: self.err.await.unwrap() }
        };
        tokio::time::timeout(Duration::from_secs(30), ending).await.expect("the program exits")
    }
}

#[track_caller]
fn refused(ended: &Ended, named: &str) {
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
    assert_eq!(ended.out, "", "nothing on standard output");
    assert!(ended.err.contains(named), "{named}: {ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_commands_create_an_account_and_its_key() {
    let place = Place::new().await;
    let made = place.create_account(" Ada@Example.com ", PASSWORD).await;
    assert_eq!((made.code, made.out.as_str()), (Some(0), ""), "{made:?}");
    let key = place.create_key("ada@example.com", &["--name", "first"]).await;
    assert_eq!(key.code, Some(0), "{key:?}");
    let raw = key.out.strip_suffix('\n').unwrap();
    assert_eq!((raw.len(), raw.lines().count()), ("svc_ak_".len() + 43, 1), "only the raw key: {:?}", key.out);
    assert!(raw.starts_with("svc_ak_"));
    let server = Server::start(&place).await;
    let client = Client::new(&server.base, Some(raw.to_owned()));
    let app = client.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
    assert_eq!(app["app"]["collaborators"]["ada@example.com"]["permission"], "Owner");
    // A key created meanwhile works immediately.
    let second = place.create_key("ADA@example.com", &["--name", "second", "--ttl", "12h"]).await;
    let second = Client::new(&server.base, Some(second.out.trim().to_owned()));
    second.get("/v1/apps/demo").await.assert(200);
    assert_eq!(server.end(Signal::TERM).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_in_a_wrong_folder_is_refused_instead_of_creating_a_database() {
    let place = Place::embedded();
    let arguments = ["account", "create", "--email", "ada@example.com", "--password-stdin"];
    let ended = place.run(&arguments, PASSWORD).await;
    refused(&ended, "UPDRAFT_DATA_DIR");
    assert!(ended.err.contains(&place.database_file().display().to_string()), "{ended:?}");
    assert!(!place.database_file().exists(), "no database was created");
    place.create_database().await;
    assert_eq!(place.run(&arguments, PASSWORD).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_accounts_are_refused_with_a_reason() {
    let place = Place::new().await;
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    for email in ["ada@example.com", "ADA@EXAMPLE.COM", " ada@example.com"] {
        refused(&place.create_account(email, PASSWORD).await, "exists");
    }
    for email in [
        "",
        "ada",
        "@example.com",
        "ada@",
        "a@b@c",
        "a b@example.com",
        "a:b@example.com",
        "a/b@example.com",
        "a\nb@example.com",
        &format!("{}@example.com", "a".repeat(255)),
    ] {
        refused(&place.create_account(email, PASSWORD).await, "email");
    }
    for password in ["", "short", "elevenchars", &"x".repeat(1_001), "üüüüüüüüüüü", "aaaaaaaaaaaaaaaa", "password1234", "bob@example.com"]
    {
        let ended = place.create_account("bob@example.com", password).await;
        refused(&ended, "password");
        assert!(password.is_empty() || !ended.err.contains(password), "{ended:?}");
    }
    // A password is never an argument.
    refused(&place.run(&["account", "create", "--email", "bob@example.com"], "").await, "--password-stdin");
    refused(&place.run(&["account", "create", "--email", "bob@example.com", "--password", PASSWORD], "").await, "--password");
    let long: String = "ein größerer Büffel lärmt übermütig; ".chars().cycle().take(1_000).collect();
    assert_eq!(place.create_account("bob@example.com", &long).await.code, Some(0), "characters are counted, not bytes");
    assert_eq!(place.create_account("carol@example.com", "twelve chars").await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_keys_are_refused_with_a_reason() {
    let place = Place::new().await;
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    refused(&place.create_key("bob@example.com", &["--name", "first"]).await, "account was not found");
    assert_eq!(place.create_key("ada@example.com", &["--name", "first"]).await.code, Some(0));
    refused(&place.create_key("ada@example.com", &["--name", "first"]).await, "exists");
    refused(&place.create_key("ada@example.com", &["--name", ""]).await, "1 to 255");
    refused(&place.create_key("ada@example.com", &["--name", &"x".repeat(256)]).await, "1 to 255");
    refused(&place.create_key("ada@example.com", &[]).await, "--name");
    for ttl in ["0d", "5", "d", "-1d", "1y", "1.5h", "99999999999999d", ""] {
        refused(&place.create_key("ada@example.com", &["--name", "second", &format!("--ttl={ttl}")]).await, "--ttl");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accounts_limits_are_set_separately_or_together() {
    let place = Place::new().await;
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    let key = place.create_key("ada@example.com", &["--name", "first"]).await.out.trim().to_owned();
    let set = async |email: &str, more: &[&str]| place.run(&[&["account", "set-limits", "--email", email], more].concat(), "").await;
    for (more, expected) in [
        (&["--max-api-keys", "0"][..], limits(0, 90, 209_715_200)),
        (&["--retention-days", "365"], limits(0, 365, 209_715_200)),
        (&["--max-upload-bytes", "1GiB", "--max-api-keys=100"], limits(100, 365, 1 << 30)),
    ] {
        let ended = set("Ada@Example.com", more).await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
        let server = Server::start(&place).await;
        let account = Client::new(&server.base, Some(key.clone())).get("/v1/account").await.assert(200);
        assert_eq!(account["account"]["limits"], expected);
        server.end(Signal::TERM).await;
    }
    refused(&set("eve@example.com", &["--max-api-keys", "1"]).await, "account was not found");
    refused(&set("no address", &["--max-api-keys", "1"]).await, "email");
    refused(&set("ada@example.com", &[]).await, "--max-api-keys");
    for wrong in ["--max-api-keys=-1", "--max-api-keys=many", "--retention-days=0", "--retention-days=1.5", "--max-upload-bytes=0"] {
        refused(&set("ada@example.com", &[wrong]).await, wrong.split('=').next().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_actions_are_audited_and_an_edited_row_is_detected() {
    let place = Place::new().await;
    let verify = async || place.run(&["audit", "verify"], "").await;
    assert_eq!(Server::start(&place).await.end(Signal::TERM).await.code, Some(0));
    let empty = verify().await;
    assert_eq!((empty.code, empty.out.starts_with("0 rows, unbroken")), (Some(0), true), "{empty:?}");
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    assert_eq!(place.create_key("ada@example.com", &["--name", "first"]).await.code, Some(0));
    let limits = ["account", "set-limits", "--email", "ada@example.com", "--max-api-keys", "3"];
    assert_eq!(place.run(&limits, "").await.code, Some(0));
    // A refused command adds no row.
    refused(&place.create_key("ada@example.com", &["--name", "first"]).await, "first");
    let whole = verify().await;
    assert_eq!((whole.code, whole.out.starts_with("3 rows, unbroken: 3:")), (Some(0), true), "{whole:?}");
    // The stored key is the printed one.
    let kept = whole.out.trim().rsplit(' ').next().unwrap().to_owned();
    let since = async |kept: &str| place.run(&["audit", "verify", "--since", kept], "").await;
    assert_eq!(since(&kept).await.code, Some(0));
    refused(&since(&kept.replacen("3:", "4:", 1)).await, "row 4 of the audit trail is missing");
    refused(&since(&kept.replacen("3:", "2:", 1)).await, "row 2 of the audit trail");
    assert_eq!(since("3").await.code, Some(2), "not in the right format");

    let embedded = || format!("sqlite://{}", place.data().join("updraft.db").display());
    let db = Db::open(&place.database.url().unwrap_or_else(embedded)).await.unwrap();
    let rows = audit::rows(&mut db.read().await.unwrap(), 1, 10).await.unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.action.as_str(), row.credential_kind.as_str(), &row.client_address)).collect();
    assert_eq!(told, ["account.create", "access_key.create", "account.set_limits"].map(|action| (action, "operator", &None)));
    let mut tx = db.write().await.unwrap();
    on_write!(tx, |conn| sqlx::query("UPDATE audit_events SET object_id = 'another' WHERE seq = 2").execute(conn).await).unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    refused(&verify().await, "row 2 of the audit trail");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_database_tells_what_to_do_first() {
    let place = Place::new().await;
    let mut server = Server::start(&place).await;
    server.says("access-key create").await;
    assert!(server.out.contains("updraft-control account create --email") && server.out.contains("--password-stdin"), "{}", server.out);
    assert_eq!(server.end(Signal::TERM).await.code, Some(0));
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    let ended = Server::start(&place).await.end(Signal::INT).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.out.contains("account create"), "there is an account now: {}", ended.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_commands_do_not_create_a_missing_database() {
    let place = Place::embedded();
    for arguments in [
        &["account", "set-limits", "--email", "ada@example.com", "--max-api-keys", "1"][..],
        &["account", "remove-second-factors", "--email", "ada@example.com"],
        &["access-key", "create", "--email", "ada@example.com", "--name", "laptop"],
        &["audit", "verify"],
        &["keys", "rotate"],
        &["reports", "replay", "--from", "."],
    ] {
        let ended = place.run(arguments, "").await;
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.err.contains("there is no database at") && ended.err.contains("UPDRAFT_DATA_DIR"), "{ended:?}");
        let made = std::fs::read_dir(place.data()).map_or(0, Iterator::count);
        assert_eq!(made, 0, "{arguments:?}");
    }
    // An existing but empty database is different.
    assert_eq!(place.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    assert_eq!(place.run(&["audit", "verify"], "").await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_setting_prevents_startup_and_is_named() {
    for (name, value) in [
        ("BASE_URL", "localhost:8080"),
        ("BASE_URL", "ftp://example.com"),
        ("BASE_URL", "http://example.com/?x=1"),
        ("BASE_URL", "http://example.com/path"),
        ("UPLOAD_URL", "not an address"),
        ("LISTEN", "8080"),
        ("LISTEN", "localhost:8080"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("STORAGE", "ftp://x"),
        ("TRUSTED_PROXIES", "10.0.0.0/33"),
        ("TRUSTED_PROXIES", "127.0.0.1,proxy.example.com"),
        ("EDGE_SECRET", "short"),
        ("DOWNLOAD_SECRET", "0123456789012345678901234567890123456789,short"),
        ("ENCRYPTION_KEY", "k1:dG9vIHNob3J0"),
        ("ENCRYPTION_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        ("LOG", "control=loud"),
        ("LOG_FORMAT", "xml"),
        ("LIMIT_MAX_UPLOAD_BYTES", "plenty"),
        ("LIMIT_MAX_UPLOAD_BYTES", "0"),
        ("LIMIT_ZIP_ENTRIES", "-1"),
        ("LIMIT_ZIP_TOTAL", "1GB"),
        ("LIMIT_ZIP_RATIO", "0"),
        ("LIMIT_BINARY_VERSIONS", "1.5"),
        ("LIMIT_MAX_API_KEYS", "0"),
        ("LIMIT_RETENTION_DAYS", "ninety"),
        ("LIMIT_SESSION", "14"),
        ("LIMIT_SESSION_IDLE", "0d"),
        ("LIMIT_FRESHNESS", "soon"),
        ("LIMIT_CLI_CREDENTIAL", "a quarter"),
        ("KV_API", "not an address"),
        ("DASHBOARD_URL", "dashboard.example.com"),
        ("SMTP_URL", "https://user:confidential@mail.example.com"),
        ("SMTP_URL", "smtp://user:confidential@mail.example.com?tls=off"),
        ("MAIL_FROM", "Updraft"),
        ("TURNSTILE_URL", "verifier.example.com"),
    ] {
        let ended = Place::embedded().with(name, value).run(&["serve"], "").await;
        refused(&ended, &format!("UPDRAFT_{name}"));
        if name.ends_with("SECRET") || name == "ENCRYPTION_KEY" {
            assert!(!ended.err.contains(value), "a secret is not echoed: {ended:?}");
        }
        assert!(!ended.err.contains("confidential"), "a password is not echoed: {ended:?}");
    }
    // A partly configured challenge is refused; otherwise only users would notice.
    refused(&Place::embedded().with("TURNSTILE_SECRET", "secret").run(&["serve"], "").await, "UPDRAFT_TURNSTILE_SITE_KEY");
    refused(&Place::embedded().with("TURNSTILE_SITE_KEY", "key").run(&["serve"], "").await, "UPDRAFT_TURNSTILE_SECRET");
    // A value that is not UTF-8 is invalid rather than absent.
    for name in ["UPDRAFT_BASE_URL", "UPDRAFT_DATA_DIR", "UPDRAFT_LOG", "UPDRAFT_LIMIT_ZIP_RATIO", "UPDRAFT_DOWNLOAD_SECRET"] {
        let place = Place::embedded();
        let mut command = place.command(&["serve"]);
        command.env(name, OsStr::from_bytes(b"\xff\xfe"));
        refused(&ended(command, "").await, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_setting_is_logged_at_start_with_the_closest_name() {
    let server = Server::start(&Place::new().await.with("BASEURL", "https://updates.example.com")).await;
    let ended = server.end(Signal::TERM).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("unknown setting UPDRAFT_BASEURL; did you mean UPDRAFT_BASE_URL?"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_can_be_flags_but_secrets_cannot() {
    let secret = "hunter2hunter2".repeat(3);
    for flag in ["edge-secret", "download-secret", "encryption-key", "database-url", "kv-token", "smtp-url", "turnstile-secret"] {
        let ended = Place::embedded().run(&[&format!("--{flag}={secret}"), "serve"], "").await;
        refused(&ended, &format!("UPDRAFT_{}", flag.replace('-', "_").to_uppercase()));
        assert!(!ended.err.contains("hunter2"), "{ended:?}");
        let place = Place::embedded().with(&flag.replace('-', "_").to_uppercase(), &secret);
        let help = place.run(&["--help"], "").await.out;
        assert!(!help.contains("hunter2") && !help.contains(&format!("--{flag}")), "{help}");
    }
    let place = Place::embedded().with("LIMIT_SESSION", "soon");
    refused(&place.run(&["serve"], "").await, "UPDRAFT_LIMIT_SESSION: must be a duration");
    refused(
        &place.run(&["--limit-session", "14d", "--listen", "8080", "serve"], "").await,
        "UPDRAFT_LISTEN: must be an address and a port",
    );
    refused(&place.run(&["--limit-session=14d", "--http2=maybe", "serve"], "").await, "UPDRAFT_HTTP2: must be on or off");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_require_https_except_on_loopback() {
    for name in ["KV_API", "TURNSTILE_URL"] {
        for address in ["http://secrets.example.com", "http://10.0.0.1:8787/client/v4"] {
            let place = Place::embedded().with("KV_NAMESPACE", "n").with("KV_TOKEN", "t").with(name, address);
            let ended = place.run(&["serve"], "").await;
            refused(&ended, &format!("UPDRAFT_{name}"));
            assert!(ended.err.contains("must be https"), "{ended:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_folder_or_database_prevents_startup() {
    let place = Place::embedded();
    std::fs::write(place.data(), "a file where the folder should be").unwrap();
    refused(&place.run(&["serve"], "").await, "UPDRAFT_DATA_DIR");
    // SQLite has no such form.
    let place = Place::embedded();
    std::fs::create_dir(place.data()).unwrap();
    std::fs::write(place.data().join("updraft.db"), "no database, though long enough to have a header of one ".repeat(50)).unwrap();
    refused(&place.run(&["serve"], "").await, "database");
    let secrets =
        |place: Place| place.with("EDGE_SECRET", &"e".repeat(40)).with("DOWNLOAD_SECRET", &"d".repeat(40)).with("ENCRYPTION_KEY", KEY);
    let unreachable = secrets(Place::embedded()).with("DATABASE_URL", "postgres://updraft:hunter2hunter2@127.0.0.1:1/updraft");
    // Each waits ten seconds for the database.
    let create = ["access-key", "create", "--email", "ada@example.com", "--name", "first"];
    let (serve, create) = tokio::join!(unreachable.run(&["serve"], ""), unreachable.run(&create, ""));
    for ended in [serve, create] {
        refused(&ended, "database");
        assert!(!ended.err.contains("hunter2"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_required_without_sqlite_or_with_an_edge() {
    let (secret, other) = ("s".repeat(32), "t".repeat(32));
    let elsewhere = || Place::embedded().with("DATABASE_URL", "postgres://127.0.0.1:1/nowhere");
    let edge = || Place::embedded().with("KV_API", "http://127.0.0.1:1").with("KV_NAMESPACE", "n").with("KV_TOKEN", "t");
    for place in [elsewhere(), edge()] {
        let ended = place.run(&["serve"], "").await;
        refused(&ended, "UPDRAFT_EDGE_SECRET");
        assert!(ended.err.contains("openssl rand"), "it tells how to create one: {ended:?}");
        assert!(!place.data().join("secrets.env").exists(), "none was created");
        let place = place.with("EDGE_SECRET", &secret);
        refused(&place.run(&["serve"], "").await, "UPDRAFT_DOWNLOAD_SECRET");
        let place = place.with("DOWNLOAD_SECRET", &other);
        let ended = place.run(&["serve"], "").await;
        refused(&ended, "UPDRAFT_ENCRYPTION_KEY");
        assert!(ended.err.contains("openssl rand"), "{ended:?}");
        assert!(!ended.err.contains(&secret) && !ended.err.contains(&other));
    }
    for missing in ["KV_NAMESPACE", "KV_TOKEN"] {
        refused(&edge().with(missing, "").run(&["serve"], "").await, &format!("UPDRAFT_{missing}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_generated_once_and_private_to_their_owner() {
    let place = Place::embedded();
    assert_eq!(Server::start(&place).await.end(Signal::TERM).await.code, Some(0));
    let file = place.data().join("secrets.env");
    let made = std::fs::read_to_string(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<&str> = made.lines().map(|line| line.split_once('=').unwrap().0).collect();
    assert_eq!(names, ["DOWNLOAD_SECRET", "EDGE_SECRET", "ENCRYPTION_KEY"]);
    assert!(made.lines().all(|line| line.split_once('=').unwrap().1.len() >= 43), "256 bits each");
    assert_eq!(Server::start(&place).await.end(Signal::TERM).await.code, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), made, "made once");
    assert!(leftovers(&place.data(), "secrets").is_empty());
    // Another folder has other secrets.
    let other = Place::embedded();
    assert_eq!(other.create_account("ada@example.com", PASSWORD).await.code, Some(0));
    assert!(!other.data().join("secrets.env").exists(), "an account needs no secrets");
    assert_eq!(Server::start(&other).await.end(Signal::TERM).await.code, Some(0));
    let others = std::fs::read_to_string(other.data().join("secrets.env")).unwrap();
    for (line, other) in made.lines().zip(others.lines()) {
        assert_ne!(line, other);
    }
}

/// Files in a folder with this prefix other than `secrets.env`.
fn leftovers(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(beginning) && !path.ends_with("secrets.env")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_encryption_key_prevents_startup() {
    let place = Place::new().await.with("ENCRYPTION_KEY", KEY);
    assert_eq!(Server::start(&place).await.end(Signal::TERM).await.code, Some(0));
    let wrong = "t1://ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let place = place.with("ENCRYPTION_KEY", wrong);
    let ended = place.run(&["serve"], "").await;
    refused(&ended, "UPDRAFT_ENCRYPTION_KEY");
    assert!(!ended.err.contains(wrong) && !ended.err.contains(KEY), "{ended:?}");
    let place = place.with("ENCRYPTION_KEY", KEY);
    assert_eq!(Server::start(&place).await.end(Signal::TERM).await.code, Some(0), "it starts again with the correct key");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_lists_the_commands_and_every_setting() {
    let place = Place::embedded();
    let help = place.run(&["--help"], "").await;
    assert_eq!(help.code, Some(0));
    for setting in control::testing::settings::names() {
        assert!(help.out.contains(&setting), "{setting}");
    }
    for command in ["serve", "account", "access-key"] {
        assert!(help.out.contains(command), "{command}");
    }
    assert!(place.run(&["--version"], "").await.out.contains("0.1.0"));
    refused(&place.run(&[], "").await, "serve");
    refused(&place.run(&["explode"], "").await, "explode");
    assert!(!place.data().exists(), "none of this accesses the data folder");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_help_of_every_command_matches_its_snapshot() {
    let place = Place::embedded();
    let (mut helps, mut commands) = (String::new(), vec![Vec::<String>::new()]);
    while let Some(command) = commands.pop() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = place.run(&arguments, "").await;
        assert_eq!(help.code, Some(0), "{arguments:?}");
        write!(helps, "# {}\n\n{}\n", arguments.join(" "), help.out).unwrap();
        let listed = help.out.split_once("Commands:\n").map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
        let names =
            listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next().filter(|_| !line.starts_with("   ")));
        // Popped in reverse order.
        commands.extend(
            names.filter(|name| *name != "help").map(|name| [command.clone(), vec![name.to_owned()]].concat()).rev().collect::<Vec<_>>(),
        );
    }
    assert!(helps.contains("# reports replay --help"), "{helps}");
    insta::assert_snapshot!("help", helps);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_for_a_self_hosted_edge_starts_or_reports_why_not() {
    let place =
        Place::new().await.with("EDGE_SECRET", &"e".repeat(40)).with("DOWNLOAD_SECRET", &"d".repeat(40)).with("ENCRYPTION_KEY", KEY);
    let place = place.with("BINDINGS_LISTEN", "127.0.0.1:0");
    let mut server = Server::start(&place).await;
    server.says("Bindings for a self-hosted edge: 127.0.0.1:").await;
    let address = server.out.split("self-hosted edge: ").nth(1).unwrap().trim().to_owned();
    let missing = Client::new(&format!("http://{address}"), None).get("/deployment%2Fnever-made-0123456789").await;
    missing.refused(404);

    for (listen, fault) in [(address.as_str(), "cannot listen on"), ("0.0.0.0:0", "must be a loopback address")] {
        let other = Place::new().await.with("EDGE_SECRET", &"e".repeat(40)).with("DOWNLOAD_SECRET", &"d".repeat(40));
        let refused = other.with("ENCRYPTION_KEY", KEY).with("BINDINGS_LISTEN", listen).run(&["serve"], "").await;
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains("UPDRAFT_BINDINGS_LISTEN") && refused.err.contains(fault), "{}", refused.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_is_locked_by_one_process_and_private_to_its_owner() {
    let place = Place::embedded();
    let server = Server::start(&place).await;
    let mode = std::fs::metadata(place.data()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // An upload in progress at the first server must survive the start of the second.
    let upload = place.data().join("blobs/.tmp/upload");
    std::fs::write(&upload, "half").unwrap();
    refused(&place.run(&["serve"], "").await, "UPDRAFT_DATA_DIR");
    assert!(upload.is_file());
    server.end(Signal::TERM).await;
    let server = Server::start(&place).await;
    assert!(!upload.exists(), "files left by a crash are removed at the next start");
    server.end(Signal::TERM).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_prevents_startup_and_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(&Place::new().await.with("LISTEN", &address).run(&["serve"], "").await, "UPDRAFT_LISTEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_contains_events_and_no_secrets() {
    for format in ["text", "json"] {
        let place = Place::new()
            .await
            .with("LOG", "trace")
            .with("LOG_FORMAT", format)
            .with("EDGE_SECRET", &"edge-secret-".repeat(4))
            .with("DOWNLOAD_SECRET", &"download-secret-".repeat(3))
            .with("ENCRYPTION_KEY", KEY);
        let email = "ada.lovelace@example.com";
        let made = place.create_account(email, PASSWORD).await;
        let key = place.create_key(email, &["--name", "ci"]).await;
        let raw = key.out.trim().to_owned();
        let server = Server::start(&place).await;
        let client = Client::new(&server.base, Some(raw.clone()));
        client.post("/v1/apps", json!({ "name": "demo" })).await.assert(201);
        let deployment = client.deployment_key("demo", "Staging").await;
        let package = client
            .upload(
                "demo",
                "Staging",
                &Bundle::script("confidential-script").0,
                json!({ "appVersion": "1.0.0", "description": "confidential-notes" }),
            )
            .await;
        let package = package.assert(201)["package"].clone();
        let path = package["blobUrl"].as_str().unwrap().split_once("/v1/").unwrap().1;
        let download = client.with_token(None).get(&format!("/v1/{path}")).await;
        download.assert_status(200);
        let device = "confidential-device";
        let report = json!({ "deployment_key": deployment, "app_version": "1.0.0", "client_unique_id": device, "label": "v1" });
        client.post("/reportStatus/deploy", report).await.assert(200);
        client.get(&format!("/updateCheck?deploymentKey={deployment}&appVersion=1.0.0&clientUniqueId={device}")).await.assert(200);
        // Refusals: a wrong key, an invalid upload, a forged address, a batch with an invalid report.
        client.with_token(Some("svc_ak_confidential-wrong".to_owned())).get("/v1/apps").await.refused(401);
        client.upload("demo", "Staging", b"PK\x03\x04confidential-zip", json!({ "appVersion": "1.0.0" })).await.refused(400);
        let forged = client
            .request(reqwest::Method::GET, "/v1/apps")
            .header("x-updraft-client-address", "203.0.113.77")
            .header("x-updraft-address-signature", "t=1,v1=00");
        client.send(forged).await.refused(400);
        let batch = json!({ "reports": [{ "id": "x", "deploymentKey": deployment, "clientId": device, "event": "confidential-event" }] })
            .to_string();
        let secrets = Secrets::parse(&"edge-secret-".repeat(4)).unwrap();
        let signature = sign_call(&secrets, "POST", "/internal/v1/reports", Clock::System.now(), batch.as_bytes());
        let call = client.request(reqwest::Method::POST, "/internal/v1/reports").header("x-updraft-signature", &signature).body(batch);
        client.send(call).await.assert(200);
        let ended = server.end(Signal::TERM).await;
        assert_eq!(ended.code, Some(0));

        assert!(ended.err.contains("release uploaded"), "{}", ended.err);
        assert!(ended.err.contains("invalid edge signature"), "{}", ended.err);
        let everything = format!("{}{}{}{}{}", made.out, made.err, key.err, ended.out, ended.err);
        for secret in [
            raw.as_str(),
            raw.trim_start_matches("svc_ak_"),
            email,
            "lovelace",
            PASSWORD,
            "edge-secret-",
            "download-secret-",
            KEY.split_once(':').unwrap().1,
            &deployment,
            "confidential",
            "203.0.113.77",
            signature.split_once("v1=").unwrap().1,
            path.split_once("signature=").unwrap().1,
            "PASSWORD",
            "argon2",
        ] {
            assert!(!everything.contains(secret), "{format}: {secret:?} is in the output:\n{}", around(&everything, secret));
        }
        if format == "json" {
            for line in ended.err.lines() {
                serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_links_are_logged_only_in_evaluation_setups() {
    for (base_url, is_logged) in [("http://localhost:8080", true), ("https://updates.example.com", false)] {
        let place = Place::new().await.with("BASE_URL", base_url);
        let server = Server::start(&place).await;
        let registration = json!({ "email": "ada.lovelace@example.com", "password": PASSWORD });
        Client::new(&server.base, None).post("/v1/auth/register", registration).await.assert(202);
        let mails = place.data().join("mail");
        let is_written = || mails.is_dir() && leftovers(&mails, "20").iter().any(|file| file.extension() == Some("eml".as_ref()));
        until("the email is written", async || is_written().then_some(())).await;
        let ended = server.end(Signal::TERM).await;
        assert!(ended.err.contains("an email was written"), "{}", ended.err);
        assert_eq!(ended.err.contains(&format!("{base_url}/dashboard/verify-email#token=")), is_logged, "{}", ended.err);
        assert!(!ended.err.contains("lovelace"), "{}", ended.err);
    }
}

/// The line that contains it.
fn around<'t>(text: &'t str, secret: &str) -> &'t str {
    text.lines().find(|line| line.contains(secret)).unwrap_or_default()
}
