//! Second factors: authenticator apps, passkeys, and the recovery codes beside them.
//!
//! Second factors are on while an account has an authenticator app or a passkey; only those rows decide it ([`factors`]). A login then requires one
//! of them ([`crate::domain::login::pending`]), and so does a change of the factors ([`step_up`]). Every attempt or change first locks the account
//! ([`LockedAccount`]), so concurrent ones are serialized.
//!
//! [`changes`] has what follows from adding or removing factors, [`pending_logins`] the rows of logins that wait for one. Not here: the correct
//! password that comes first ([`crate::domain::login`]). Start reading at [`factors`] and [`locked_account`].

pub mod changes;
pub mod factors;
pub mod locked_account;
pub mod new_credentials;
pub mod passkeys;
pub mod pending_logins;
pub mod recovery;
pub mod step_up;
pub mod totp;

pub use factors::{Factor, Factors, is_enabled, is_overdue};
pub use locked_account::LockedAccount;
pub use new_credentials::NewCredentials;
pub use step_up::{Proof, SteppedUp, check_first};
