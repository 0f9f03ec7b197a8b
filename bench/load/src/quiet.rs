//! What update checks cost when there are few of them, and what memory stays after many connections have closed.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::Failure;
use crate::connections::{exchange, open};
use crate::figures::number;
use crate::server::Server;

/// Checks per second at low load.
const RATE: u32 = 100;
/// The connections that take turns with them.
const CONNECTIONS: usize = 32;
/// How long low load lasts, and how long nothing is sent before it.
const TIME: Duration = Duration::from_secs(20);

/// The connections that are opened at once.
const MANY: usize = 4_000;
/// The promised share of the memory they took that is returned.
const RETURNED: f64 = 0.75;
/// How long returning it may take.
const RETURN_TIMEOUT: Duration = Duration::from_mins(1);

/// Prints the CPU time per check at low load, next to that of a server to which nothing is sent.
pub(crate) async fn low_load(control: &Server, requests: &[Vec<u8>]) -> Result<(), Failure> {
    let mut streams = open(control.port, CONNECTIONS).await?;
    let mut buffer = Vec::with_capacity(4_096);
    let before = control.scheduled()?;
    sleep(TIME).await;
    let idle = control.scheduled()? - before;
    let before = control.scheduled()?;
    let mut ticks = interval(Duration::from_secs(1) / RATE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut answers, began) = (0_u64, Instant::now());
    for request in requests.iter().cycle() {
        if began.elapsed() >= TIME {
            break;
        }
        ticks.tick().await;
        let place = usize::try_from(answers)? % CONNECTIONS;
        exchange(streams.get_mut(place).ok_or("no such connection")?, request, &mut buffer).await?;
        answers += 1;
    }
    let cpu = control.scheduled()? - before;
    let (rate, idle_rate) = (number(answers) / began.elapsed().as_secs_f64(), idle / TIME.as_secs_f64() / 1e3);
    println!(
        "Low load, {rate:.0} checks/s over {CONNECTIONS} connections: {:.0} CPU µs/check, {:.0} of them for the check and its \
         wake-ups. With no requests: {idle_rate:.2} ms of CPU time a second",
        cpu / number(answers),
        (cpu - idle) / number(answers),
    );
    Ok(())
}

/// Opens many connections with a check on each, closes them, and returns whether the promised share of their memory is returned.
pub(crate) async fn memory(control: &Server, requests: &[Vec<u8>]) -> Result<bool, Failure> {
    control::testing::server::fit(MANY);
    let before = control.resident()?;
    let mut streams = open(control.port, MANY).await?;
    let mut buffer = Vec::with_capacity(4_096);
    for (stream, request) in streams.iter_mut().zip(requests.iter().cycle()) {
        exchange(stream, request, &mut buffer).await?;
    }
    let with_all = control.resident()?;
    drop(streams);
    let (closed, taken) = (Instant::now(), with_all.saturating_sub(before));
    let is_enough = |after: u64| number(after.saturating_sub(before)) <= number(taken) * (1.0 - RETURNED);
    let mut after = with_all;
    while !is_enough(after) && closed.elapsed() < RETURN_TIMEOUT {
        sleep(Duration::from_millis(500)).await;
        after = control.resident()?;
    }
    let verdict = if is_enough(after) { "met" } else { "MISSED" };
    println!(
        "Memory: {before} MiB, {with_all} MiB with {MANY} connections, {after} MiB {:.0} s after they closed. At least {:.0} % returned: {verdict}",
        closed.elapsed().as_secs_f64(),
        RETURNED * 100.0,
    );
    Ok(is_enough(after))
}
