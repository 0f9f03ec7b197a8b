//! A control plane in the test's own process: bound to port 0 before it is spawned, with a fresh database, a fresh folder and a test clock.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use control::testing;
use control::testing::server::{self, Running};
use control::testing::{AppState, Clock, Config, Db, Entropy, TestClock};
use shared::time::UnixMillis;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::bucket::TestBucket;
use crate::client::Client;
use crate::database::TestDatabase;
use crate::people::PASSWORD_HASH;
use crate::remote_listener::RemoteListener;

/// The edge secret in tests, shared with the edge.
pub const EDGE_SECRET: &str = "edge-secret-of-the-tests-0123456789abcdef";
/// Signs download URLs in tests.
pub const DOWNLOAD_SECRET: &str = "download-secret-of-the-tests-0123456789ab";
/// The encryption key in tests.
pub const ENCRYPTION_KEY: &str = "t1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// How a test's server differs from the default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings by their full names, such as `UPDRAFT_BASE_URL`.
    pub settings: BTreeMap<String, String>,
    /// The address to listen on; defaults to a free port on loopback.
    pub listen: Option<SocketAddr>,
    /// Whether clients appear to be on other machines, see [`RemoteListener`].
    pub is_remote: bool,
    /// Whether bundles are in a bucket, also when the other tests of the run have a folder.
    pub has_bucket: bool,
    /// The machine's clock instead of a test clock: for tests with another program.
    pub has_machine_clock: bool,
    /// When the test clock starts; defaults to the machine's time.
    pub start: Option<UnixMillis>,
}

impl Options {
    /// Adds a setting; the name is without the prefix.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.insert(format!("UPDRAFT_{name}"), value.into());
        self
    }
}

/// A server under test.
#[derive(Debug)]
pub struct TestApp {
    /// Its URL, without a trailing slash.
    pub base: String,
    /// The address of the bindings for a self-hosted edge, `HOST:PORT`; only with the setting `BINDINGS_LISTEN`, whose port may be 0.
    pub bindings: Option<String>,
    /// Its clock, unless it uses the machine's.
    pub clock: TestClock,
    options: Options,
    running: Option<Running>,
    database: TestDatabase,
    folder: TempDir,
    pub(crate) bucket: Option<TestBucket>,
}

impl TestApp {
    /// A server with the default settings.
    pub async fn spawn() -> Self {
        Self::spawn_with(Options::default()).await
    }

    /// A server with other settings. Its clock starts at the machine's time, since the edge uses that.
    pub async fn spawn_with(options: Options) -> Self {
        let database = TestDatabase::create().await;
        let folder = TempDir::new().unwrap();
        let clock = options.start.map_or_else(TestClock::starting_now, TestClock::at);
        // The suite runs once more with a bucket.
        let is_in_bucket = options.has_bucket || std::env::var("TEST_STORAGE").is_ok_and(|storage| storage == "s3");
        let bucket = if is_in_bucket { Some(TestBucket::start()) } else { None };
        let mut app = Self { base: String::new(), bindings: None, clock, options, running: None, database, folder, bucket };
        app.start().await;
        app
    }

    /// Starts the server; after [`TestApp::stop`] on the same address.
    pub async fn start(&mut self) {
        assert!(self.running.is_none(), "the server is running");
        let listener = TcpListener::bind(self.options.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)))).await.unwrap();
        let address = listener.local_addr().unwrap();
        self.options.listen = Some(address);
        self.base = format!("http://{address}");
        let config = Config::read(&self.settings()).unwrap();
        let bindings = match config.bindings_listen {
            Some(address) => Some(TcpListener::bind(address).await.unwrap()),
            None => None,
        };
        if let Some(bindings) = &bindings {
            // Like the main address: the next start uses the same.
            let address = bindings.local_addr().unwrap().to_string();
            self.configure("BINDINGS_LISTEN", &address);
            self.bindings = Some(address);
        }
        let clock = if self.options.has_machine_clock { Clock::System } else { Clock::Test(self.clock.clone()) };
        let parts = server::build(config, clock, Entropy::System).await.unwrap();
        let running = if self.options.is_remote {
            server::spawn(parts, RemoteListener(listener), bindings).unwrap()
        } else {
            server::spawn(parts, listener, bindings).unwrap()
        };
        self.running = Some(running);
    }

    /// The bucket with its bundles. Only with the option [`Options::has_bucket`].
    pub fn bucket(&mut self) -> &mut TestBucket {
        self.bucket.as_mut().expect("the app has a bucket")
    }

    /// Like [`TestApp::bucket`], for what does not stop or start it.
    pub fn bucket_ref(&self) -> &TestBucket {
        self.bucket.as_ref().expect("the app has a bucket")
    }

    /// Replaces the bytes of a stored object behind everybody's back.
    pub fn alter_object(&self, key: &shared::hash::BlobKey, bytes: &[u8]) {
        if let Some(bucket) = &self.bucket {
            return bucket.replace(&key.to_string(), bytes);
        }
        let first_two = &key.sha256.as_str()[..2];
        let folder = self.folder.path().join("blobs").join(key.app.as_str()).join(first_two);
        std::fs::write(folder.join(key.sha256.as_str()), bytes).unwrap();
    }

    /// Loses a stored object behind everybody's back.
    pub fn lose_object(&self, key: &shared::hash::BlobKey) {
        if let Some(bucket) = &self.bucket {
            return bucket.lose(&key.to_string());
        }
        let first_two = &key.sha256.as_str()[..2];
        std::fs::remove_file(self.folder.path().join("blobs").join(key.app.as_str()).join(first_two).join(key.sha256.as_str())).unwrap();
    }

    /// Loses every object that is stored, as a broken disk does.
    pub fn lose_objects(&self) {
        match &self.bucket {
            Some(bucket) => bucket.lose_objects(),
            None => std::fs::remove_dir_all(self.folder.path().join("blobs")).unwrap(),
        }
        std::fs::create_dir_all(self.folder.path().join("blobs/.tmp")).unwrap();
    }

    /// Shuts the server down; the database and the folder are kept.
    pub async fn stop(&mut self) {
        self.running.take().expect("the server is running").stop().await.unwrap();
    }

    /// The server's settings by their full names: for a second server, or the program, on the same database.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("UPDRAFT_DATA_DIR".to_owned(), self.folder.path().display().to_string()),
            ("UPDRAFT_EDGE_SECRET".to_owned(), EDGE_SECRET.to_owned()),
            ("UPDRAFT_DOWNLOAD_SECRET".to_owned(), DOWNLOAD_SECRET.to_owned()),
            ("UPDRAFT_ENCRYPTION_KEY".to_owned(), ENCRYPTION_KEY.to_owned()),
            ("UPDRAFT_BASE_URL".to_owned(), self.base.clone()),
            // Diffs appear some time after a release: only tests of diffs want them.
            ("UPDRAFT_DIFFS".to_owned(), "off".to_owned()),
        ]);
        settings.extend(self.database.url().map(|url| ("UPDRAFT_DATABASE_URL".to_owned(), url)));
        settings.extend(self.bucket.iter().flat_map(TestBucket::settings));
        settings.extend(self.options.settings.clone());
        settings
    }

    /// Changes a setting for the next start; the name is without the prefix.
    pub fn configure(&mut self, name: &str, value: &str) {
        self.options.settings.insert(format!("UPDRAFT_{name}"), value.to_owned());
    }

    /// Stores bundles in this bucket from the next start on: the value of `UPDRAFT_STORAGE`, and the key's ID and secret.
    pub fn configure_bucket(&mut self, storage: &str, key: (&str, &str)) {
        let settings = [("UPDRAFT_STORAGE", storage), ("AWS_ACCESS_KEY_ID", key.0), ("AWS_SECRET_ACCESS_KEY", key.1)];
        self.options.settings.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// The state of the server's handlers.
    pub fn state(&self) -> AppState {
        self.running.as_ref().expect("the server is running").state().clone()
    }

    /// The server's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server's database.
    pub fn db(&self) -> &Db {
        &self.running.as_ref().expect("the server is running").state().db
    }

    /// A client without a credential.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.base, None)
    }

    /// A client of a new account `<name>@example.com` with a new access key. Its password is [`crate::people::PASSWORD`].
    pub async fn sign_up(&self, name: &str) -> Client {
        Client::new(&self.base, Some(self.access_key(name, testing::ACCESS_KEY_TTL).await))
    }

    /// The raw access key of a new account `<name>@example.com`, valid for `ttl` ms.
    pub async fn access_key(&self, name: &str, ttl: i64) -> String {
        let email = format!("{name}@example.com");
        let mut tx = self.db().write().await.unwrap();
        let limits = self.state().settings.limits.account;
        let account = testing::account(&mut tx, &email, PASSWORD_HASH, limits, self.clock.now()).await.unwrap();
        let key = testing::access_key(&mut tx, &account, "test", ttl, self.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
        key
    }
}
