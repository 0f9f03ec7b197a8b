//! The Worker under `wrangler dev`, for both `cargo xtask dev` and the tests.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};

use crate::{
    leash::{self, Leashed, StopBy},
    paths, private,
};

/// The queue of reports from the edge to the control plane, as named in `wrangler.toml`.
const REPORTS: &str = "updraft-reports";

/// Proxy variables, which wrangler would use even for requests to this machine.
const PROXIES: [&str; 8] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// A Worker on this machine: the settings that differ per start. Everything else comes from `wrangler.toml`.
#[derive(Clone, Debug)]
pub struct DevServer {
    /// The repository's root, absolute, with `node_modules` installed.
    pub root: PathBuf,
    /// The directory of the built Worker, absolute: `edge/build`, or another variant of the build.
    pub worker: PathBuf,
    /// A directory for this server only: configuration, secrets, wrangler's own files. Created if missing.
    pub work: PathBuf,
    /// Where KV, R2 and caches persist. Queues are always in memory.
    pub persist: PathBuf,
    /// The loopback port to listen on.
    pub port: u16,
    /// The loopback port that devices use: another one where connections are forwarded.
    pub public_port: u16,
    /// The control plane's URL, without a trailing slash: `CONTROL_URL`.
    pub control_url: String,
    /// The secret shared with the control plane for internal calls: `EDGE_SECRET`.
    pub edge_secret: String,
    /// The secret shared with the control plane for download URLs: `DOWNLOAD_SECRET`.
    pub download_secret: String,
    /// Worker variables that override or extend those of `wrangler.toml`.
    pub variables: BTreeMap<String, String>,
    /// Overrides for the consumer of reports.
    pub reports: Consumer,
}

/// Settings of a queue consumer; absent ones stay as in `wrangler.toml`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consumer {
    /// Maximum number of messages in a batch.
    pub max_batch_size: Option<u32>,
    /// Seconds that a batch waits for more messages.
    pub max_batch_timeout: Option<u32>,
    /// Retries before a message goes to the dead letter queue.
    pub max_retries: Option<u32>,
    /// Seconds before a retry, unless the Worker sets a delay.
    pub retry_delay: Option<u32>,
}

impl DevServer {
    /// The URL for devices and for the control plane's `UPDRAFT_BASE_URL`. Uses the host name `localhost`, as the README does.
    pub fn base_url(&self) -> String {
        format!("http://localhost:{}", self.public_port)
    }

    /// The control plane's `UPDRAFT_KV_API`: wrangler's local version of Cloudflare's KV API, which answers only on loopback hosts.
    pub fn kv_api(&self) -> String {
        format!("http://127.0.0.1:{}/cdn-cgi/local/explorer/api", self.port)
    }

    /// Writes configuration and secrets to the work directory and starts wrangler with them. Calls `line` with each line that wrangler prints.
    ///
    /// The server is ready once it answers a request or prints `Ready on`. The error says what is missing: the build of the Worker, the npm packages, or
    /// a writable directory.
    pub fn start(&self, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Leashed> {
        Leashed::spawn(self.command()?, StopBy::Terminate, line)
    }

    /// Writes the files and returns the command for [`DevServer::start`]: with its own process group, on a leash (see [`leash::command`]).
    pub fn command(&self) -> io::Result<Command> {
        let wrangler = self.root.join("node_modules/wrangler/bin/wrangler.js");
        present(&wrangler, "run `npm ci`, or any `cargo xtask` command, first")?;
        let node = paths::node(&self.root)?;
        let config = self.write_config()?;
        let home = self.work.join("home");
        private::folder(&home)?;

        let mut command = leash::command(&node, StopBy::Terminate);
        command.arg(wrangler).args([
            "dev",
            "--local",
            "--ip",
            "127.0.0.1",
            "--inspector-port",
            "0",
            "--show-interactive-dev-session",
            "false",
        ]);
        command.args(["--port", &self.port.to_string()]).arg("--config").arg(config).arg("--persist-to").arg(&self.persist);
        command.current_dir(&self.work).env("PATH", paths::path_with(&node)?);
        // Without `CF_FETCH`, wrangler does not fetch a sample of `request.cf` from workers.cloudflare.com.
        command
            .env("CI", "1")
            .env("WRANGLER_SEND_METRICS", "false")
            .env("WRANGLER_HIDE_BANNER", "true")
            .env("CLOUDFLARE_CF_FETCH_ENABLED", "false");
        // No colors, because callers print the lines to a terminal or compare them.
        command.env("NO_COLOR", "1").env("FORCE_COLOR", "0");
        // Isolate servers from each other, as in parallel tests, and from the developer's own login.
        command.env("HOME", &home).env("XDG_CONFIG_HOME", home.join("config")).env("XDG_CACHE_HOME", home.join("cache"));
        command.env("WRANGLER_REGISTRY_PATH", home.join("registry")).env("WRANGLER_LOG_PATH", home.join("logs"));
        command.env("WRANGLER_CACHE_DIR", home.join("wrangler-cache"));
        for name in PROXIES {
            command.env_remove(name);
        }
        Ok(command)
    }

    fn write_config(&self) -> io::Result<PathBuf> {
        let source = self.root.join("wrangler.toml");
        let text = fs::read_to_string(&source).map_err(|error| io::Error::other(format!("{}: {error}", source.display())))?;
        let config: Table = text.parse().map_err(|error| io::Error::other(format!("{}: {error}", source.display())))?;
        for file in ["entry.js", "index_bg.wasm"] {
            present(&self.worker.join(file), "run `cargo xtask edge-build` first, or run the tests with `cargo xtask test`")?;
        }

        private::folder(&self.work)?;
        let path = self.work.join("wrangler.toml");
        fs::write(&path, self.adapt(config).to_string())?;
        private::write(&self.work.join(".dev.vars"), &self.secrets()?)?;
        Ok(path)
    }

    /// Makes the repository's configuration independent of its directory.
    fn adapt(&self, mut config: Table) -> Table {
        // The Worker is built once, before, not by each server. Deployment environments are not needed here.
        config.remove("build");
        config.remove("env");
        for (name, path) in [("main", self.worker.join("entry.js")), ("base_dir", self.worker.clone())] {
            config.insert(name.to_owned(), Value::from(path.display().to_string()));
        }
        if let Some(vars) = table(&mut config, "vars") {
            vars.insert("CONTROL_URL".to_owned(), Value::from(self.control_url.as_str()));
            vars.insert("BASE_URL".to_owned(), Value::from(self.base_url()));
            vars.extend(self.variables.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
        }
        let consumers = table(&mut config, "queues").and_then(|queues| queues.get_mut("consumers")).and_then(Value::as_array_mut);
        for consumer in consumers.into_iter().flatten().filter_map(Value::as_table_mut) {
            if consumer.get("queue").and_then(Value::as_str) == Some(REPORTS) {
                self.reports.put_into(consumer);
            }
        }
        config
    }

    fn secrets(&self) -> io::Result<String> {
        let line = |name: &str, value: &str| {
            // Reject characters that the file format would misread, instead of inventing an escape.
            if value.chars().any(|letter| letter.is_control() || matches!(letter, '"' | '\'' | '`' | '\\' | '$')) {
                return Err(io::Error::other(format!("{name} contains a quote, a backslash, a dollar sign or a control character")));
            }
            Ok(format!("{name}=\"{value}\"\n"))
        };
        Ok(line("EDGE_SECRET", &self.edge_secret)? + &line("DOWNLOAD_SECRET", &self.download_secret)?)
    }
}

impl Consumer {
    fn put_into(self, table: &mut Table) {
        let settings = [
            ("max_batch_size", self.max_batch_size),
            ("max_batch_timeout", self.max_batch_timeout),
            ("max_retries", self.max_retries),
            ("retry_delay", self.retry_delay),
        ];
        for (name, value) in settings {
            if let Some(value) = value {
                table.insert(name.to_owned(), Value::from(i64::from(value)));
            }
        }
    }
}

fn table<'t>(parent: &'t mut Table, name: &str) -> Option<&'t mut Table> {
    parent.entry(name).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
}

fn present(path: &Path, remedy: &str) -> io::Result<()> {
    if path.is_file() { Ok(()) } else { Err(io::Error::other(format!("{} is missing: {remedy}", path.display()))) }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use toml::{Table, Value};

    use super::{Consumer, DevServer};

    const CONFIG: &str = r#"
        name = "updraft-edge"
        main = "edge/build/entry.js"
        [build]
        command = "true"
        [vars]
        CONTROL_URL = "http://127.0.0.1:8080"
        SNAPSHOT_FRESH_MS = "5000"
        [[queues.consumers]]
        queue = "updraft-reports"
        max_batch_size = 100
        max_retries = 10
        [[queues.consumers]]
        queue = "updraft-reports-dead"
        max_retries = 3
        [env.production]
        name = "updraft-edge"
    "#;

    fn server() -> DevServer {
        DevServer {
            root: PathBuf::from("/repository"),
            worker: PathBuf::from("/repository/edge/build"),
            work: PathBuf::from("/work"),
            persist: PathBuf::from("/persist"),
            port: 8791,
            public_port: 8791,
            control_url: "http://127.0.0.1:9000".to_owned(),
            edge_secret: "e".repeat(40),
            download_secret: "d".repeat(40),
            variables: BTreeMap::from([("SNAPSHOT_FRESH_MS".to_owned(), "200".to_owned())]),
            reports: Consumer { max_retries: Some(2), ..Consumer::default() },
        }
    }

    #[test]
    fn the_configuration_does_not_depend_on_its_directory() {
        let config = server().adapt(CONFIG.parse::<Table>().unwrap());
        assert_eq!(config["main"].as_str(), Some("/repository/edge/build/entry.js"));
        assert!(!config.contains_key("build") && !config.contains_key("env"));
    }

    #[test]
    fn only_variables_and_the_consumer_of_reports_are_overridden() {
        let config = server().adapt(CONFIG.parse::<Table>().unwrap());
        assert_eq!(config["vars"]["CONTROL_URL"].as_str(), Some("http://127.0.0.1:9000"));
        assert_eq!(config["vars"]["BASE_URL"].as_str(), Some("http://localhost:8791"));
        assert_eq!(config["vars"]["SNAPSHOT_FRESH_MS"].as_str(), Some("200"));
        let numbers = |name: &str| -> Vec<Option<i64>> {
            config["queues"]["consumers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|consumer| consumer.get(name).and_then(Value::as_integer))
                .collect()
        };
        assert_eq!(numbers("max_retries"), [Some(2), Some(3)]);
        assert_eq!(numbers("max_batch_size"), [Some(100), None]);
    }

    #[test]
    fn a_secret_that_the_file_format_would_misread_is_rejected() {
        let broken = DevServer { edge_secret: "a\"\nCONTROL_URL=http://elsewhere".to_owned(), ..server() };
        assert!(broken.secrets().is_err());
        assert_eq!(server().secrets().unwrap(), format!("EDGE_SECRET=\"{}\"\nDOWNLOAD_SECRET=\"{}\"\n", "e".repeat(40), "d".repeat(40)));
    }
}
