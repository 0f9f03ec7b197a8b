//! IDs: newtypes over a lower-case, hyphenated UUID, so that an app ID cannot be mistaken for a deployment ID.

use crate::Invalid;
use crate::text::parsed_text;
use crate::time::UnixMillis;
use serde::{Deserialize, Serialize};

/// Accepts 8-4-4-4-12 lower-case hexadecimal digits, with any version and variant.
fn check_uuid(text: &str) -> Result<(), Invalid> {
    let shaped = text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    if shaped { Ok(()) } else { Err(Invalid::from("must be a lowercase UUID with hyphens")) }
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
            /// Creates a UUIDv7: later IDs sort later. A time before 1970 counts as 1970.
            pub fn v7(now: UnixMillis, random: [u8; 10]) -> Self {
                let millis = u64::try_from(now.as_millis()).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().hyphenated().to_string())
            }

            /// When the ID was created; `None` if it is no UUIDv7 (RFC 9562, section 5.7).
            pub fn created(&self) -> Option<UnixMillis> {
                let (seconds, nanos) = uuid::Uuid::try_parse(&self.0).ok().filter(|id| id.get_version_num() == 7)?.get_timestamp()?.to_unix();
                let millis = i64::try_from(seconds).ok()?.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))?;
                Some(UnixMillis(millis))
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
    /// An account.
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
    /// A login that is waiting for a second factor.
    PendingLoginId
}
id! {
    /// A device's report, given its ID on receipt. A report that is delivered twice keeps its ID.
    ReportId
}
id! {
    /// A registration whose email address is not verified yet.
    RegistrationId
}
id! {
    /// An email in the outbox, as in its `Message-ID`.
    MailId
}
id! {
    /// A row of the audit trail.
    AuditEventId
}
id! {
    // Knowing the ID is enough to view the request, so it must be unguessable: `CliAuthorizationId::v4`.
    /// A CLI's authorization request.
    CliAuthorizationId
}
id! {
    /// A request, as returned in `X-Request-Id`.
    RequestId
}

impl CliAuthorizationId {
    /// Creates a `UUIDv4`, which does not reveal its creation time.
    pub fn v4(random: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(random).into_uuid().hyphenated().to_string())
    }
}
