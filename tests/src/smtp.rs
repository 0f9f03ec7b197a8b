//! A real mail server (aiosmtpd) in its own process (`python/smtp.py`), which can refuse, stall and drop on demand.

use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use xtask::paths;

use crate::ReceivedMail;
use crate::output::Output;

/// The mail server's user.
pub const USER: &str = "updraft@example.com";
/// The user's password.
pub const PASSWORD: &str = "p:ss/w@rd";

/// How a mail server encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// None.
    Off,
    /// Required STARTTLS.
    StartTls,
    /// Implicit TLS.
    Implicit,
}

/// A mail server; dropping it ends the process.
#[derive(Debug)]
pub struct MailServer {
    /// Its port on the loopback address.
    pub port: u16,
    /// Its self-signed certificate.
    pub certificate: std::path::PathBuf,
    output: Output,
    input: ChildStdin,
    replacements: usize,
    _folder: TempDir,
    // Killed on drop.
    _process: Child,
}

impl MailServer {
    /// Starts a server that requires [`USER`] and [`PASSWORD`] if `has_login`.
    pub async fn start(tls: Tls, has_login: bool) -> Self {
        let folder = TempDir::new().unwrap();
        let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = Command::new(paths::python(&paths::root()).unwrap())
            .arg(paths::root().join("tests/python/smtp.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (mut input, printed) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let output = Output::default();
        let kept = output.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(printed).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                kept.push(&line);
            }
        });
        let tls = match tls {
            Tls::Off => "off",
            Tls::StartTls => "starttls",
            Tls::Implicit => "implicit",
        };
        let login = has_login.then_some((USER, PASSWORD));
        let options = json!({
            "tls": tls, "certificate": certificate, "key": key,
            "user": login.map(|(user, _)| user), "password": login.map(|(_, password)| password),
        });
        input.write_all(format!("{options}\n").as_bytes()).await.unwrap();
        let listening = output.until("listening", |events| !events.is_empty()).await;
        let port = listening[0]["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap();
        Self { port, certificate, output, input, replacements: 0, _folder: folder, _process: process }
    }

    /// Sets the faults (see `python/smtp.py`) from now on; an empty list repairs it.
    pub async fn fail(&mut self, faults: Value) {
        self.input.write_all(format!("{}\n", json!({ "faults": faults })).as_bytes()).await.unwrap();
        self.replacements += 1;
        self.output.until("replaced", |events| events.len() == self.replacements).await;
    }

    /// Waits until it has failed this many times in total.
    pub async fn failed(&self, times: usize) {
        self.output.until("fault", |events| events.len() >= times).await;
    }

    /// The number of failures so far.
    pub fn failures(&self) -> usize {
        self.output.events("fault").len()
    }

    /// The accepted emails so far: one event each, with `to`, `is_encrypted`, `user` and `source`.
    pub fn taken(&self) -> Vec<Value> {
        self.output.events("mail")
    }

    /// Waits until it has accepted this many emails in total, and returns them.
    pub async fn mails(&self, count: usize) -> Vec<ReceivedMail> {
        let events = self.output.until("mail", |events| events.len() >= count).await;
        events.iter().map(|event| ReceivedMail::parse(event["source"].as_str().unwrap().as_bytes())).collect()
    }
}
