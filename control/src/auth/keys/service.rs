//! The rules of access keys.

use shared::ids::{AccessKeyId, AccountId};
use shared::time::UnixMillis;

use super::repo::{self, NewKeyRow};
use crate::auth::bearer::CredentialKind;
use crate::auth::session::Device;
use crate::auth::token::PlainToken;
use crate::clock::Dice;
use crate::db::WriteTx;
use crate::error::{AppError, AppResult, OrConflict};

/// The lifetime of a key that names none: 60 days, in milliseconds.
pub const DEFAULT_TTL: i64 = 60 * 86_400_000;

/// The latest time a credential may end at: the end of the year 9999 (decisions section 2).
pub const LAST_EXPIRY: i64 = 253_402_300_799_999;

/// Makes a named access key and gives its raw form, the only time it is known.
pub async fn create(
    tx: &mut WriteTx,
    account: &AccountId,
    friendly_name: &str,
    created_by: &str,
    ttl: i64,
    dice: &Dice,
    now: UnixMillis,
) -> AppResult<PlainToken> {
    let length = friendly_name.chars().count();
    if !(1..=255).contains(&length) || friendly_name.chars().any(char::is_control) {
        return Err(AppError::Invalid("friendlyName: must be 1 to 255 characters".to_owned()));
    }
    if ttl < 1 {
        return Err(AppError::Invalid("ttl: must be at least 1 ms".to_owned()));
    }
    let token = PlainToken::named_key(dice)?;
    let expires = UnixMillis(now.0.saturating_add(ttl).min(LAST_EXPIRY));
    let id = AccessKeyId::v7(now, dice.bytes()?);
    let row = NewKeyRow {
        id: &id,
        account,
        hash: &token.hash(),
        friendly_name,
        created_by,
        created: now,
        expires,
        kind: CredentialKind::NamedKey,
        device: &Device::default(),
    };
    repo::insert(tx, &row).await.or_conflict(|| format!("an access key named {friendly_name} exists"))?;
    Ok(token)
}
