//! The project's own programs that run for the CLI, such as bundlers and compilers: they do not outlive it.
//!
//! Each leads a process group of its own, with all that it starts itself. A terminal's Ctrl-C does not reach such a group, so [`end`] ends all of them.
//! Start at [`spawn`].

use std::io;
use std::mem;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The groups that run, by the process that leads them.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A program that was started, with all that it starts. Dropped once the program has ended.
#[derive(Debug)]
pub(crate) struct Group(Option<u32>);

/// Starts a program.
pub(crate) fn spawn(command: &mut Command) -> io::Result<(Child, Group)> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    started(|| command.spawn().map(|child| (Some(child.id()), child)))
}

/// Starts a program whose end is awaited.
pub(crate) fn spawn_awaited(command: &mut tokio::process::Command) -> io::Result<(tokio::process::Child, Group)> {
    #[cfg(unix)]
    command.process_group(0);
    started(|| command.spawn().map(|child| (child.id(), child)))
}

/// Starts and notes a program in one step, so that [`end`] misses none.
fn started<C>(spawn: impl FnOnce() -> io::Result<(Option<u32>, C)>) -> io::Result<(C, Group)> {
    let mut running = running();
    let (id, child) = spawn()?;
    running.extend(id);
    Ok((child, Group(id)))
}

/// Ends all programs, for a CLI that exits now.
pub(crate) fn end() {
    let running = running();
    for leader in running.iter() {
        kill(*leader);
    }
    // Code that starts a program, or has seen one end, waits here until the exit: a program that was ended must not be reported as one that failed.
    mem::forget(running);
}

impl Drop for Group {
    fn drop(&mut self) {
        running().retain(|leader| Some(*leader) != self.0);
    }
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a group, which may have ended already.
#[cfg(unix)]
fn kill(leader: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};

    if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// On Windows, Ctrl-C reaches all programs of the console.
#[cfg(not(unix))]
fn kill(_leader: u32) {}
