//! A second implementation of WebAuthn (fido2, in `python/webauthn.py`), client and server, in its own process.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use xtask::paths;

use crate::wait::patience;

/// The other implementation; dropping it ends the process.
#[derive(Debug)]
pub struct Fido2 {
    origin: String,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    // Killed on drop.
    _process: Child,
}

impl Fido2 {
    /// Starts it for the pages of an origin.
    pub fn start(origin: &str) -> Self {
        let mut process = Command::new(paths::python(&paths::root()).unwrap())
            .arg(paths::root().join("tests/python/webauthn.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { origin: origin.to_owned(), input, lines: BufReader::new(output).lines(), _process: process }
    }

    /// Its client creates a passkey with these options.
    pub async fn create(&mut self, options: &Value) -> Value {
        self.ask(json!({ "do": "create", "options": options })).await["response"].take()
    }

    /// Its client asserts a passkey allowed by these options.
    pub async fn get(&mut self, options: &Value) -> Value {
        self.ask(json!({ "do": "get", "options": options })).await["response"].take()
    }

    /// Its server verifies a registration; returns the credential and its properties.
    pub async fn registered(&mut self, options: &Value, response: &Value) -> Value {
        self.ask(json!({ "do": "registered", "options": options, "response": response })).await
    }

    /// Its server verifies an assertion of a registered credential; returns its properties.
    pub async fn asserted(&mut self, options: &Value, response: &Value, credential: &Value) -> Value {
        self.ask(json!({ "do": "asserted", "options": options, "response": response, "credential": credential })).await
    }

    /// The response to a request; a refusal has the member `refused`.
    pub async fn ask(&mut self, mut question: Value) -> Value {
        question["origin"] = self.origin.clone().into();
        self.input.write_all(format!("{question}\n").as_bytes()).await.unwrap();
        let line = timeout(patience(), self.lines.next_line()).await.expect("fido2 answers").unwrap();
        serde_json::from_str(&line.expect("fido2 runs")).unwrap()
    }
}
