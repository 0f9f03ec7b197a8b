//! The Worker under `wrangler dev`: the same way for `cargo xtask dev` and for the tests.

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

/// The queue that carries reports from the edge to the control plane, as `wrangler.toml` names it.
const REPORTS: &str = "updraft-reports";

/// What wrangler would send a request through although everything is on this machine.
const PROXIES: [&str; 8] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"];

/// The Worker on this machine: what differs from one start to the next. Everything else is read from `wrangler.toml`.
#[derive(Clone, Debug)]
pub struct DevServer {
    /// The repository's root, absolute, with `node_modules` installed.
    pub root: PathBuf,
    /// The folder of the built Worker, absolute: `edge/build` of the root, or a build of another kind.
    pub worker: PathBuf,
    /// A folder for this server alone: configuration, secrets, wrangler's own files. Made when missing.
    pub work: PathBuf,
    /// Where KV, R2 and caches persist. Queues are held in memory whatever is given here.
    pub persist: PathBuf,
    /// The loopback port to listen on.
    pub port: u16,
    /// The control plane's address, without a trailing slash: `CONTROL_URL`.
    pub control_url: String,
    /// Shared with the control plane, for calls between the two: `EDGE_SECRET`.
    pub edge_secret: String,
    /// Shared with the control plane, for download addresses: `DOWNLOAD_SECRET`.
    pub download_secret: String,
    /// Worker variables that replace or join those of `wrangler.toml`.
    pub variables: BTreeMap<String, String>,
    /// How the consumer of reports differs from `wrangler.toml`.
    pub reports: Consumer,
}

/// Settings of a queue's consumer; what is absent stays as `wrangler.toml` has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consumer {
    /// Messages in one batch, at most.
    pub max_batch_size: Option<u32>,
    /// Seconds that a batch waits for more messages.
    pub max_batch_timeout: Option<u32>,
    /// Deliveries after the first one, before a message goes to the dead letters.
    pub max_retries: Option<u32>,
    /// Seconds before the next delivery, where the Worker does not say it itself.
    pub retry_delay: Option<u32>,
}

impl DevServer {
    /// The address that devices, and the control plane's `UPDRAFT_BASE_URL`, use: by name, as the README does.
    pub fn base_url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// The control plane's `UPDRAFT_KV_API`: wrangler's local form of Cloudflare's KV interface, which answers to loopback hosts only.
    pub fn kv_api(&self) -> String {
        format!("http://127.0.0.1:{}/cdn-cgi/local/explorer/api", self.port)
    }

    /// Writes the configuration and the secrets into the work folder and starts wrangler on them; each line that it prints is given to `line`.
    ///
    /// Ready once a request is answered, or once it has printed a line with `Ready on`. Fails, saying what is missing, when the Worker has not
    /// been built, the npm packages are not installed, or a folder cannot be written.
    pub fn start(&self, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Leashed> {
        Leashed::spawn(self.command()?, StopBy::Terminate, line)
    }

    /// The command that [`DevServer::start`] starts, with its files written: its own process group, on a leash (see [`leash::command`]).
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
        // `CF_FETCH` off: wrangler would otherwise ask workers.cloudflare.com for a sample of `request.cf`.
        command
            .env("CI", "1")
            .env("WRANGLER_SEND_METRICS", "false")
            .env("WRANGLER_HIDE_BANNER", "true")
            .env("CLOUDFLARE_CF_FETCH_ENABLED", "false");
        // Its lines are read by others, who put them into a terminal, or compare them.
        command.env("NO_COLOR", "1").env("FORCE_COLOR", "0");
        // Two servers, of two tests say, must not find each other, nor the developer's own login.
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
            present(&self.worker.join(file), "run `cargo xtask edge-build` first, or let `cargo xtask test` run the tests")?;
        }

        private::folder(&self.work)?;
        let path = self.work.join("wrangler.toml");
        fs::write(&path, self.adapt(config).to_string())?;
        private::write(&self.work.join(".dev.vars"), &self.secrets()?)?;
        Ok(path)
    }

    /// The repository's configuration, made independent of the folder it lies in.
    fn adapt(&self, mut config: Table) -> Table {
        // The Worker is built before, once, and not again by each server; deployments' environments are of no use here.
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
            // What the file's format would read as something else is refused, rather than escaped in a way of our own.
            if value.chars().any(|letter| letter.is_control() || matches!(letter, '"' | '\'' | '`' | '\\' | '$')) {
                return Err(io::Error::other(format!("{name} holds a quote, a backslash, a dollar or a control character")));
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
            control_url: "http://127.0.0.1:9000".to_owned(),
            edge_secret: "e".repeat(40),
            download_secret: "d".repeat(40),
            variables: BTreeMap::from([("SNAPSHOT_FRESH_MS".to_owned(), "200".to_owned())]),
            reports: Consumer { max_retries: Some(2), ..Consumer::default() },
        }
    }

    #[test]
    fn the_configuration_no_longer_depends_on_its_folder() {
        let config = server().adapt(CONFIG.parse::<Table>().unwrap());
        assert_eq!(config["main"].as_str(), Some("/repository/edge/build/entry.js"));
        assert!(!config.contains_key("build") && !config.contains_key("env"));
    }

    #[test]
    fn variables_and_the_consumer_of_reports_are_overridden_and_nothing_else() {
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
    fn a_secret_that_the_file_would_misread_is_refused() {
        let broken = DevServer { edge_secret: "a\"\nCONTROL_URL=http://elsewhere".to_owned(), ..server() };
        assert!(broken.secrets().is_err());
        assert_eq!(server().secrets().unwrap(), format!("EDGE_SECRET=\"{}\"\nDOWNLOAD_SECRET=\"{}\"\n", "e".repeat(40), "d".repeat(40)));
    }
}
