//! Runs programs that never outlive the process that started them.
//!
//! Each program leads its own process group, next to a watcher that reads from a pipe. When this process ends in any way, even by SIGKILL, the pipe
//! closes and the watcher kills the group. So neither wrangler's `workerd` nor a forgotten server can be left behind.

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

/// The group leader becomes the program itself; only the watcher remains a shell. It keeps the group ID in use until the end, so that a signal to the
/// group can never reach unrelated processes.
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

/// The signal that stops a program.
#[derive(Clone, Copy, Debug)]
pub enum StopBy {
    /// SIGTERM: most programs shut down gracefully.
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

/// The command that runs `program` on a leash: set arguments, environment and working directory as usual.
///
/// Its standard input is the leash: keep `Child::stdin` open for as long as the program should live, as [`Leashed::spawn`] does.
pub fn command(program: impl AsRef<OsStr>, stop_by: StopBy) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", WATCHED, "sh", stop_by.name()]).arg(program);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running program on a leash. Dropping it stops the program and everything that it started.
#[derive(Debug)]
pub struct Leashed {
    group: Pid,
    stop_by: StopBy,
    ended: mpsc::Receiver<io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
    leash: Option<ChildStdin>,
}

impl Leashed {
    /// Starts a command created by [`command`]. Calls `line`, from a separate thread, with each line that it prints on either stream.
    ///
    /// Fails if the shell cannot be started; a program that does not exist exits with status 127 instead.
    pub fn spawn(mut command: Command, stop_by: StopBy, line: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let leash = child.stdin.take();
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process without an ID"))?;
        let line = Arc::new(line);
        if let Some(stream) = child.stdout.take() {
            forward(stream, Arc::clone(&line));
        }
        if let Some(stream) = child.stderr.take() {
            forward(stream, line);
        }
        Ok(Self { group, stop_by, ended: watch(child), status: None, leash })
    }

    /// The program's process ID, which is also its group ID.
    pub fn id(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// The exit status; `None` while the program runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.wait(Duration::ZERO)
    }

    /// Waits at most `timeout` for the program to exit, and returns its status.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.ended.recv_timeout(timeout).ok().and_then(Result::ok);
        }
        self.status
    }

    /// Signals the whole group to stop, waits for up to `grace`, then kills the rest. Harmless if the program has ended or was stopped before.
    pub fn stop(&mut self, grace: Duration) {
        if self.leash.is_none() {
            return;
        }
        // Both calls can fail only if the group has no processes left, which is the goal.
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
        // A program may print invalid UTF-8, which must not stop the reading: the program would block on a full pipe.
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
