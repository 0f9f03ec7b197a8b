//! A second implementation of WebAuthn (fido2, in `python/webauthn.py`), client and server, in a process of its own.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use xtask::paths;

use crate::wait::patience;

/// The other implementation; it ends with this value.
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

    /// Its client makes a passkey by these options.
    pub async fn create(&mut self, options: &Value) -> Value {
        self.ask(json!({ "do": "create", "options": options })).await["response"].take()
    }

    /// Its client asserts a passkey that these options allow.
    pub async fn get(&mut self, options: &Value) -> Value {
        self.ask(json!({ "do": "get", "options": options })).await["response"].take()
    }

    /// Its server takes a registration; gives the credential, and what was said of it.
    pub async fn registered(&mut self, options: &Value, response: &Value) -> Value {
        self.ask(json!({ "do": "registered", "options": options, "response": response })).await
    }

    /// Its server takes an assertion of a credential that it took before; gives what was said.
    pub async fn asserted(&mut self, options: &Value, response: &Value, credential: &Value) -> Value {
        self.ask(json!({ "do": "asserted", "options": options, "response": response, "credential": credential })).await
    }

    /// The answer to a question; one that is refused has the member `refused`.
    pub async fn ask(&mut self, mut question: Value) -> Value {
        question["origin"] = self.origin.clone().into();
        self.input.write_all(format!("{question}\n").as_bytes()).await.unwrap();
        let line = timeout(patience(), self.lines.next_line()).await.expect("fido2 answers").unwrap();
        serde_json::from_str(&line.expect("fido2 runs")).unwrap()
    }
}
