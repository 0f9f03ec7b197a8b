//! The full-size soak test, on the database of `TEST_DATABASE`, with the numeric options `--events`, `--clients`, `--kills` and `--seed`. Prints a
//! summary and fails on any error. With `edge` it runs the load on the edge instead, with `attacks` the attacks on connections, with `import` imports
//! that are killed, with `storage` random changes of what is stored, with `diffs` releases whose diffs are made by a program that is killed, with `upgrade` the upgrade from the previous release.
//!
//! The program is `updraft-control` next to this one, or the one in `UPDRAFT_CONTROL`.

use std::process::ExitCode;

use tests::load::{self, Size};
use tests::soak::{Plan, attacks, diffs, import, run, samples, storage, upgrade};

/// The requested run, or `None` if the arguments are invalid. Cargo adds `--bench`.
fn plan() -> Option<Plan> {
    let mut plan = Plan { events: 200_000, clients: 5_000, kills: 20, seed: 1 };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(name) = words.next() {
        let number = words.next()?.parse::<u64>().ok()?;
        let count = usize::try_from(number).ok()?;
        match name.as_str() {
            "--events" => plan.events = count,
            "--clients" => plan.clients = count,
            "--kills" => plan.kills = count,
            "--seed" => plan.seed = number,
            _ => return None,
        }
    }
    (plan.clients > 0 && plan.events >= 10).then_some(plan)
}

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["edge"]) {
        load::run(Size::LONG).await;
        return ExitCode::SUCCESS;
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["attacks"]) {
        attacks::run().await;
        return ExitCode::SUCCESS;
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["import"]) {
        let plan =
            import::Plan { apps: 3, deployments: 8, releases: 1_000, kills: 20, checks: 10_000, point: import::Point::Time, seed: 1 };
        let outcome = import::run(plan).await;
        println!("{outcome}");
        return if outcome.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["diffs"]) {
        let outcome = diffs::run(diffs::Plan { releases: 160, kills: 40, least: 200, seed: 1 }).await;
        println!("{outcome}");
        return if outcome.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["storage"]) {
        let mut is_faulty = false;
        for store in [storage::Store::Folder, storage::Store::Bucket] {
            let outcome = storage::run(storage::Plan { store, steps: 10_000, kills: 400, seed: 1 }).await;
            println!("{outcome}\n");
            is_faulty |= !outcome.faults.is_empty();
        }
        return if is_faulty { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["upgrade", "--keep-samples"]) {
        samples::keep(&upgrade::Previous::built()).await;
        return ExitCode::SUCCESS;
    }
    if std::env::args().skip(1).filter(|word| word != "--bench").eq(["upgrade"]) {
        let outcome = upgrade::run(&upgrade::Previous::built()).await;
        println!("{outcome}");
        return if outcome.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let Some(plan) = plan() else {
        eprintln!("soak: --events (10 or more), --clients (1 or more), --kills and --seed take a number each");
        return ExitCode::FAILURE;
    };
    let outcome = run(plan).await;
    println!("{outcome}");
    if outcome.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
