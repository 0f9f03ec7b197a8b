//! `updraft metrics --watch`: the table again and again, in place on a terminal.

use std::time::Duration;

use super::{NO_REPORTS, Source, counts};
use crate::clock;
use crate::error::{Kind, Result};
use crate::output::terminal::{self, Screen};

/// Draws until Ctrl-C. A server that cannot be reached for a while does not end it.
pub(super) async fn run(source: &Source<'_>, interval: Duration) -> Result<()> {
    let style = terminal::stdout_style();
    let mut screen = Screen::new();
    let mut table = String::new();
    loop {
        let state = match source.counts().await {
            Ok(answer) => {
                let metrics = &answer.value.metrics;
                table = counts::table(metrics, source.hour(metrics).await.as_ref()).text();
                if answer.value.metrics.is_empty() && terminal::is_output() {
                    table = format!("{NO_REPORTS}\n");
                }
                String::new()
            }
            Err(error) if error.kind == Kind::Unreachable => format!("{}; trying again", error.what),
            Err(error) => return Err(error),
        };
        if terminal::is_output() {
            let time = clock::now().iso8601();
            let time = time.get(11..19).unwrap_or_default();
            let heading = format!("{} {} · every {} s · {time} UTC · Ctrl-C stops", source.app, source.deployment, interval.as_secs());
            let failure = if state.is_empty() { state } else { format!("{}\n", style.warning(&state)) };
            screen.draw(&format!("{}\n\n{table}{failure}", style.dim(&heading)));
        } else if state.is_empty() {
            screen.draw(&table);
        } else {
            terminal::line(&state);
        }
        clock::wait(interval).await;
    }
}
