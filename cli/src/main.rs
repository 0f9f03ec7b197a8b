//! `updraft`: the command-line client. It publishes releases and manages apps through the public API, and nothing else.
//!
//! Start reading at [`arguments`] for the grammar, [`commands`] for what each command does, [`context`] for what all commands share. Deliberately not
//! here: rules of the service. The server decides; the CLI words its answers.

mod arguments;
mod bundle;
mod children;
mod client;
mod clock;
mod commands;
mod config;
mod context;
mod error;
mod output;
mod package;
mod temporary;
mod usage;
mod xml;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::commands::Command;
use crate::context::Context;
use crate::error::Error;
use crate::output::{interrupt, terminal};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse_from(usage::words()) {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(&error),
    };
    let result = run(arguments).and_then(|()| match terminal::lost() {
        None => Ok(()),
        Some(reason) => {
            let what = format!("cannot write to standard output: {reason}");
            Err(Error::failed(what, "What the command did is done; only its output is lost. Free some space, and read it again."))
        }
    });
    // Not while a signal ends the program: its exit code is the one that counts.
    interrupt::end_here();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // At a question, which has said so already.
            if error.kind != error::Kind::Interrupted {
                error.print();
            }
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// Listens for Ctrl-C, and for the signals with which the system or a pipeline ends the program, from this call on. Completes with the exit code that shells report
/// for the signal.
#[cfg(unix)]
fn interruption() -> std::io::Result<impl Future<Output = i32> + Send> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut pressed = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    // What Ctrl-\ sends: the programs that run for the CLI would not notice it.
    let mut quit = signal(SignalKind::quit())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    Ok(async move {
        let kind = tokio::select! {
            _ = pressed.recv() => return i32::from(error::Kind::Interrupted.exit_code()),
            _ = terminated.recv() => SignalKind::terminate(),
            _ = hung_up.recv() => SignalKind::hangup(),
            _ = quit.recv() => SignalKind::quit(),
        };
        128 + kind.as_raw_value()
    })
}

#[cfg(not(unix))]
fn interruption() -> std::io::Result<impl Future<Output = i32> + Send> {
    let mut pressed = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        let _ = pressed.recv().await;
        i32::from(error::Kind::Interrupted.exit_code())
    })
}

fn run(arguments: Arguments) -> Result<(), Error> {
    let Arguments { global, command } = arguments;
    // One worker besides the main thread, so that Ctrl-C is noticed while the main thread waits at a prompt.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Error::failed(format!("cannot start: {error}"), "Free some memory, then try again."))?;
    // Before the command begins: its first question can come at once.
    let interruption = {
        let _entered = runtime.enter();
        interruption()
    };
    if let Ok(interruption) = interruption {
        runtime.spawn(async move {
            let code = interruption.await;
            interrupt::end_here();
            children::end();
            interrupt::report();
            std::process::exit(code);
        });
    }
    let context = if matches!(command, Command::Doctor(_)) { Context::lenient(global) } else { Context::new(global)? };
    let result = runtime.block_on(command.run(&context));
    // A background request must not delay the prompt.
    runtime.shutdown_background();
    result
}
