//! What the operator does by the commands of the program: about accounts that were taken over, and about deployment keys that somebody has squatted.
//!
//! Each is audited and told by mail. Start reading at [`accounts`].

pub mod accounts;
pub mod deployment_keys;
