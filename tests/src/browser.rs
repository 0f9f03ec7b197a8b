//! A real browser with a profile of its own: Chromium without a window, driven through chromedriver. It reaches this machine and nothing else.

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

/// A browser with one window; it ends with this value.
#[derive(Debug)]
pub struct Browser {
    /// Its window, for everything that `WebDriver` can do.
    pub window: Client,
    output: Output,
    // In this order: the browser ends before its profile goes.
    _driver: Leashed,
    folder: TempDir,
}

/// A command of `WebDriver`, or of chromedriver, by its place under the session.
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
        let found = paths::browser().expect("chromium and chromedriver are on PATH: as root, `cargo xtask test` installs them");
        let folder = TempDir::new().unwrap();
        let log = folder.path().join("chromedriver.log");
        let (driver, output, port) = loop {
            let mut command = leash::command(&found.driver, StopBy::Terminate);
            // What Chromium says comes with what the driver prints; what the driver does is in a file, as it is too much to keep.
            command.args(["--port=0", "--enable-chrome-logs", "--verbose"]).arg(format!("--log-path={}", log.display()));
            command.current_dir(folder.path());
            // What Chromium keeps beside its profile, such as the certificates that it trusts, is the test's own too.
            command.env("HOME", folder.path()).env("TMPDIR", folder.path());
            for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] {
                command.env_remove(name);
            }
            let output = Output::default();
            let lines = output.clone();
            let driver = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
            let port = eventually("chromedriver says its port", async || {
                let lines = output.lines();
                lines.iter().find_map(|line| port_in(line)).ok_or_else(|| lines.join("\n"))
            })
            .await;
            // It takes a free port of IPv6, then the same of IPv4, and ends when another program has that one.
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

    /// Runs the body of a function in the page, waits for the promise that it returns, if it does, and gives the value.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.window.execute(script, arguments.to_vec()).await.unwrap_or_else(|error| panic!("{error}\n{script}"))
    }

    /// A command by its place under the session: POST with a body, else GET. Fails with what the driver says.
    pub async fn command(&self, path: &str, body: Option<Value>) -> Result<Value, String> {
        self.window.issue_cmd(Command { path: path.to_owned(), body }).await.map_err(|error| format!("{path}: {error}"))
    }

    /// A command of Chromium's own, by the name that its `DevTools` protocol gives it.
    pub async fn chromium(&self, name: &str, parameters: Value) -> Value {
        self.command("goog/cdp/execute", Some(json!({ "cmd": name, "params": parameters }))).await.unwrap()
    }

    /// What a log of this kind (`browser`: the console; `performance`: what the network did) has had since it was read last.
    pub async fn log(&self, kind: &str) -> Vec<Value> {
        self.command("se/log", Some(json!({ "type": kind }))).await.unwrap().as_array().unwrap().clone()
    }

    /// The folder that downloads come into.
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

/// What chromedriver says of the port that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Number(u16),
    Taken,
}

/// The same, from the line in which it says so.
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
        // Containers give it 64 MB, which is too little.
        "--disable-dev-shm-usage",
        // Everything that a browser asks its maker for; and if something is forgotten here, no name but this machine's is found.
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
    let downloads = json!({ "download.default_directory": folder.join("downloads"), "download.prompt_for_download": false });
    json!({
        "browserName": "chrome",
        "goog:chromeOptions": { "binary": program, "args": arguments, "prefs": downloads },
        "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
    })
}

/// Serves an empty page on a port of its own, which makes it an origin of its own, and gives its address; it ends with the test's runtime.
pub async fn empty_page() -> String {
    serve(Router::new().fallback(async || Html("<!doctype html><title>empty</title>"))).await
}

/// The same with answers without a content: a browser that is led there stays where it is.
pub async fn silent_page() -> String {
    serve(Router::new().fallback(async || StatusCode::NO_CONTENT)).await
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    base
}
