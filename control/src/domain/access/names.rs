//! What an app's name means to an account, and the names that an account has used.
//!
//! A bare name means the first of these:
//! - the account's own app;
//! - the app with that name that it accepted first;
//! - the only unaccepted app with that name that is shared with it. The account must never have used the name for another app, by owning or accepting
//!   one, or by making a change under this name.
//!
//! A transfer that is not accepted has no bare name. So a name that an account has used never comes to mean another app without the account's consent. The
//! long form, `ownerEmail:appName`, names the account whose namespace holds the app: its owner, or the sender of a transfer until the receiver accepts it.
//! Start reading at [`resolve`].

use shared::ids::{AccountId, AppId};
use shared::text::nfc;

use crate::domain::access::Role;
use crate::domain::email;
use crate::infra::db::{ReadTx, WriteTx};
use crate::{on, on_write};

// A name is looked up as given and normalized ($2, $3): names were once stored without normalization.
const BARE: &str = "SELECT a.id, a.owner_id AS namespace_id, c.permission, \
        CASE WHEN a.owner_id <> $1 AND c.accepted_time IS NULL THEN TRUE ELSE FALSE END AS is_only_share \
    FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE c.account_id = $1 AND a.name IN ($2, $3) AND (a.owner_id = $1 OR c.accepted_time IS NOT NULL \
        OR (NOT c.is_received \
            AND NOT EXISTS (SELECT 1 FROM used_names u WHERE u.account_id = $1 AND u.name IN ($2, $3) AND u.app_id <> a.id) \
            AND (SELECT COUNT(*) FROM collaborators o JOIN apps p ON p.id = o.app_id WHERE o.account_id = $1 AND NOT o.is_received \
                AND p.name IN ($2, $3) AND p.owner_id <> $1 AND o.accepted_time IS NULL) = 1)) \
    ORDER BY CASE WHEN a.owner_id = $1 THEN 0 WHEN c.accepted_time IS NOT NULL THEN 1 ELSE 2 END, CASE WHEN a.name = $2 THEN 0 ELSE 1 END, \
        c.accepted_time, a.id LIMIT 1";
const LONG: &str = "SELECT a.id, a.owner_id AS namespace_id, c.permission, FALSE AS is_only_share \
    FROM collaborators c JOIN apps a ON a.id = c.app_id JOIN accounts o ON o.id = a.owner_id \
    WHERE c.account_id = $1 AND a.name IN ($2, $3) AND o.email IN ($4, $5) \
    ORDER BY CASE WHEN a.name = $2 THEN 0 ELSE 1 END, CASE WHEN o.email = $4 THEN 0 ELSE 1 END LIMIT 1";
const BY_ID: &str = "SELECT a.id, a.owner_id AS namespace_id, c.permission, FALSE AS is_only_share FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE c.account_id = $1 AND a.id = $2";
const IS_USED: &str = "SELECT COUNT(*) FROM used_names WHERE account_id = $1 AND name = $2 AND app_id <> $3";
const KEEP: &str =
    "INSERT INTO used_names (account_id, name, app_id) VALUES ($1, $2, $3) ON CONFLICT (account_id, name, app_id) DO NOTHING";
const KEEP_FOR_ALL: &str = "INSERT INTO used_names (account_id, name, app_id) \
    SELECT c.account_id, a.name, a.id FROM collaborators c JOIN apps a ON a.id = c.app_id \
    WHERE a.id = $1 AND (c.accepted_time IS NOT NULL OR c.account_id = a.owner_id) ON CONFLICT (account_id, name, app_id) DO NOTHING";
const WITHDRAW: &str = "UPDATE collaborators SET accepted_time = NULL WHERE app_id = $1 AND account_id <> $2 AND accepted_time IS NOT NULL \
    AND (EXISTS (SELECT 1 FROM used_names u WHERE u.account_id = collaborators.account_id AND u.name = $3 AND u.app_id <> $1) \
        OR EXISTS (SELECT 1 FROM collaborators o JOIN apps p ON p.id = o.app_id \
            WHERE o.account_id = collaborators.account_id AND p.name = $3 AND p.id <> $1) \
            AND NOT EXISTS (SELECT 1 FROM used_names u WHERE u.account_id = collaborators.account_id AND u.name = $3 AND u.app_id = $1))";
// For accounts to which the name meant the app $1: resets acceptance of their other apps with that name. Skips accounts that own an app with that name,
// because the name means that one.
const RELEASE: &str = "UPDATE collaborators SET accepted_time = NULL WHERE accepted_time IS NOT NULL \
    AND app_id IN (SELECT p.id FROM apps p WHERE p.name = $2 AND p.id <> $1 AND p.owner_id <> collaborators.account_id) \
    AND EXISTS (SELECT 1 FROM collaborators m JOIN apps a ON a.id = m.app_id WHERE m.app_id = $1 AND m.account_id = collaborators.account_id \
        AND m.account_id <> $3 AND ($4 = '' OR m.account_id = $4) \
        AND (a.owner_id = m.account_id OR m.accepted_time < collaborators.accepted_time)) \
    AND NOT EXISTS (SELECT 1 FROM apps o WHERE o.owner_id = collaborators.account_id AND o.name = $2 AND o.id <> $1)";

/// Every SQL statement in this file.
pub const SQL: &[&str] = &[BARE, LONG, BY_ID, IS_USED, KEEP, KEEP_FOR_ALL, WITHDRAW, RELEASE];

/// An app as one of its collaborators reaches it.
#[derive(Debug, sqlx::FromRow)]
pub struct ResolvedRow {
    /// Its ID.
    pub id: AppId,
    /// The account whose namespace holds it.
    pub namespace_id: AccountId,
    /// The caller's role.
    pub permission: Role,
    /// Whether the name means it only because it is the only app with that name shared with the caller, who has not accepted it.
    pub is_only_share: bool,
}

/// The app that `name` refers to for the account: a bare name, or `ownerEmail:appName`.
pub async fn resolve(tx: &mut ReadTx, account: &AccountId, name: &str) -> sqlx::Result<Option<ResolvedRow>> {
    let (owner, name) = name.split_once(':').map_or((None, name), |(owner, name)| (Some(email::for_lookup(owner)), name));
    let normal = nfc(name);
    let Some(owner) = owner else {
        return on!(tx, |conn| sqlx::query_as(BARE).bind(account).bind(name).bind(normal.as_ref()).fetch_optional(conn).await);
    };
    let former = email::former(&owner);
    on!(tx, |conn| sqlx::query_as(LONG)
        .bind(account)
        .bind(name)
        .bind(normal.as_ref())
        .bind(owner.as_str())
        .bind(former.as_ref())
        .fetch_optional(conn)
        .await)
}

/// The app with this ID, if the account has access to it. Links in emails use the ID because it survives a rename.
pub async fn resolve_id(tx: &mut ReadTx, account: &AccountId, app: &str) -> sqlx::Result<Option<ResolvedRow>> {
    on!(tx, |conn| sqlx::query_as(BY_ID).bind(account).bind(app).fetch_optional(conn).await)
}

/// Whether the account has ever used the name for an app other than this one.
pub async fn is_used(tx: &mut ReadTx, account: &AccountId, name: &str, app: &AppId) -> sqlx::Result<bool> {
    let count: i64 = on!(tx, |conn| sqlx::query_scalar(IS_USED).bind(account).bind(name).bind(app).fetch_one(conn).await)?;
    Ok(count > 0)
}

/// Records that the account uses the name for this app.
pub async fn keep(tx: &mut WriteTx, account: &AccountId, name: &str, app: &AppId) -> sqlx::Result<u64> {
    on_write!(tx, |conn| sqlx::query(KEEP).bind(account).bind(name).bind(app).execute(conn).await)
}

/// Handles the effects on collaborators when the app loses this name, or they lose the app. They must accept another app with the same name again before the
/// name means that one. So nobody can redirect a name by removing what it means. `actor` caused the change and is exempt; `only` restricts it to one account.
/// Call it before the change; the accounts must be locked.
pub async fn release(tx: &mut WriteTx, app: &AppId, name: &str, actor: &AccountId, only: Option<&AccountId>) -> sqlx::Result<u64> {
    let only = only.map_or("", AccountId::as_str);
    on_write!(tx, |conn| sqlx::query(RELEASE).bind(app).bind(name).bind(actor).bind(only).execute(conn).await)
}

/// Handles the effects of a new name or namespace of the app. Some collaborators must accept the app again: those who used the name for another app, and
/// those who have access to another app with that name and never used it for this one. Everyone else now uses the name for this app. The accounts of all
/// collaborators must be locked.
pub async fn settle(tx: &mut WriteTx, app: &AppId, namespace: &AccountId, name: &str) -> sqlx::Result<()> {
    on_write!(tx, |conn| sqlx::query(WITHDRAW).bind(app).bind(namespace).bind(name).execute(conn).await)?;
    on_write!(tx, |conn| sqlx::query(KEEP_FOR_ALL).bind(app).execute(conn).await)?;
    Ok(())
}
