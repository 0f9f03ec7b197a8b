//! Emails, sent through a real mail server and written as files, and the verifier of challenges.

mod files;
mod outbox;
mod server;
mod words;

use control::testing::mail::{self, Kind, Mail};
use shared::time::UnixMillis;
use tests::AppState;

/// Queues an email like a use case does: in a transaction, waking the sender after the commit.
pub(crate) async fn send(app: &AppState, to: &str, kind: Kind) {
    let mut tx = app.db.write().await.unwrap();
    mail::enqueue(&mut tx, app, &Mail { to: to.to_owned(), kind }).await.unwrap();
    tx.commit().await.unwrap();
    app.mailer.wake();
}

/// An email whose link stays valid during every attempt to send it.
fn verification(number: usize) -> Kind {
    Kind::VerifyEmail {
        link: format!("https://example.com/dashboard/verify-email#token=token-{number}"),
        lifetime: 4 * 86_400_000,
        time: UnixMillis(0),
        address: "192.0.2.1".to_owned(),
    }
}
