//! Programs on a leash: neither they nor their child processes outlive the owner.

use std::{
    os::unix::process::ExitStatusExt,
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use xtask::leash::{self, Leashed, StopBy};

const LONG: Duration = Duration::from_secs(20);

/// A program that starts a sleeping child process, prints a line, and waits for it.
const PARENT: [&str; 2] = ["-c", "sleep 1000 & echo started; wait"];

#[test]
fn a_program_ends_when_its_owner_is_killed() {
    let mut command = leash::command("sleep", StopBy::Terminate);
    let mut child = command.arg("1000").spawn().unwrap();
    // As the system does with every pipe of a killed process.
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn stopping_a_program_stops_its_child_processes() {
    let mut command = leash::command("sh", StopBy::Terminate);
    command.args(PARENT);
    let (sender, lines) = mpsc::channel();
    let mut program = Leashed::spawn(command, StopBy::Terminate, move |line| sender.send(line.to_owned()).unwrap()).unwrap();
    assert_eq!(lines.recv_timeout(LONG).unwrap(), "started");
    program.stop(LONG);
    // The channel closes once no process holds the write end of the program's output.
    assert_eq!(lines.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_program_that_will_not_stop_is_killed() {
    let mut command = leash::command("sh", StopBy::Interrupt);
    command.args(["-c", "trap '' INT TERM; echo deaf; while :; do sleep 1000; done"]);
    let (sender, lines) = mpsc::channel();
    let mut program = Leashed::spawn(command, StopBy::Interrupt, move |line| sender.send(line.to_owned()).unwrap()).unwrap();
    assert_eq!(lines.recv_timeout(LONG).unwrap(), "deaf");
    program.stop(Duration::from_millis(100));
    assert_eq!(lines.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn an_exit_is_noticed_and_both_streams_are_read() {
    let mut command = leash::command("sh", StopBy::Terminate);
    command.args(["-c", "echo out; echo err >&2; exit 3"]);
    let (sender, lines) = mpsc::channel();
    let mut program = Leashed::spawn(command, StopBy::Terminate, move |line| sender.send(line.to_owned()).unwrap()).unwrap();
    assert_eq!(program.wait(LONG).unwrap().code(), Some(3));
    let mut read = [lines.recv_timeout(LONG).unwrap(), lines.recv_timeout(LONG).unwrap()];
    read.sort();
    assert_eq!(read, ["err", "out"]);
    program.stop(LONG);
}
