//! A command's run: its failures, its child processes, and their signal handling.

use std::{
    collections::BTreeSet,
    env, fmt,
    io::{self, BufRead, BufReader, Write},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use xtask::paths;

/// Why a command fails.
#[derive(Debug)]
pub(crate) enum Failure {
    /// With this message to the developer.
    Message(String),
    /// The stages and their count have already been printed.
    Reported,
    /// By Ctrl-C or SIGTERM.
    Interrupted,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(text) => formatter.write_str(text),
            Self::Reported => formatter.write_str("some checks failed"),
            Self::Interrupted => formatter.write_str("interrupted"),
        }
    }
}

/// Starts child processes. On SIGINT, SIGTERM and SIGHUP, sends SIGTERM to those that are running.
pub(crate) struct Session {
    interrupted: Arc<AtomicBool>,
    /// The process IDs of the running programs.
    running: Arc<Mutex<BTreeSet<i32>>>,
    /// Prefixes the programs' output, if several run at once.
    lane: Option<&'static str>,
}

impl Session {
    pub(crate) fn start() -> Result<Self, Failure> {
        let session = Self { interrupted: Arc::default(), running: Arc::default(), lane: None };
        let (interrupted, running) = (Arc::clone(&session.interrupted), Arc::clone(&session.running));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        thread::spawn(move || {
            for _signal in signals.forever() {
                if interrupted.swap(true, Ordering::SeqCst) {
                    // Second signal: exit at once. Programs on a leash end with this process.
                    std::process::exit(130);
                }
                for program in locked(&running).iter().filter_map(|id| Pid::from_raw(*id)) {
                    // The program may have exited in the meantime.
                    let _gone = kill_process(program, Signal::TERM);
                }
            }
        });
        Ok(session)
    }

    /// The same session for parallel work: every line that its programs print has this name as a prefix.
    pub(crate) fn lane(&self, name: &'static str) -> Self {
        Self { interrupted: Arc::clone(&self.interrupted), running: Arc::clone(&self.running), lane: Some(name) }
    }

    /// Prints a line, with a prefix in a lane.
    pub(crate) fn print(&self, line: &str) {
        // A closed terminal must not lose the count.
        let _shown = match self.lane {
            Some(name) => writeln!(io::stdout(), "{name:<7} | {line}"),
            None => writeln!(io::stdout(), "{line}"),
        };
    }

    /// Whether Ctrl-C was pressed, or SIGTERM received.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Runs a program without input. It prints directly to the terminal, or through this process in a lane.
    pub(crate) fn run(&self, command: &mut Command) -> Result<(), Failure> {
        let status = if self.lane.is_some() {
            let (output, input) = io::pipe()?;
            command.stdout(input.try_clone()?).stderr(input);
            self.follow(command, Some(Box::new(output)), |line| self.print(line))?
        } else {
            self.follow(command, None, |_| {})?
        };
        if status.success() { Ok(()) } else { Err(Failure::Message(format!("{} exited with {status}", name(command)))) }
    }

    /// Runs a program, prints its standard error, and calls `line` with each line of it.
    pub(crate) fn run_and_read_errors(&self, command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
        let (output, input) = io::pipe()?;
        self.follow(command.stderr(input), Some(Box::new(output)), |text| {
            self.print(text);
            line(text);
        })
    }

    /// Runs a program and returns its standard output without printing it.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String, Failure> {
        let mut text = String::new();
        let (output, input) = io::pipe()?;
        let status = self.follow(command.stdout(input), Some(Box::new(output)), |line| {
            text.push_str(line);
            text.push('\n');
        })?;
        if status.success() { Ok(text) } else { Err(Failure::Message(format!("{} exited with {status}", name(command)))) }
    }

    /// Runs a program until it exits; meanwhile, reads `output`, the read end of the pipe that it prints to, line by line.
    fn follow(&self, command: &mut Command, output: Option<Box<dyn io::Read>>, mut line: impl FnMut(&str)) -> Result<ExitStatus, Failure> {
        if self.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        let mut child = command
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| Failure::Message(format!("could not start {}: {error}", name(command))))?;
        // Closes this process's copy of the write end, so that reading ends when the program does.
        command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
        let id = i32::try_from(child.id()).unwrap_or(0);
        locked(&self.running).insert(id);
        if self.is_interrupted() {
            // The signal came between start and registration, so its thread did not see the program.
            child.kill()?;
        }
        let read = output.map_or(Ok(()), |output| each_line(output, &mut line));
        let status = child.wait();
        locked(&self.running).remove(&id);
        read?;
        let status = status?;
        if self.is_interrupted() { Err(Failure::Interrupted) } else { Ok(status) }
    }
}

/// Ignores poisoning: a panic in another thread leaves the set valid.
fn locked(running: &Mutex<BTreeSet<i32>>) -> MutexGuard<'_, BTreeSet<i32>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn each_line(stream: Box<dyn io::Read>, line: &mut impl FnMut(&str)) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut stream = BufReader::new(stream);
    while stream.read_until(b'\n', &mut bytes)? > 0 {
        line(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']));
        bytes.clear();
    }
    Ok(())
}

/// Prints progress to standard error, as cargo does, so that a command's own output stays clean.
pub(crate) fn say(text: impl fmt::Display) {
    eprintln!("xtask: {text}");
}

/// A cargo command in the repository's root, without the variables that `cargo run` set for this program's own package.
///
/// Otherwise, build scripts that depend on such a variable, such as `ring`'s, would rerun whenever cargo is called in a different way.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_own_package(&mut command);
    command
}

/// Sets the environment as [`cargo`] does, for programs that call cargo themselves.
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
