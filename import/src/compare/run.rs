//! A comparison from beginning to end, for an operator, who reads the histories here from the database, or for an account, which reads them by the API.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use shared::wire::path::VERSION_PREFIX;

use super::{Check, Comparison, Deployment, Rate, Report, Server, generate, read};
use crate::source::{Entry, Fault, Source};

/// The deployments here, with their histories.
pub trait Histories {
    /// Why they cannot be read.
    type Error;

    /// Reads them, as they are now. Always the same ones, in the same order.
    fn read(&mut self) -> impl Future<Output = Result<Vec<Deployment>, Self::Error>>;
}

/// What to compare.
#[derive(Debug)]
pub struct Run {
    /// The old server's address.
    pub from: String,
    /// This one's.
    pub to: String,
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
pub enum CompareError<E> {
    /// An address is invalid, or the old server's histories cannot be read.
    #[error(transparent)]
    Source(#[from] Fault),
    /// Both addresses are the same.
    #[error("{0} is the address of both servers: nothing would be compared")]
    SameServer(String),
    /// The deployments here cannot be read.
    #[error("{0}")]
    Here(E),
    /// The log cannot be read.
    #[error("--log: {0} cannot be read: {1}")]
    Log(String, io::Error),
}

/// An address without the prefix that every Updraft server answers under as well.
fn without_version(address: &str) -> &str {
    address.strip_suffix(VERSION_PREFIX).unwrap_or(address).trim_end_matches('/')
}

impl Run {
    /// Compares. Calls `told` with a line of progress now and then.
    pub async fn compare<H: Histories>(self, here: &mut H, told: &mut dyn FnMut(&str)) -> Result<Report, CompareError<H::Error>> {
        let (old, new) = (Server::new(&self.from, self.rate)?, Server::new(&self.to, self.rate)?);
        if without_version(old.address()) == without_version(new.address()) {
            return Err(CompareError::SameServer(old.address().to_owned()));
        }
        let deployments = here.read().await.map_err(CompareError::Here)?;
        let there = self.histories(&deployments, told).await?;
        let (checks, logged) = self.choose(&deployments, &there, told).map_err(|(path, error)| CompareError::Log(path, error))?;
        let length = self.rate.length(checks.len());
        told(&format!("Asking {} and {}: {} checks. This takes {length}.", old.address(), new.address(), checks.len()));
        let compared = Comparison { old, new, deployments: deployments.clone(), checks }.ask(told).await;
        // Somebody may have released meanwhile.
        let after = if compared.has_differences() { here.read().await.map_err(CompareError::Here)? } else { deployments };
        let mut report = compared.explain(&there, &after);
        report.has_key = self.key.is_some();
        let unread = after.iter().filter(|deployment| !there.contains_key(deployment.key()));
        report.unread = unread.map(|deployment| deployment.name().to_owned()).collect();
        let is_logged = |name: &String| after.iter().zip(&logged).any(|(deployment, logged)| *logged && deployment.name() == name);
        report.crowded_out = report.unasked.iter().filter(|name| is_logged(name)).cloned().collect();
        report.has_log = self.log.is_some();
        Ok(report)
    }

    /// The old server's histories by deployment key.
    async fn histories(&self, deployments: &[Deployment], told: &mut dyn FnMut(&str)) -> Result<BTreeMap<String, Vec<Entry>>, Fault> {
        let Some(key) = &self.key else { return Ok(BTreeMap::new()) };
        let source = Source::new(&self.from, key).await?;
        told(&format!("Reading the histories of {}.", source.address()));
        let keys: Vec<_> = deployments.iter().map(Deployment::key).collect();
        let there = source.histories_of(&keys).await?;
        for deployment in deployments.iter().filter(|deployment| !there.contains_key(deployment.key())) {
            told(&format!(
                "{}: the account of the old server has no deployment with this key. Its history is not read.",
                deployment.name()
            ));
        }
        Ok(there)
    }

    /// The checks to ask, and which deployments the log has checks of. Errors: the log, and why it cannot be read.
    fn choose(
        &self,
        deployments: &[Deployment],
        there: &BTreeMap<String, Vec<Entry>>,
        told: &mut dyn FnMut(&str),
    ) -> Result<(Vec<Check>, Vec<bool>), (String, io::Error)> {
        let Some(path) = &self.log else {
            let of_both: Vec<_> = deployments.iter().map(|deployment| deployment.with(there.get(deployment.key()))).collect();
            let generated = generate(&of_both, self.checks, self.seed);
            let (count, combinations) = (generated.checks.len(), generated.combinations);
            if generated.is_all() {
                let more = count as u64 - combinations;
                let more = if more == 0 { String::new() } else { format!(", and {more} more with further client IDs for staged rollouts") };
                told(&format!("Generated {count} checks: all {combinations} combinations of app version, device and request{more}."));
            } else {
                told(&format!("Generated {count} of {combinations} combinations of app version, device and request."));
            }
            return Ok((generated.checks, Vec::new()));
        };
        let fault = |error| (path.display().to_string(), error);
        let keys: Vec<_> = deployments.iter().map(Deployment::key).collect();
        let logged = read(BufReader::new(File::open(path).map_err(fault)?), &keys, self.checks).map_err(fault)?;
        told(&format!(
            "Log lines: {}. Checks of these deployments: {}, different ones to ask: {}. Checks of other deployments: {}. Other lines: {}.",
            logged.lines,
            logged.of_deployments,
            logged.checks.len(),
            logged.of_others,
            logged.others
        ));
        if logged.is_cut {
            told(&format!("The log has more than {} different checks. Raise --checks to ask them all.", self.checks));
        }
        Ok((logged.checks, logged.has_checks))
    }
}
