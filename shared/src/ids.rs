//! Ids: newtypes over the lower-case hyphenated text of a UUID, so that an app's id cannot be taken for a deployment's.

use crate::Invalid;
use crate::text::parsed_text;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// 8-4-4-4-12 lower-case hexadecimal digits; the version and the variant are left open.
fn check_uuid(text: &str) -> Result<(), Invalid> {
    let shaped = text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    if shaped { Ok(()) } else { Err(Invalid::from("must be a UUID in lower case with hyphens")) }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type))]
        #[cfg_attr(feature = "sqlx", sqlx(transparent))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(format = "uuid"))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A new UUIDv7: ids made later sort later. `dice` are ten random bytes; a time before 1970 counts as 1970.
            pub fn v7(now: UnixMillis, dice: [u8; 10]) -> Self {
                let millis = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &dice).into_uuid().hyphenated().to_string())
            }
        }

        parsed_text!($name, check_uuid);
    };
}

id! {
    /// An app.
    AppId
}
id! {
    /// An account: the tenant.
    AccountId
}
id! {
    /// A deployment of an app.
    DeploymentId
}
id! {
    /// A release in a deployment.
    ReleaseId
}
id! {
    /// A named access key, or the credential behind a session.
    AccessKeyId
}
id! {
    /// An API key.
    ApiKeyId
}
id! {
    /// A passkey of an account.
    PasskeyId
}
id! {
    /// A login that waits for a second factor.
    PendingLoginId
}
id! {
    /// One report of a client, stamped where it came in; the same report delivered twice has the same id.
    ReportId
}
id! {
    /// A registration that waits for its address to be verified.
    RegistrationId
}
id! {
    /// A mail that waits to be sent, as in its `Message-ID`.
    MailId
}
id! {
    /// A row of the audit trail.
    AuditEventId
}
id! {
    /// A command line's request to be let in. Whoever knows it may look at it, so that it must not be guessed: [`CliAuthorizationId::v4`].
    CliAuthorizationId
}
id! {
    /// One request, as answered in `X-Request-Id`.
    RequestId
}

impl CliAuthorizationId {
    /// A new `UUIDv4`: nothing of it tells when it was made. `dice` are sixteen random bytes.
    pub fn v4(dice: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(dice).into_uuid().hyphenated().to_string())
    }
}
