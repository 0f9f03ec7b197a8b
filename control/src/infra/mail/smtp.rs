//! Sends one email over its own connection, stage by stage: the meaning of a refusal depends on the stage.

use std::time::Duration;

use lettre::Message;
use lettre::message::Mailbox;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::{Failure, SmtpConfig, SmtpTls};
use crate::infra::error::Cause;

/// Timeout for the content, as a multiple of a command's: servers process the whole mail before they reply.
const CONTENT_FACTOR: u32 = 4;
/// Timeout for all stages: connection, STARTTLS, login, sender, recipient, start and end of the content.
const TOTAL_FACTOR: u32 = 6 + CONTENT_FACTOR;

/// The mail server.
pub(crate) struct Server {
    config: SmtpConfig,
    hello: ClientId,
    tls: OnceCell<TlsParameters>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.config.fmt(formatter)
    }
}

impl Server {
    /// A server; EHLO uses the sender's domain.
    pub(crate) fn new(config: SmtpConfig, from: &Mailbox) -> Self {
        Self { config, hello: ClientId::Domain(from.email.domain().to_owned()), tls: OnceCell::new() }
    }

    /// The maximum time that [`Server::send`] may take.
    pub(crate) fn max_duration(&self) -> Duration {
        self.config.timeout * TOTAL_FACTOR
    }

    /// Sends the message. A refusal is permanent only if it is about this recipient or this content: an operator can fix all others.
    pub(crate) async fn send(&self, message: &Message) -> Result<(), Failure> {
        let (envelope, content) = (message.envelope(), message.formatted());
        let mut connection = self.connect().await?;
        let mut parameters = Vec::new();
        if !envelope.to().iter().chain(envelope.from()).all(|address| address.to_string().is_ascii()) {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Failure::Permanent("the mail server does not support non-ASCII addresses".to_owned()));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        if !content.is_ascii() && connection.server_info().supports_feature(Extension::EightBitMime) {
            parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
        }
        self.stage("MAIL", connection.command(Mail::new(envelope.from().cloned(), parameters))).await?;
        for to in envelope.to() {
            self.stage("RCPT", connection.command(Rcpt::new(to.clone(), Vec::new()))).await.map_err(Refusal::of_this_recipient)?;
        }
        self.stage("DATA", connection.command(Data)).await?;
        let limit = self.config.timeout * CONTENT_FACTOR;
        within(limit, "content", connection.message(&content)).await.map_err(Refusal::of_this_content)?;
        // The server has accepted the email. Its reply to QUIT does not matter, so nobody waits for it.
        let quit_timeout = self.config.timeout;
        tokio::spawn(async move { drop(timeout(quit_timeout, connection.quit()).await) });
        Ok(())
    }

    /// Connects, encrypts and logs in as the settings say.
    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let SmtpConfig { host, port, credentials, tls, .. } = &self.config;
        let implicit = match tls {
            SmtpTls::Implicit => Some(self.tls().await?),
            _ => None,
        };
        let connecting = AsyncSmtpConnection::connect_tokio1((host.as_str(), *port), None, &self.hello, implicit, None);
        let mut connection = self.stage("connection", connecting).await?;
        if *tls == SmtpTls::Required || (*tls == SmtpTls::Offered && connection.can_starttls()) {
            let parameters = self.tls().await?;
            // Fails if the server does not offer it.
            self.stage("STARTTLS", connection.starttls(parameters, &self.hello)).await?;
        }
        if let Some((user, password)) = credentials {
            let credentials = Credentials::new(user.clone(), password.clone());
            self.stage("AUTH", connection.auth(DEFAULT_MECHANISMS, &credentials)).await?;
        }
        Ok(connection)
    }

    /// The TLS parameters, loaded once: the system's CA certificates are over a hundred files.
    async fn tls(&self) -> Result<TlsParameters, Failure> {
        let parameters = self.tls.get_or_try_init(|| async {
            let mut builder = TlsParameters::builder(self.config.host.clone());
            if let Some(path) = &self.config.tls_ca {
                let authorities = Certificate::from_pem(&tokio::fs::read(path).await?)?;
                builder = builder.certificate_store(CertificateStore::None).add_root_certificate(authorities);
            }
            Ok::<_, Cause>(builder.build_rustls()?)
        });
        parameters.await.cloned().map_err(|error| Failure::Transient(format!("TLS cannot be set up: {error}")))
    }

    async fn stage<T>(&self, name: &'static str, step: impl Future<Output = Result<T, Error>>) -> Result<T, Refusal> {
        within(self.config.timeout, name, step).await
    }
}

/// A failed stage; without an error it timed out.
struct Refusal {
    stage: &'static str,
    error: Option<Error>,
}

async fn within<T>(limit: Duration, stage: &'static str, step: impl Future<Output = Result<T, Error>>) -> Result<T, Refusal> {
    match timeout(limit, step).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Refusal { stage, error: Some(error) }),
        Err(_) => Err(Refusal { stage, error: None }),
    }
}

impl Refusal {
    /// Permanent if the mailbox does not exist: an enhanced status 5.1.x (RFC 3463), or without one a 550, 551 or 553 (RFC 5321, 4.2.3). Anything else,
    /// such as a denied relay or a full mailbox, can be fixed.
    fn of_this_recipient(self) -> Failure {
        let is_permanent = match (self.permanent(), self.subject()) {
            (Some(_), Some(subject)) => subject == "1",
            (Some(code), None) => matches!(code.as_str(), "550" | "551" | "553"),
            (None, _) => false,
        };
        if is_permanent { Failure::Permanent(self.reason()) } else { self.into() }
    }

    /// Permanent if the server cannot accept the email's content: an enhanced status 5.6.x.
    fn of_this_content(self) -> Failure {
        let is_permanent = self.permanent().is_some() && self.subject().as_deref() == Some("6");
        if is_permanent { Failure::Permanent(self.reason()) } else { self.into() }
    }

    /// The status, if it is a 5xx.
    fn permanent(&self) -> Option<String> {
        let error = self.error.as_ref().filter(|error| error.is_permanent())?;
        error.status().map(|code| code.to_string())
    }

    /// The second number of an enhanced status of class 5. If there is one, the server's text begins with it.
    fn subject(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let text = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let status = text.split(|character: char| !character.is_ascii_digit() && character != '.').find(|word| word.starts_with("5."))?;
        let mut numbers = status.split('.').skip(1);
        let subject = numbers.next().filter(|number| !number.is_empty())?;
        numbers.next().filter(|number| !number.is_empty())?;
        Some(subject.to_owned())
    }

    /// A text for the log, without the server's own: that often repeats the address.
    fn reason(&self) -> String {
        let stage = self.stage;
        match &self.error {
            None => format!("{stage}: timed out"),
            Some(error) => match error.status() {
                Some(code) => format!("{stage}: status {code}"),
                None if error.is_response() => format!("{stage}: the connection closed or the reply is not valid SMTP"),
                None => format!("{stage}: {error}"),
            },
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Transient(refusal.reason())
    }
}
