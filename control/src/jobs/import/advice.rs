//! What an operator can do about an import or a comparison that failed.

use import::compare::run::CompareError;
use import::packages::PackagesFault;
use import::run::RunError;

use super::compare::UnreadDeployment;
use crate::domain::error::{Error, Thing};

/// What to do about a failed import; `None` if the error says it.
pub fn of_import(error: &RunError<Error>) -> Option<&'static str> {
    match error {
        RunError::Target(Error::NotFound(Thing::Account)) => {
            Some("Give --owner the address of an account here, or create it: `updraft-control account create`.")
        }
        RunError::Target(Error::Invalid(_)) => Some("Give --from the address of the other server."),
        RunError::Target(_) => Some("Nothing is lost: run the command again, it continues."),
        RunError::Source(fault) | RunError::Packages(PackagesFault::Disk(fault)) => fault.advice(),
        RunError::Packages(_) => None,
    }
}

/// What to do about a failed comparison; `None` if the error says it.
pub fn of_comparison(error: &CompareError<UnreadDeployment>) -> Option<&'static str> {
    match error {
        CompareError::Source(fault) => fault.advice(),
        CompareError::SameServer(_) => Some("Give --from the address of the other server."),
        CompareError::Here(unread) if unread.is_missing() => {
            Some("Give --deployment OWNER:APP/DEPLOYMENT with their names here: the owner's pages and `updraft app list` show them.")
        }
        CompareError::Here(_) => None,
        CompareError::Log(..) => Some("Give --log an access log of the other server."),
    }
}
