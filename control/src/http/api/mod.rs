//! The API under `/v1`: one file per resource, with its handlers. The types of bodies are in [`shared::api`].
//!
//! Business rules are in [`crate::domain`]. [`crate::server::router`] collects the routes.

pub mod access_keys;
pub mod accounts;
pub mod api_keys;
pub mod apps;
pub mod audit;
pub mod authenticator_apps;
pub mod authorized_devices;
pub mod cli_authorizations;
pub mod cli_login;
pub mod collaborators;
pub mod deployments;
pub mod diffs;
pub mod explain;
pub mod health;
pub mod history;
pub mod imports;
pub mod login;
pub mod metrics;
pub mod openapi;
pub mod passkey_sign_in;
pub mod passkeys;
pub mod password_reset;
pub mod promotions;
pub mod reauthentication;
pub mod recent;
pub mod recovery_codes;
pub mod registration;
pub mod release_list;
pub mod releases;
pub mod rollbacks;
pub mod second_factors;
pub mod sessions;
pub mod uploads;
