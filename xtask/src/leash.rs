//! Programs that never outlive the process that started them.
//!
//! Each runs as the leader of its own process group, next to a watcher that reads from a pipe. When this process ends in whatever way, killed
//! included, the pipe closes and the watcher ends the group; wrangler's `workerd` and a forgotten server can thus not stay behind.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// The leader of the group becomes the program itself; only the watcher remains a shell. It holds the group's number until the end, so that a
/// signal to the group can never reach strangers.
const WATCHED: &str = r#"
signal=$1; shift
exec 3<&0
(
    trap '' INT TERM HUP
    exec >/dev/null 2>&1
    read -r _ <&3
    kill -s "$signal" 0
    sleep 5
    kill -s KILL 0
) &
exec "$@" </dev/null 3<&-
"#;

/// How a program wishes to be told to stop.
#[derive(Clone, Copy, Debug)]
pub enum StopBy {
    /// SIGTERM, what most programs take for an orderly end.
    Terminate,
    /// SIGINT: PostgreSQL's fast shutdown, which does not wait for its clients.
    Interrupt,
}

impl StopBy {
    fn signal(self) -> Signal {
        match self {
            Self::Terminate => Signal::TERM,
            Self::Interrupt => Signal::INT,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Interrupt => "INT",
        }
    }
}

/// The command that runs `program` on a leash: give it arguments, environment and folder as usual.
///
/// Its standard input is the leash. Whoever spawns it keeps `Child::stdin` for as long as the program shall live, which [`Leashed::spawn`] does.
pub fn command(program: impl AsRef<OsStr>, stop_by: StopBy) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", WATCHED, "sh", stop_by.name()]).arg(program);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running program on a leash. Dropping it stops the program and all that it started.
#[derive(Debug)]
pub struct Leashed {
    group: Pid,
    stop_by: StopBy,
    ended: mpsc::Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
    leash: Option<ChildStdin>,
}

impl Leashed {
    /// Starts a command made by [`command`]. Each line that it prints, on either stream, is given to `line`, from a thread of its own.
    ///
    /// Fails when the shell cannot be started; a program that does not exist ends with status 127 instead.
    pub fn spawn(mut command: Command, stop_by: StopBy, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let leash = child.stdin.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process without a number"))?;
        let line = Arc::new(line);
        if let Some(stream) = child.stdout.take() {
            forward(stream, Arc::clone(&line));
        }
        if let Some(stream) = child.stderr.take() {
            forward(stream, line);
        }
        Ok(Self { group, stop_by, ended: watch(child), status: None, leash })
    }

    /// The program's process id, which is also its group's.
    pub fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// How the program ended, or none while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.wait(Duration::ZERO)
    }

    /// Waits at most this long for the program to end by itself, and gives how it did.
    pub fn wait(&mut self, longest: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.ended.recv_timeout(longest).ok().and_then(Result::ok);
        }
        self.status
    }

    /// Asks the whole group to stop, gives it this long, then kills what is left. Harmless when it has ended, or was stopped before.
    pub fn stop(&mut self, grace: Duration) {
        if self.leash.is_none() {
            return;
        }
        // Both calls can only fail because nothing of the group is left, which is what is wanted.
        let _gone = kill_process_group(self.group, self.stop_by.signal());
        self.wait(grace);
        let _gone = kill_process_group(self.group, Signal::KILL);
        self.leash = None;
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.stop(Duration::from_secs(10));
    }
}

fn forward(stream: impl Read + Send + 'static, line: Arc<impl Fn(&str) + Send + Sync + 'static>) {
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        // A program may print bytes that are no text; these must not end the reading, or it would block on a full pipe.
        while stream.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            line(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
    });
}

fn watch(mut child: Child) -> mpsc::Receiver<io::Result<ExitStatus>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    receiver
}
