//! `import compare`: asks the old server and this one the same update checks. Reads the database only to know the histories here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

pub use import::compare::Rate;
use import::compare::{self, Comparison, Deployment, Report, Server};
use import::source::{Entry, Fault, Source};

use crate::domain::error::Error;
use crate::domain::imports::compared::{self, FullName};
use crate::infra::db::Db;

/// What to compare.
#[derive(Debug)]
pub struct Wanted {
    /// The old server's address.
    pub from: String,
    /// This one's.
    pub to: String,
    /// The deployments.
    pub deployments: Vec<FullName>,
    /// How many checks at most.
    pub checks: usize,
    /// The access log to take checks from; they are generated without one.
    pub log: Option<PathBuf>,
    /// How often each server is asked.
    pub rate: Rate,
    /// A key of an account of the old server, to read the histories there.
    pub key: Option<String>,
    /// What generated checks depend on.
    pub seed: u64,
}

/// Why a comparison was aborted.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// An address is invalid, or the old server's histories cannot be read.
    #[error(transparent)]
    Source(#[from] Fault),
    /// A deployment cannot be read.
    #[error("{0}: {1}")]
    Here(String, #[source] Error),
    /// The log cannot be read.
    #[error("--log: {0} cannot be read: {1}")]
    Log(String, #[source] io::Error),
}

/// Compares. Calls `told` with a line of progress now and then.
pub async fn run(db: &Db, wanted: Wanted, told: &mut dyn FnMut(&str)) -> Result<Report, CompareError> {
    let deployments = read(db, &wanted.deployments).await?;
    let (old, new) = (Server::new(&wanted.from, wanted.rate)?, Server::new(&wanted.to, wanted.rate)?);
    let there = histories(&wanted, &deployments, told).await?;
    let checks = checks(&wanted, &deployments, told)?;
    told(&format!("Asking {} and {}: {} checks.", old.address(), new.address(), checks.len()));
    let compared = Comparison { old, new, deployments: deployments.clone(), checks }.ask(told).await;
    // Somebody may have released meanwhile.
    let after = if compared.has_differences() { read(db, &wanted.deployments).await? } else { deployments };
    Ok(compared.explain(&there, &after))
}

async fn read(db: &Db, names: &[FullName]) -> Result<Vec<Deployment>, CompareError> {
    let mut deployments = Vec::new();
    for name in names {
        deployments.push(compared::find(db, name).await.map_err(|error| CompareError::Here(name.to_string(), error))?);
    }
    Ok(deployments)
}

/// The old server's histories by deployment key.
async fn histories(
    wanted: &Wanted,
    deployments: &[Deployment],
    told: &mut dyn FnMut(&str),
) -> Result<BTreeMap<String, Vec<Entry>>, CompareError> {
    let Some(key) = &wanted.key else { return Ok(BTreeMap::new()) };
    let source = Source::new(&wanted.from, key)?;
    told(&format!("Reading the histories of {}.", source.address()));
    let keys: Vec<_> = deployments.iter().map(Deployment::key).collect();
    let there = source.histories_of(&keys).await?;
    for deployment in deployments.iter().filter(|deployment| !there.contains_key(deployment.key())) {
        told(&format!("{}: the account of the old server has no deployment with this key. Its history is not read.", deployment.name()));
    }
    Ok(there)
}

fn checks(wanted: &Wanted, deployments: &[Deployment], told: &mut dyn FnMut(&str)) -> Result<Vec<compare::Check>, CompareError> {
    let Some(path) = &wanted.log else {
        let generated = compare::generate(deployments, wanted.checks, wanted.seed);
        let (count, combinations) = (generated.checks.len(), generated.combinations);
        if generated.is_all() {
            let more = count as u64 - combinations;
            let more = if more == 0 { String::new() } else { format!(", and {more} more with further client IDs for staged rollouts") };
            told(&format!("Generated {count} checks: all {combinations} combinations of app version, device and request{more}."));
        } else {
            told(&format!("Generated {count} of {combinations} combinations of app version, device and request."));
        }
        return Ok(generated.checks);
    };
    let fault = |error| CompareError::Log(path.display().to_string(), error);
    let keys: Vec<_> = deployments.iter().map(Deployment::key).collect();
    let logged = compare::read(BufReader::new(File::open(path).map_err(fault)?), &keys, wanted.checks).map_err(fault)?;
    told(&format!(
        "Log lines: {}. Checks of these deployments: {}, different ones to ask: {}. Checks of other deployments: {}. Other lines: {}.",
        logged.lines,
        logged.of_deployments,
        logged.checks.len(),
        logged.of_others,
        logged.others
    ));
    Ok(logged.checks)
}
