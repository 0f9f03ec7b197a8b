//! A real browser with a profile of its own: Chromium without a window, driven through chromedriver. It reaches this machine and nothing else.

use std::path::Path;

use axum::Router;
use axum::response::Html;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use xtask::leash::{self, Leashed, StopBy};
use xtask::{paths, probe};

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
    _folder: TempDir,
}

impl Browser {
    /// Starts a browser on an empty page.
    pub async fn start() -> Self {
        let found = paths::browser().expect("chromium and chromedriver are on PATH: as root, `cargo xtask test` installs them");
        let folder = TempDir::new().unwrap();
        let port = probe::free_port().unwrap();
        let mut command = leash::command(found.driver, StopBy::Terminate);
        command.arg(format!("--port={port}")).current_dir(folder.path());
        // What Chromium keeps beside its profile, such as the certificates that it trusts, is the test's own too.
        command.env("HOME", folder.path()).env("TMPDIR", folder.path());
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"] {
            command.env_remove(name);
        }
        let output = Output::default();
        let lines = output.clone();
        let mut driver = Leashed::spawn(command, StopBy::Terminate, move |line| lines.push(line)).unwrap();
        eventually("chromedriver's start", async || {
            if let Some(status) = driver.status() {
                output.show("chromedriver");
                panic!("chromedriver ended with {status}");
            }
            if probe::answers(port, "/status") { Ok(()) } else { Err("no answer".to_owned()) }
        })
        .await;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(&found.program, folder.path()).as_object().unwrap().clone());
        let window = builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap_or_else(|error| {
            output.show("chromedriver");
            panic!("the browser does not start: {error}")
        });
        Self { window, output, _driver: driver, _folder: folder }
    }

    /// Runs the body of a function in the page, waits for the promise that it returns, if it does, and gives the value.
    pub async fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.window.execute(script, arguments.to_vec()).await.unwrap_or_else(|error| panic!("{error}\n{script}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.output.show("chromedriver");
        }
    }
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
    json!({ "browserName": "chrome", "goog:chromeOptions": { "binary": program, "args": arguments } })
}

/// Serves an empty page on a port of its own, which makes it an origin of its own, and gives its address; it ends with the test's runtime.
pub async fn empty_page() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(async || Html("<!doctype html><title>empty</title>"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    base
}
