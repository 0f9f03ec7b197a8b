//! One run of a command: its failures, the programs it starts, and what Ctrl-C does to them.

use std::{
    env, fmt,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering},
    },
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use xtask::paths;

/// Why a command ends unsuccessfully.
#[derive(Debug)]
pub(crate) enum Failure {
    /// With this said to the developer.
    Said(String),
    /// All is said: the stages and their count have been printed.
    Counted,
    /// On Ctrl-C or SIGTERM.
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Said(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => formatter.write_str(text),
            Self::Counted => formatter.write_str("not everything passed"),
            Self::Interrupted => formatter.write_str("interrupted"),
        }
    }
}

/// Starts programs one after the other, and passes SIGINT, SIGTERM and SIGHUP on to the one that runs.
pub(crate) struct Session {
    interrupted: Arc<AtomicBool>,
    /// The number of the running program; 0 when there is none.
    running: Arc<AtomicI32>,
}

impl Session {
    pub(crate) fn start() -> Result<Self, Failure> {
        let session = Self { interrupted: Arc::default(), running: Arc::default() };
        let (interrupted, running) = (Arc::clone(&session.interrupted), Arc::clone(&session.running));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        thread::spawn(move || {
            for _signal in signals.forever() {
                if interrupted.swap(true, Ordering::SeqCst) {
                    // Asked twice: end at once. What is on a leash ends with this process.
                    std::process::exit(130);
                }
                if let Some(program) = Pid::from_raw(running.load(Ordering::SeqCst)) {
                    // It may just have ended by itself.
                    let _gone = kill_process(program, Signal::TERM);
                }
            }
        });
        Ok(session)
    }

    /// Whether Ctrl-C was pressed, or SIGTERM received.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Runs a program that prints straight to this terminal and reads nothing.
    pub(crate) fn run(&self, command: &mut Command) -> Result<(), Failure> {
        let status = self.status(command, |_| {})?;
        if status.success() { Ok(()) } else { Err(Failure::Said(format!("{} ended with {status}", name(command)))) }
    }

    /// Runs a program whose standard error is both shown and given line by line to `line`.
    pub(crate) fn run_and_read_errors(&self, command: &mut Command, line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
        self.status(command.stderr(Stdio::piped()), line)
    }

    /// What a program prints to standard output; nothing of it is shown.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String, Failure> {
        let mut text = String::new();
        let status = self.follow(command.stdout(Stdio::piped()), |line| {
            text.push_str(line);
            text.push('\n');
        })?;
        if status.success() { Ok(text) } else { Err(Failure::Said(format!("{} ended with {status}", name(command)))) }
    }

    fn status(&self, command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
        self.follow(command, |text| {
            // A closed terminal is no reason to lose the count.
            let _shown = writeln!(io::stdout(), "{text}");
            line(text);
        })
    }

    fn follow(&self, command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
        if self.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        let mut child =
            command.stdin(Stdio::null()).spawn().map_err(|error| Failure::Said(format!("{} cannot be started: {error}", name(command))))?;
        self.running.store(i32::try_from(child.id()).unwrap_or(0), Ordering::SeqCst);
        if self.is_interrupted() {
            // The signal came between the two: its thread saw no program to end.
            child.kill()?;
        }
        let stream: Option<Box<dyn io::Read>> = match (child.stdout.take(), child.stderr.take()) {
            (Some(output), _) => Some(Box::new(output)),
            (None, Some(errors)) => Some(Box::new(errors)),
            (None, None) => None,
        };
        let mut bytes = Vec::new();
        let mut stream = stream.map(BufReader::new);
        while let Some(stream) = &mut stream
            && stream.read_until(b'\n', &mut bytes)? > 0
        {
            line(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']));
            bytes.clear();
        }
        let status = child.wait()?;
        self.running.store(0, Ordering::SeqCst);
        if self.is_interrupted() { Err(Failure::Interrupted) } else { Ok(status) }
    }
}

/// Says what is being done, on standard error like cargo does, so that a command's own output stays clean.
pub(crate) fn say(text: impl fmt::Display) {
    eprintln!("xtask: {text}");
}

/// A cargo command in the repository's root, free of what `cargo run` told this program about its own package.
///
/// Build scripts that ask for such a variable, `ring`'s among them, would otherwise run anew each time cargo is called in another way.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_own_package(&mut command);
    command
}

/// What [`cargo`] does to its environment, for programs that call cargo themselves.
pub(crate) fn forget_own_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command.current_dir(paths::root()).env("CARGO_TARGET_DIR", paths::target());
}

fn name(command: &Command) -> String {
    let arguments = command.get_args().take(2).map(|argument| argument.to_string_lossy());
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}
