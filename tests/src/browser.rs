//! A real browser with its own profile: headless Chromium, driven through chromedriver. It has access to this machine only.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Html;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use xtask::leash::{self, Leashed, StopBy};
use xtask::paths;

use crate::output::Output;
use crate::wait::eventually;

/// A browser with one window; dropping it closes the browser.
#[derive(Debug)]
pub struct Browser {
    /// Its window, for everything that `WebDriver` supports.
    pub window: Client,
    output: Output,
    // In this order: the browser closes before its profile is deleted.
    _driver: Leashed,
    folder: TempDir,
}

/// A command of `WebDriver` or chromedriver, by its path in the session.
#[derive(Debug)]
struct Command {
    path: String,
    body: Option<Value>,
}

impl WebDriverCompatibleCommand for Command {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, <Url as FromStr>::Err> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        match &self.body {
            Some(body) => (Method::POST, Some(body.to_string())),
            None => (Method::GET, None),
        }
    }
}

impl Browser {
    /// Starts a browser on an empty page.
    pub async fn start() -> Self {
        let found = paths::browser().expect("chromium and chromedriver must be on PATH: as root, `cargo xtask test` installs them");
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("chromedriver.log");
        let (driver, output, port) = loop {
            let mut command = leash::command(&found.driver, StopBy::Terminate);
            // Chromium's output is mixed with the driver's; the driver's log is in a file, since it is too long to keep.
            command.args(["--port=0", "--enable-chrome-logs", "--verbose"]).arg(format!("--log-path={}", log.display()));
            command.current_dir(folder.path());
            // Files that Chromium stores outside its profile, such as trusted certificates, also belong to the test.
            command.env("HOME", folder.path()).env("TMPDIR", folder.path());
            for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] {
                command.env_remove(name);
            }
            let output = Output::default();
            let lines = output.clone();
            let driver = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
            let port = eventually("chromedriver prints its port", async || {
                let lines = output.lines();
                lines.iter().find_map(|line| port_in(line)).ok_or_else(|| lines.join("\n"))
            })
            .await;
            // It takes a free IPv6 port, then the same IPv4 port, and exits if that is in use.
            if let Port::Number(port) = port {
                break (driver, output, port);
            }
        };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(&found.program, folder.path()).as_object().unwrap().clone());
        let window = builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap_or_else(|error| {
            output.show("chromedriver");
            eprintln!("{}", fs::read_to_string(&log).unwrap_or_else(|error| error.to_string()));
            panic!("the browser does not start: {error}")
        });
        Self { window, output, _driver: driver, folder }
    }

    /// Runs a function body in the page, awaits a returned promise, and returns the value.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.window.execute(script, arguments.to_vec()).await.unwrap_or_else(|error| panic!("{error}\n{script}"))
    }

    /// A command by its path in the session: POST with a body, otherwise GET. Fails with the driver's error.
    pub async fn command(&self, path: &str, body: Option<Value>) -> Result<Value, String> {
        self.window.issue_cmd(Command { path: path.to_owned(), body }).await.map_err(|error| format!("{path}: {error}"))
    }

    /// A `DevTools` command of Chromium, by its protocol name.
    pub async fn chromium(&self, name: &str, parameters: Value) -> Value {
        self.command("goog/cdp/execute", Some(json!({ "cmd": name, "params": parameters }))).await.unwrap()
    }

    /// New entries of a log of this kind (`browser`: the console; `performance`: network events).
    pub async fn log(&self, kind: &str) -> Vec<Value> {
        self.command("se/log", Some(json!({ "type": kind }))).await.unwrap().as_array().unwrap().clone()
    }

    /// The downloads folder.
    pub fn downloads(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.output.show("chromedriver");
        }
    }
}

/// What chromedriver logs about its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Number(u16),
    Taken,
}

/// Parses that log line.
fn port_in(line: &str) -> Option<Port> {
    if line.contains("port not available") {
        return Some(Port::Taken);
    }
    line.strip_prefix("ChromeDriver was started successfully on port ")?.trim_end_matches('.').parse().ok().map(Port::Number)
}

fn capabilities(program: &Path, folder: &Path) -> Value {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let mut arguments = vec![
        "--headless=new",
        profile.as_str(),
        "--no-first-run",
        "--disable-gpu",
        // Containers limit it to 64 MB, which is too little.
        "--disable-dev-shm-usage",
        // All requests to the browser's vendor; anything missing here cannot resolve names other than this machine's.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-sync",
        "--no-pings",
        "--no-proxy-server",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    ];
    if rustix::process::geteuid().is_root() {
        // Its sandbox refuses root.
        arguments.push("--no-sandbox");
    }
    let downloads = json!({ "download.default_directory": folder.join("downloads"), "download.prompt_for_download": false,
        "profile.default_content_setting_values.automatic_downloads": 1 });
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": { "binary": program, "args": arguments, "prefs": downloads },
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
    })
}

/// Serves an empty page on its own port, and therefore its own origin, and returns its URL; it stops with the test's runtime.
pub async fn empty_page() -> String {
    serve(Router::new().fallback(async || Html("<!doctype html><title>empty</title>"))).await
}

/// The same with empty responses: a browser navigated there stays where it is.
pub async fn silent_page() -> String {
    serve(Router::new().fallback(async || StatusCode::NO_CONTENT)).await
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    base
}
