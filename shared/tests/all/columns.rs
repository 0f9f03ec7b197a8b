//! The newtypes bind to and decode from columns of both databases.

use shared::hash::Sha256Hex;
use shared::ids::{AccessKeyId, AccountId, AppId, DeploymentId, ReleaseId, ReportId, RequestId};
use shared::keys::{BinaryVersion, ClientId, DeploymentKey, Name};
use shared::time::UnixMillis;
use sqlx::{Database, Decode, Encode, Postgres, Sqlite, Type, TypeInfo};

fn column<T, D: Database>() -> String
where
    T: Type<D> + for<'q> Encode<'q, D> + for<'r> Decode<'r, D>,
{
    T::type_info().name().to_owned()
}

#[test]
fn strings_are_text_and_times_are_bigint() {
    macro_rules! texts {
        ($($name:ty),*) => {
            $(assert_eq!((column::<$name, Sqlite>().as_str(), column::<$name, Postgres>().as_str()), ("TEXT", "TEXT"), stringify!($name));)*
        };
    }
    texts!(AppId, AccountId, DeploymentId, ReleaseId, AccessKeyId, ReportId, RequestId);
    texts!(DeploymentKey, ClientId, BinaryVersion, Name, Sha256Hex);
    assert_eq!((column::<UnixMillis, Sqlite>().as_str(), column::<UnixMillis, Postgres>().as_str()), ("INTEGER", "INT8"));
}
