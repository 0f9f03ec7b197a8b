//! Emails in the outbox. They are sealed, since some contain a token.
//!
//! If a sender dies while it sends an email, the email is sent again with the same `Message-ID` once the lease has expired.

use std::sync::atomic::{AtomicU16, Ordering};

use shared::ids::MailId;
use shared::time::UnixMillis;

use super::Mail;
use crate::domain::context::Context;
use crate::domain::error::{Error, Result};
use crate::domain::outbox::{self, Kind, Lease, Work};
use crate::infra::clock::Entropy;
use crate::infra::crypto::keys::EncryptionKeys;
use crate::infra::crypto::seal;
use crate::infra::db::WriteTx;

/// Counts the emails of this process, so that emails of the same millisecond stay in order.
static ENQUEUED: AtomicU16 = AtomicU16::new(0);

/// Enqueues an email, in the transaction of the change it is about. Wake the sender after the commit: [`Context::mailer`].
pub async fn enqueue(tx: &mut WriteTx, app: &Context, mail: &Mail) -> Result<()> {
    enqueue_at(tx, &app.settings.encryption_keys, &app.entropy, app.now(), mail).await
}

/// The same for commands that run without the service. The email is sent when the service runs.
pub async fn enqueue_at(tx: &mut WriteTx, keys: &EncryptionKeys, entropy: &Entropy, now: UnixMillis, mail: &Mail) -> Result<()> {
    let id = id(now, entropy.bytes()?);
    let plain = serde_json::to_vec(mail).map_err(Error::internal)?;
    let sealed = seal::seal(keys.first(), entropy, &purpose(id.as_str()), &plain)?;
    Ok(outbox::enqueue(tx, Work { kind: Kind::Mail, key: id.as_str(), payload: Some(&sealed), due: now }, now).await?)
}

/// An id whose random part begins with the count.
fn id(now: UnixMillis, mut entropy: [u8; 10]) -> MailId {
    let [high, low] = ENQUEUED.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    // The version and the variant take six bits of the first three bytes, so the count follows them.
    for (to, from) in entropy.iter_mut().zip([0, 0, 0, high, low]) {
        *to = from;
    }
    MailId::v7(now, entropy)
}

/// The purpose that the email with this id is sealed for.
pub fn purpose(id: &str) -> String {
    format!("mail/{id}")
}

/// Opens the email of a leased row.
pub(crate) fn open(lease: &Lease, keys: &EncryptionKeys) -> Result<Mail> {
    let sealed = lease.payload.as_deref().ok_or_else(|| Error::internal("an email without contents is in the outbox"))?;
    let plain = seal::open(keys.all(), &purpose(&lease.key), sealed)?;
    serde_json::from_slice(&plain).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use crate::domain::mail::outbox::id;
    use shared::time::UnixMillis;

    #[test]
    fn ids_of_one_millisecond_are_in_creation_order() {
        let now = UnixMillis(1_700_000_000_000);
        let ids: Vec<_> = (0..300).map(|number: u32| id(now, [u8::try_from(number % 256).unwrap(); 10])).collect();
        assert!(ids.is_sorted());
    }
}
