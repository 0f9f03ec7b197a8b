//! The URL of the mail server: how it is parsed, and when a password is sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use control::testing::settings::{ConfigError, Mail, SmtpConfig, SmtpTls, read};

fn smtp(text: &str) -> Result<SmtpConfig, ConfigError> {
    let given = BTreeMap::from([("UPDRAFT_SMTP_URL".to_owned(), text.to_owned())]);
    read::<Mail>(&given).map(|mail| mail.smtp_url.unwrap())
}

fn tls(text: &str) -> SmtpTls {
    smtp(text).unwrap().tls
}

#[test]
fn a_mail_server_is_parsed_from_its_url() {
    let config = smtp("smtp://ada%40example.com:p%3Aw@mail.example.com:2525?tls_ca=/etc/ca.pem").unwrap();
    assert_eq!((config.host.as_str(), config.port, config.tls), ("mail.example.com", 2525, SmtpTls::Required));
    assert_eq!(config.credentials, Some(("ada@example.com".to_owned(), "p:w".to_owned())));
    assert_eq!(config.tls_ca, Some(PathBuf::from("/etc/ca.pem")));
    assert!(!format!("{config:?}").contains("p:w"));
    assert_eq!((smtp("smtps://[::1]").unwrap().host.as_str(), smtp("smtps://[::1]").unwrap().port), ("::1", 465));
    assert_eq!(smtp("smtp://relay").unwrap().port, 587);
}

#[test]
fn smtp_passwords_to_remote_servers_require_encryption() {
    assert_eq!(tls("smtps://u:p@mail.example.com"), SmtpTls::Implicit);
    assert_eq!(tls("smtp://u:p@mail.example.com"), SmtpTls::Required);
    assert_eq!(tls("smtp://u:p@127.0.0.1:25"), SmtpTls::Offered);
    assert_eq!(tls("smtp://relay"), SmtpTls::Required);
    assert_eq!(tls("smtp://relay?tls=required"), SmtpTls::Required);
    assert_eq!(tls("smtp://relay?tls=off"), SmtpTls::Off);
    assert!(smtp("smtp://u:p@mail.example.com?tls=off").is_err());
}

#[test]
fn invalid_urls_are_refused_without_being_echoed() {
    for text in
        ["http://u:secret@x", "smtp://u:secret@", "smtp://u:secret@x/path", "smtp://u:secret@x?tls=maybe", "smtp://secret@x", "secret"]
    {
        let error = smtp(text).unwrap_err().to_string();
        assert!(error.contains("UPDRAFT_SMTP_URL") && !error.contains("secret@"), "{error}");
    }
}
