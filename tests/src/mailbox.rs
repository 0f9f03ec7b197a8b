//! The emails sent by a server under test: read from its files when it has no mail server, or received by one.

use control::testing::on;
use mail_parser::{Address, MessageParser};

use crate::TestApp;
use crate::wait::until;

/// A received mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMail {
    /// The `Message-ID`, without angle brackets.
    pub id: String,
    /// The sender's address, without a name.
    pub from: String,
    /// The recipient's address, without a name.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The text part, with `\n` line ends.
    pub text: String,
    /// The HTML part.
    pub html: String,
    /// The complete source.
    pub source: String,
}

impl ReceivedMail {
    /// Parses an email.
    pub fn parse(bytes: &[u8]) -> Self {
        let message = MessageParser::default().parse(bytes).expect("an email");
        let address = |address: Option<&Address<'_>>| {
            address.and_then(|found| found.first()?.address.as_deref().map(str::to_owned)).expect("an address")
        };
        Self {
            id: message.message_id().expect("a Message-ID").to_owned(),
            from: address(message.from()),
            to: address(message.to()),
            subject: message.subject().expect("a subject").to_owned(),
            text: message.body_text(0).expect("a text part").replace("\r\n", "\n"),
            html: message.body_html(0).expect("an email with an HTML part").into_owned(),
            source: String::from_utf8(bytes.to_vec()).expect("an email in UTF-8"),
        }
    }

    /// The link with a token in the text part; the HTML part has the same.
    pub fn link(&self) -> String {
        let link = self.text.lines().find(|line| line.starts_with("http") && line.contains("#token=")).expect("a link with a token");
        assert!(self.html.contains(&format!("href=\"{link}\"")), "both parts have the same link");
        link.to_owned()
    }

    /// The token in the link.
    pub fn token(&self) -> String {
        self.link().split_once("#token=").expect("a token").1.to_owned()
    }
}

impl TestApp {
    /// Every email to this address, oldest first, once all queued emails were written. For servers without a mail server.
    pub async fn mails_to(&self, address: &str) -> Vec<ReceivedMail> {
        self.write_traces().await;
        until("an empty mail outbox", async || (self.waiting_mails().await == 0).then_some(())).await;
        self.written_mails().into_iter().filter(|mail| mail.to == address).collect()
    }

    /// The newest email to this address, once all queued emails were written.
    pub async fn last_mail_to(&self, address: &str) -> ReceivedMail {
        self.mails_to(address).await.pop().unwrap_or_else(|| panic!("no mail to {address}"))
    }

    /// The number of queued emails.
    pub async fn waiting_mails(&self) -> i64 {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar("SELECT COUNT(*) FROM outbox WHERE kind = 'mail'").fetch_one(conn).await).unwrap()
    }

    /// The number of emails being sent.
    pub async fn leased_mails(&self) -> i64 {
        let mut tx = self.db().read().await.unwrap();
        on!(tx, |conn| sqlx::query_scalar("SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND lease_owner IS NOT NULL")
            .fetch_one(conn)
            .await)
        .unwrap()
    }

    /// The emails in the server's folder, oldest first.
    pub fn written_mails(&self) -> Vec<ReceivedMail> {
        // There is no folder before the first email.
        let Ok(folder) = std::fs::read_dir(self.folder().join("mail")) else { return Vec::new() };
        let mut files: Vec<_> =
            folder.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "eml")).collect();
        files.sort();
        files.iter().map(|file| ReceivedMail::parse(&std::fs::read(file).unwrap())).collect()
    }
}
