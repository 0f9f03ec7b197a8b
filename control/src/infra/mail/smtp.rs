//! One mail to the mail server, over a connection of its own, stage by stage: what a refusal means depends on what was refused.

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

/// What a server does with a whole mail before it answers takes longer than a command, by this factor.
const CONTENT_FACTOR: u32 = 4;
/// Connection, STARTTLS, login, sender, recipient, the beginning and the end of the content.
const LONGEST_FACTOR: u32 = 6 + CONTENT_FACTOR;

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
    /// A server that is greeted with the sender's domain.
    pub(crate) fn new(config: SmtpConfig, from: &Mailbox) -> Self {
        Self { config, hello: ClientId::Domain(from.email.domain().to_owned()), tls: OnceCell::new() }
    }

    /// The longest that [`Server::send`] may take.
    pub(crate) fn longest(&self) -> Duration {
        self.config.timeout * LONGEST_FACTOR
    }

    /// Gives the message to the server. A refusal is final only where it is about this recipient or this content: every other one is cured by
    /// whoever runs this service or the server.
    pub(crate) async fn send(&self, message: &Message) -> Result<(), Failure> {
        let (envelope, content) = (message.envelope(), message.formatted());
        let mut connection = self.connect().await?;
        let mut parameters = Vec::new();
        if !envelope.to().iter().chain(envelope.from()).all(|address| address.to_string().is_ascii()) {
            if !connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Failure::Final("the mail server does not take addresses outside of ASCII".to_owned()));
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
        // The mail is the server's now. What it says to our leaving changes nothing, and nobody waits for it.
        let farewell = self.config.timeout;
        tokio::spawn(async move { drop(timeout(farewell, connection.quit()).await) });
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
            // Fails where the server does not offer it.
            self.stage("STARTTLS", connection.starttls(parameters, &self.hello)).await?;
        }
        if let Some((user, password)) = credentials {
            let credentials = Credentials::new(user.clone(), password.clone());
            self.stage("AUTH", connection.auth(DEFAULT_MECHANISMS, &credentials)).await?;
        }
        Ok(connection)
    }

    /// Made once: the system's authorities are some hundred files.
    async fn tls(&self) -> Result<TlsParameters, Failure> {
        let parameters = self.tls.get_or_try_init(|| async {
            let mut builder = TlsParameters::builder(self.config.host.clone());
            if let Some(path) = &self.config.tls_ca {
                let authorities = Certificate::from_pem(&tokio::fs::read(path).await?)?;
                builder = builder.certificate_store(CertificateStore::None).add_root_certificate(authorities);
            }
            Ok::<_, Cause>(builder.build_rustls()?)
        });
        parameters.await.cloned().map_err(|error| Failure::Passing(format!("TLS cannot be set up: {error}")))
    }

    async fn stage<T>(&self, name: &'static str, step: impl Future<Output = Result<T, Error>>) -> Result<T, Refusal> {
        within(self.config.timeout, name, step).await
    }
}

/// What a stage came to when it did not succeed.
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
    /// Final where there is no such mailbox: an enhanced status 5.1.x (RFC 3463), or without one a 550, 551 or 553 (RFC 5321, 4.2.3). Anything else,
    /// such as a relay that is denied or a mailbox that is full, is cured by somebody.
    fn of_this_recipient(self) -> Failure {
        let is_final = match (self.permanent(), self.subject()) {
            (Some(_), Some(subject)) => subject == "1",
            (Some(code), None) => matches!(code.as_str(), "550" | "551" | "553"),
            (None, _) => false,
        };
        if is_final { Failure::Final(self.reason()) } else { self.into() }
    }

    /// Final where the server cannot take what the mail consists of: an enhanced status 5.6.x.
    fn of_this_content(self) -> Failure {
        let is_final = self.permanent().is_some() && self.subject().as_deref() == Some("6");
        if is_final { Failure::Final(self.reason()) } else { self.into() }
    }

    /// The status, where it is a 5xx.
    fn permanent(&self) -> Option<String> {
        let error = self.error.as_ref().filter(|error| error.is_permanent())?;
        error.status().map(|code| code.to_string())
    }

    /// The second number of an enhanced status of class 5, which the server's own words begin with where there is one.
    fn subject(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        let said = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let status = said.split(|character: char| !character.is_ascii_digit() && character != '.').find(|word| word.starts_with("5."))?;
        let mut numbers = status.split('.').skip(1);
        let subject = numbers.next().filter(|number| !number.is_empty())?;
        numbers.next().filter(|number| !number.is_empty())?;
        Some(subject.to_owned())
    }

    /// For the log, without the server's own words: they often repeat the address.
    fn reason(&self) -> String {
        let stage = self.stage;
        match &self.error {
            None => format!("{stage}: no answer in time"),
            Some(error) => match error.status() {
                Some(code) => format!("{stage}: status {code}"),
                None if error.is_response() => format!("{stage}: the connection ended or the answer is none of SMTP's"),
                None => format!("{stage}: {error}"),
            },
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Passing(refusal.reason())
    }
}
