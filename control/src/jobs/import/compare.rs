//! `import compare`: asks the old server and this one the same update checks. Reads the database only to know the histories here.

pub use import::compare::Rate;
use import::compare::run::Histories;
pub use import::compare::run::{CompareError, Run};
use import::compare::{Deployment, Report};

use crate::domain::error::Error;
use crate::domain::imports::compared::{self, FullName};
use crate::infra::db::Db;

/// A deployment that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
pub struct UnreadDeployment(String, #[source] Error);

impl UnreadDeployment {
    /// Whether there is no such account, app or deployment.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.1, Error::NotFound(_))
    }
}

/// Compares these deployments. Calls `told` with a line of progress now and then.
pub async fn run(
    db: &Db,
    deployments: &[FullName],
    wanted: Run,
    told: &mut dyn FnMut(&str),
) -> Result<Report, CompareError<UnreadDeployment>> {
    wanted.compare(&mut Here { db, deployments }, told).await
}

struct Here<'h> {
    db: &'h Db,
    deployments: &'h [FullName],
}

impl Histories for Here<'_> {
    type Error = UnreadDeployment;

    async fn read(&mut self) -> Result<Vec<Deployment>, UnreadDeployment> {
        let mut deployments = Vec::new();
        for name in self.deployments {
            let found = compared::find(self.db, name).await;
            deployments.push(found.map_err(|error| UnreadDeployment(name.to_string(), error))?);
        }
        Ok(deployments)
    }
}
