//! The macro that defines request bodies: each member is a [`Field`](crate::api::Field) with the schema of its value.

/// Defines a struct of [`Field`](crate::api::Field)s. A member is `required` or `optional`. Schema attributes other than its type follow in brackets. The
/// example is that of the schema in the OpenAPI document.
macro_rules! body {
    ($(#[$meta:meta])* $name:ident $(example $example:tt)? { $($members:tt)* }) => {
        body! { @members [$(#[$meta])* $name $(example $example)?] [] $($members)* }
    };
    (@members $head:tt [$($done:tt)*] $(#[$meta:meta])* required $member:ident: $type:ty $([$($schema:tt)*])?, $($rest:tt)*) => {
        body! { @members $head [$($done)*
            $(#[$meta])*
            #[cfg_attr(feature = "openapi", schema(value_type = $type, required = true $(, $($schema)*)?))]
            $member: $type,
        ] $($rest)* }
    };
    (@members $head:tt [$($done:tt)*] $(#[$meta:meta])* optional $member:ident: $type:ty $([$($schema:tt)*])?, $($rest:tt)*) => {
        body! { @members $head [$($done)*
            $(#[$meta])*
            #[cfg_attr(feature = "openapi", schema(value_type = Option<$type> $(, $($schema)*)?))]
            $member: $type,
        ] $($rest)* }
    };
    // The schema shows another, less specific type.
    (@members $head:tt [$($done:tt)*] $(#[$meta:meta])* optional $member:ident: $type:ty as $shown:ty [$($schema:tt)*], $($rest:tt)*) => {
        body! { @members $head [$($done)*
            $(#[$meta])*
            #[cfg_attr(feature = "openapi", schema(value_type = Option<$shown>, $($schema)*))]
            $member: $type,
        ] $($rest)* }
    };
    (@members [$(#[$meta:meta])* $name:ident $(example $example:tt)?] [$($(#[$member_meta:meta])* $member:ident: $type:ty,)*]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        $(#[cfg_attr(feature = "openapi", schema(example = json!($example)))])?
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $(
                $(#[$member_meta])*
                #[serde(default, skip_serializing_if = "crate::api::Field::is_missing")]
                pub $member: crate::api::Field<$type>,
            )*
        }
    };
}

pub(super) use body;
