//! Enums that are stored as text.

/// Maps an enum to texts: `as_str`, `FromStr` with an error for any other text, and decoding from a column. An unknown text in the database is an error
/// that names the column.
#[macro_export]
macro_rules! stored_text {
    ($name:ident, $refusal:literal, $($variant:ident = $text:literal),+) => {
        impl $name {
            /// The name in responses and in the database.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = shared::Invalid;

            fn from_str(text: &str) -> Result<Self, shared::Invalid> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(shared::Invalid::from($refusal)),
                }
            }
        }

        impl<D: sqlx::Database> sqlx::Type<D> for $name
        where
            str: sqlx::Type<D>,
        {
            fn type_info() -> D::TypeInfo {
                <str as sqlx::Type<D>>::type_info()
            }

            fn compatible(found: &D::TypeInfo) -> bool {
                <str as sqlx::Type<D>>::compatible(found)
            }
        }

        impl<'r, D: sqlx::Database> sqlx::Decode<'r, D> for $name
        where
            &'r str: sqlx::Decode<'r, D>,
        {
            fn decode(value: D::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                Ok(<&str as sqlx::Decode<'r, D>>::decode(value)?.parse()?)
            }
        }
    };
}
