//! `cargo xtask fuzz-api`: sends generated requests to a fresh control plane and checks responses against the OpenAPI document (schemathesis).

use std::{process::Command, time::Duration};

use clap::{Args, value_parser};
use xtask::{
    leash::{self, Leashed, StopBy},
    paths, probe,
};

use crate::{
    dev, python,
    session::{Failure, Session, say},
};

const GRACE: Duration = Duration::from_secs(10);
/// The pause between two checks of whether the server answers.
const PAUSE: Duration = Duration::from_millis(200);
const MAX_CHECKS: u32 = 150;

/// Rate limits that the requests would exceed.
const LIMITS: [(&str, &str); 15] = [
    ("MAX_API_KEYS", "1000000"),
    ("LOGIN_ADDRESS", "100000/1m"),
    ("LOGIN_STOP", "100000/1m"),
    ("MFA_ATTEMPTS", "100000/1m"),
    ("REGISTER", "100000/1m"),
    ("MAIL_REQUESTS", "100000/1m"),
    ("MAILS", "100000/1m"),
    ("POSTS", "100000/1m"),
    ("CLI_STARTS", "100000/1m"),
    ("CLI_TOKEN", "100000/1m"),
    ("CLI_RESOLVES", "100000/1m"),
    ("REPORTS", "100000/1m"),
    ("MANAGEMENT_API", "100000/1m"),
    ("UPLOADS", "100000/1m"),
    ("COLLABORATORS", "100000/1m"),
];

/// The command's options.
#[derive(Debug, PartialEq, Eq, Args)]
pub(crate) struct Plan {
    /// Minutes to run with each kind of credential
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
    minutes: u32,
    /// Seed for reproducible requests
    #[arg(long)]
    seed: Option<u32>,
}

/// Starts a control plane on a fresh database and sends requests with each kind of credential. Fails if a response is not as documented.
pub(crate) fn run(session: &Session, plan: &Plan) -> Result<(), Failure> {
    let python = python::install(session, paths::FUZZ_PACKAGES)?;
    let program = dev::build_program(session, "updraft-control")?;
    let data = tempfile::tempdir()?;
    let port = probe::free_port()?;
    let base = format!("http://127.0.0.1:{port}");

    let mut command = leash::command(program, StopBy::Terminate);
    // The developer's settings may point to a real database, mail server or Cloudflare account.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("UPDRAFT_")) {
        command.env_remove(name);
    }
    command.arg("serve").current_dir(data.path()).env("UPDRAFT_DATA_DIR", data.path()).env("UPDRAFT_LOG", "warn");
    command.env("UPDRAFT_LISTEN", format!("127.0.0.1:{port}")).env("UPDRAFT_BASE_URL", &base);
    // Passkeys need a host name, not an IP address.
    command.env("UPDRAFT_DASHBOARD_URL", format!("http://localhost:{port}/dashboard"));
    command.envs(LIMITS.map(|(name, value)| (format!("UPDRAFT_LIMIT_{name}"), value)));
    let mut server = Leashed::spawn(command, StopBy::Terminate, |line| println!("control | {line}"))?;
    wait(session, &mut server, port)?;

    let minutes = plan.minutes;
    say(format!("running {minutes} minutes with each kind of credential"));
    let mut fuzzer = Command::new(python);
    fuzzer
        .arg(paths::root().join("tests/python/fuzz_api.py"))
        .arg(&base)
        .arg(data.path().join("mail"))
        .arg(minutes.to_string())
        .args(plan.seed.map(|seed| seed.to_string()));
    let result = session.run(fuzzer.current_dir(data.path()));
    server.stop(GRACE);
    result
}

fn wait(session: &Session, server: &mut Leashed, port: u16) -> Result<(), Failure> {
    for _check in 0..MAX_CHECKS {
        if probe::answers(port, "/v1/health") {
            return Ok(());
        }
        if session.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        if let Some(status) = server.wait(PAUSE) {
            return Err(Failure::Message(format!("the control plane exited unexpectedly ({status})")));
        }
    }
    Err(Failure::Message("the control plane did not answer within half a minute".to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::Plan;

    #[test]
    fn options_are_minutes_above_0_and_a_seed() {
        let command = Plan::augment_args(Command::new("fuzz-api").no_binary_name(true));
        let read = |arguments: &[&str]| Plan::from_arg_matches(&command.clone().try_get_matches_from(arguments).ok()?).ok();
        assert_eq!(read(&[]), Some(Plan { minutes: 5, seed: None }));
        assert_eq!(read(&["--minutes", "1"]), Some(Plan { minutes: 1, seed: None }));
        assert_eq!(read(&["--seed=0", "--minutes=20"]), Some(Plan { minutes: 20, seed: Some(0) }));
        for wrong in [
            &["--minutes"][..],
            &["--minutes", "0"],
            &["--minutes", "x"],
            &["--hours", "1"],
            &["5"],
            &["--minutes=1", "more"],
            &["--seed", "-1"],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
