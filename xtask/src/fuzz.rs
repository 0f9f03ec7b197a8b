//! `cargo xtask fuzz-api`: generated questions to a control plane of its own, judged by the interface's document (schemathesis).

use std::{process::Command, time::Duration};

use xtask::{
    leash::{self, Leashed, StopBy},
    paths, probe,
};

use crate::{
    dev, python,
    session::{Failure, Session, say},
};

const GRACE: Duration = Duration::from_secs(10);
/// Between two looks at whether the server answers.
const PAUSE: Duration = Duration::from_millis(200);
const LOOKS: u32 = 150;

/// Limits that many questions would reach.
const LIMITS: [(&str, &str); 10] = [
    ("MAX_API_KEYS", "1000000"),
    ("LOGIN_ADDRESS", "100000/1m"),
    ("LOGIN_STOP", "100000/1m"),
    ("REGISTER", "100000/1m"),
    ("MAIL_REQUESTS", "100000/1m"),
    ("MAILS", "100000/1m"),
    ("POSTS", "100000/1m"),
    ("REPORTS", "100000/1m"),
    ("MANAGEMENT_API", "100000/1m"),
    ("UPLOADS", "100000/1m"),
];

/// Reads `--minutes N`, also as `--minutes=N`.
pub(crate) fn minutes(arguments: &[String]) -> Result<u32, Failure> {
    let value = match arguments {
        [] => return Ok(5),
        [name, value] if name == "--minutes" => Some(value.as_str()),
        [both] => both.strip_prefix("--minutes="),
        _ => None,
    };
    value
        .and_then(|value| value.parse().ok())
        .filter(|minutes| *minutes > 0)
        .ok_or_else(|| Failure::Said("fuzz-api takes --minutes and a whole number above 0, and nothing else".to_owned()))
}

/// Starts a control plane on a fresh database and asks it, for so many minutes with each kind of credential. Fails when an answer is not as documented.
pub(crate) fn run(session: &Session, minutes: u32) -> Result<(), Failure> {
    let python = python::install(session, paths::FUZZ_PACKAGES)?;
    let program = dev::build_control(session)?;
    let data = tempfile::tempdir()?;
    let port = probe::free_port()?;
    let base = format!("http://127.0.0.1:{port}");

    let mut command = leash::command(program, StopBy::Terminate);
    command.arg("serve").current_dir(data.path()).env("UPDRAFT_DATA_DIR", data.path()).env("UPDRAFT_LOG", "warn");
    command.env("UPDRAFT_LISTEN", format!("127.0.0.1:{port}")).env("UPDRAFT_BASE_URL", &base);
    command.envs(LIMITS.map(|(name, value)| (format!("UPDRAFT_LIMIT_{name}"), value)));
    let mut server = Leashed::spawn(command, StopBy::Terminate, |line| println!("control | {line}"))?;
    wait(session, &mut server, port)?;

    say(format!("{minutes} minutes for each kind of credential"));
    let mut ask = Command::new(python);
    ask.arg(paths::root().join("tests/python/fuzz_api.py")).arg(&base).arg(data.path().join("mail")).arg(minutes.to_string());
    let asked = session.run(ask.current_dir(data.path()));
    server.stop(GRACE);
    asked
}

fn wait(session: &Session, server: &mut Leashed, port: u16) -> Result<(), Failure> {
    for _look in 0..LOOKS {
        if probe::answers(port, "/v1/health") {
            return Ok(());
        }
        if session.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        if let Some(status) = server.wait(PAUSE) {
            return Err(Failure::Said(format!("the control plane ended by itself ({status})")));
        }
    }
    Err(Failure::Said("the control plane did not answer within half a minute".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::minutes;

    #[test]
    fn minutes_are_a_number_above_0() {
        let read = |arguments: &[&str]| minutes(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>()).ok();
        assert_eq!(read(&[]), Some(5));
        assert_eq!((read(&["--minutes", "1"]), read(&["--minutes=20"])), (Some(1), Some(20)));
        for wrong in [&["--minutes"][..], &["--minutes", "0"], &["--minutes", "x"], &["--hours", "1"], &["5"], &["--minutes=1", "more"]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
