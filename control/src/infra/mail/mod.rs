//! The two transports for emails: a mail server, or a folder.
//!
//! The kinds of emails are in [`crate::domain::mail`]; their texts and the sending job are in [`crate::jobs::mail`].

pub mod folder;
pub mod smtp;

use std::path::PathBuf;
use std::time::Duration;

use lettre::message::Mailbox;

/// How emails are sent.
#[derive(Clone, Debug)]
pub struct MailConfig {
    /// The sender of emails.
    pub from: Mailbox,
    /// The mail server; without one, emails are written to files in the data folder.
    pub smtp: Option<SmtpConfig>,
}

/// When the connection to the mail server is encrypted. If it is, the certificate must be valid for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// From the first byte (`smtps:`).
    Implicit,
    /// With STARTTLS; without it nothing is sent.
    Required,
    /// With STARTTLS if the server offers it.
    Offered,
    /// Never.
    Off,
}

/// The mail server.
#[derive(Clone)]
pub struct SmtpConfig {
    /// The host name or address; IPv6 without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// User name and password.
    pub credentials: Option<(String, String)>,
    /// When the connection is encrypted.
    pub tls: SmtpTls,
    /// A PEM file with the CA certificates to trust instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// Timeout for the connection, and for the reply to a command.
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

/// Why an email could not be sent.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A retry may succeed.
    Transient(String),
    /// A retry will not succeed.
    Permanent(String),
}
