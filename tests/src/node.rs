//! The real device SDKs, run by Node in a separate process (`node/sdk.mjs`, `node/sync.mjs`).

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use xtask::paths;

use crate::wait::patience;

/// A Node process that drives SDKs; dropping it ends the process.
#[derive(Debug)]
pub struct Sdks {
    // Killed on drop.
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Sdks {
    /// Starts the driver of single SDK calls.
    pub fn start() -> Self {
        Self::run_script("sdk.mjs")
    }

    /// Starts the driver of whole apps: the SDKs' `sync()` with the native parts replaced.
    pub fn with_apps() -> Self {
        Self::run_script("sync.mjs")
    }

    fn run_script(name: &str) -> Self {
        let root = paths::root();
        let node = paths::node(&root).unwrap();
        let mut process = Command::new(node)
            .arg(root.join("tests/node").join(name))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .env_remove("NODE_OPTIONS")
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { _process: process, input, output: BufReader::new(output).lines() }
    }

    /// Sends a command and returns its result; an SDK failure fails the test.
    pub async fn run(&mut self, command: Value) -> Value {
        let exchange = async {
            self.input.write_all(format!("{command}\n").as_bytes()).await.unwrap();
            self.output.next_line().await.unwrap().expect("the driver responds to every command")
        };
        let line = timeout(patience(), exchange).await.unwrap_or_else(|_| panic!("the SDK did not respond: {command}"));
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer.get("error").is_none(), "{command}: {}", answer["error"].as_str().unwrap_or_default());
        answer["ok"].take()
    }

    /// Creates a client with the SDK package `sdk`, and returns the package's version.
    pub async fn client(&mut self, client: &str, sdk: &str, configuration: Value) -> String {
        let version = self.run(json!({ "do": "new", "client": client, "sdk": sdk, "configuration": configuration })).await;
        version.as_str().unwrap().to_owned()
    }
}
