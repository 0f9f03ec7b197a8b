//! Second factors: authenticator apps, passkeys, and the recovery codes beside them.
//!
//! An account has them on as soon as it has an authenticator app or a passkey, and off when the last of them goes: nothing says so but those rows
//! ([`factors`]). A login then waits for one of them ([`crate::domain::login::pending`]), and whoever changes the factors shows one again ([`step_up`]).
//! Whoever tries a factor, or changes one, first holds the account ([`Held`]), so that of two at once one comes after the other.
//!
//! [`changes`] has what follows from adding and removing factors, [`pending_logins`] the rows of logins that wait for one. What leads to a first factor,
//! a right password, is [`crate::domain::login`]'s. Start reading at [`factors`] and [`held`].

pub mod changes;
pub mod factors;
pub mod held;
pub mod new_credentials;
pub mod passkeys;
pub mod pending_logins;
pub mod recovery;
pub mod step_up;
pub mod totp;

pub use factors::{Factor, Factors, is_enabled, is_overdue};
pub use held::Held;
pub use new_credentials::NewCredentials;
pub use step_up::{Proof, SteppedUp, check_first};
