//! The two ways that a mail goes out: a mail server, or a folder.
//!
//! The kinds of mails are in [`crate::domain::mail`]; their words, and when they are sent, in [`crate::jobs::mail`].

pub mod folder;
pub mod smtp;

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;

/// How mails go out.
#[derive(Clone, Debug)]
pub struct MailConfig {
    /// Whom mails are from.
    pub from: Mailbox,
    /// The mail server; without one, mails become files in the data folder.
    pub smtp: Option<SmtpConfig>,
}

/// When the way to the mail server is encrypted. Whenever it is, the certificate must be valid for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// From the first byte (`smtps:`).
    Implicit,
    /// By STARTTLS, and nothing is sent without.
    Required,
    /// By STARTTLS when the server offers it.
    Offered,
    /// Never.
    Off,
}

/// The mail server.
#[derive(Clone)]
pub struct SmtpConfig {
    /// Its name or address; IPv6 without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// User name and password.
    pub credentials: Option<(String, String)>,
    /// Encryption.
    pub tls: SmtpTls,
    /// A PEM file of the authorities that are trusted in place of the system's.
    pub tls_ca: Option<PathBuf>,
    /// The longest wait for the connection, and for the answer to a command.
    pub timeout: Duration,
}

impl std::fmt::Debug for SmtpConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SmtpConfig")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// Why a mail did not go out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may go out later.
    Passing(String),
    /// It never will.
    Final(String),
}
