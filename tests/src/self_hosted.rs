//! The edge without Cloudflare: the Worker on a bare workerd, with a control plane in place of KV and the Queue.

use std::collections::BTreeMap;

use reqwest::Method;
use xtask::leash::Leashed;
use xtask::workerd::Workerd;
use xtask::{paths, probe};

use crate::app::{DOWNLOAD_SECRET, EDGE_SECRET, Options, TestApp};
use crate::client::Client;
use crate::output::Output;
use crate::process::Process;
use crate::wait::eventually;

/// A workerd with the committed configuration, not yet started: its port, the addresses of the control plane and its bindings, and Worker variables
/// besides the base URL and the secrets.
pub fn workerd(port: u16, control: &str, bindings: &str, variables: &[(&str, &str)]) -> Workerd {
    let base = format!("http://localhost:{port}");
    let given = [("BASE_URL", base.as_str()), ("EDGE_SECRET", EDGE_SECRET), ("DOWNLOAD_SECRET", DOWNLOAD_SECRET)];
    Workerd {
        root: paths::root(),
        config: paths::root().join("edge/workerd.capnp"),
        sockets: BTreeMap::from([("http".to_owned(), ([127, 0, 0, 1], port).into())]),
        externals: BTreeMap::from([("control".to_owned(), control.to_owned()), ("bindings".to_owned(), bindings.to_owned())]),
        environment: given.iter().chain(variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

/// A running workerd with the committed configuration.
#[derive(Debug)]
pub struct Edge {
    /// The Worker's URL, without a trailing slash.
    pub base: String,
    /// Its output.
    pub output: Output,
    leash: Leashed,
}

impl Edge {
    /// Starts it as in [`workerd`], for direct clients. Ready once the control plane's health is seen through the Worker.
    pub async fn start(port: u16, control: &str, bindings: &str, variables: &[(&str, &str)]) -> Self {
        let base = format!("http://localhost:{port}");
        let variables: Vec<_> = [("CLIENT_ADDRESS", "peer")].iter().chain(variables).copied().collect();
        let workerd = workerd(port, control.trim_start_matches("http://"), bindings, &variables);
        let output = Output::default();
        let lines = output.clone();
        let mut leash = workerd.start(move |line| lines.push(line)).unwrap_or_else(|error| panic!("workerd cannot be started: {error}"));
        let client = Client::new(&base, None);
        eventually("the control plane's health through the edge", async || {
            if let Some(status) = leash.status() {
                output.show("workerd");
                panic!("workerd exited with {status}");
            }
            match client.request(Method::GET, "/v1/health").send().await {
                Ok(answer) if answer.status() == 200 => Ok(()),
                Ok(answer) => Err(answer.text().await.unwrap_or_default()),
                Err(error) => Err(format!("{error:?}")),
            }
        })
        .await;
        Self { base, output, leash }
    }

    /// The process of workerd.
    pub fn process(&self) -> Process {
        Process(self.leash.id())
    }
}

/// A workerd with the committed configuration, and the control plane behind it.
#[derive(Debug)]
pub struct SelfHosted {
    /// The Worker's URL, without a trailing slash.
    pub base: String,
    /// Its output.
    pub output: Output,
    /// Stopped before the control plane.
    edge: Edge,
    /// The control plane.
    pub control: TestApp,
}

impl SelfHosted {
    /// Both, with additional Worker variables. Ready once the control plane's health is seen through the Worker.
    pub async fn spawn(variables: &[(&str, &str)]) -> Self {
        let port = probe::free_port().unwrap();
        let base = format!("http://localhost:{port}");
        let options = Options { has_machine_clock: true, ..Options::default() };
        let control = TestApp::spawn_with(options.with("BASE_URL", &base).with("BINDINGS_LISTEN", "127.0.0.1:0")).await;
        let edge = Edge::start(port, &control.base, control.bindings.as_deref().unwrap(), variables).await;
        Self { base, output: edge.output.clone(), edge, control }
    }

    /// A client without a credential, at the edge, with its own connection.
    pub fn anonymous(&self) -> Client {
        Client::new(&self.base, None)
    }

    /// The process of workerd.
    pub fn process(&self) -> Process {
        self.edge.process()
    }
}

impl Drop for SelfHosted {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.output.show("workerd");
        }
    }
}
