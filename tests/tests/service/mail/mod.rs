//! Mails: what reaches whom, through a real mail server and as files; and the challenge's verifier.

mod files;
mod outbox;
mod server;
mod words;

use control::testing::mail::{self, Kind, Mail};
use shared::time::UnixMillis;
use tests::AppState;

/// Decides on a mail as a service does: in a transaction, waking the sender after the commit.
pub(crate) async fn send(app: &AppState, to: &str, kind: Kind) {
    let mut tx = app.db.write().await.unwrap();
    mail::put(&mut tx, app, &Mail { to: to.to_owned(), kind }).await.unwrap();
    tx.commit().await.unwrap();
    app.mailer.wake();
}

/// A mail with a link that outlasts every attempt to send it.
fn verification(number: usize) -> Kind {
    Kind::VerifyEmail {
        link: format!("https://example.com/dashboard/verify-email#token=token-{number}"),
        lifetime: 4 * 86_400_000,
        time: UnixMillis(0),
        address: "192.0.2.1".to_owned(),
    }
}
