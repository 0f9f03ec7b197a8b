//! Password hashes: their form, and which stored ones are taken.

use std::net::{IpAddr, Ipv4Addr};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use control::testing::credentials::{InfraError, Passwords, Verdict, hash, unmatched, verify_in};
use futures_util::FutureExt;
use tests::Entropy;
use tokio::time::Instant;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How many hashes may run at once.
fn permits() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).saturating_sub(1).max(1)
}

/// Made by the crate itself, with the parameters that OWASP lists third (m = 9,216 KiB, t = 4, p = 1).
fn made_elsewhere(password: &str) -> String {
    use argon2::password_hash::PasswordHasher;
    let params = Params::new(9_216, 4, 1, None).unwrap();
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_with_salt(password.as_bytes(), &[7; 16]).unwrap().to_string()
}

#[test]
fn a_hash_is_of_owasps_parameters_and_matches_its_password_only() {
    let made = hash("correct horse", &Entropy::test()).unwrap();
    assert!(made.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{made}");
    let mut blocks = Vec::new();
    let verdict = |blocks: &mut Vec<Block>, password| verify_in(blocks, password, &made).unwrap();
    assert_eq!(verdict(&mut blocks, "correct horse"), Verdict { matches: true, is_outdated: false });
    assert_eq!(verdict(&mut blocks, "correct horse "), Verdict { matches: false, is_outdated: false });
    // The memory that an earlier hash has left in it changes nothing.
    assert_eq!(verdict(&mut blocks, "correct horse"), Verdict { matches: true, is_outdated: false });
}

#[test]
fn what_no_password_is_known_of_is_compared_like_any_hash() {
    let entropy = Entropy::test();
    let (unmatched, hashed) = (unmatched(&entropy).unwrap(), hash("correct horse", &entropy).unwrap());
    assert_eq!((unmatched.len(), unmatched.split('$').nth(3)), (hashed.len(), hashed.split('$').nth(3)));
    let verdict = verify_in(&mut Vec::new(), "correct horse", &unmatched).unwrap();
    assert_eq!(verdict, Verdict { matches: false, is_outdated: false });
}

#[test]
fn a_hash_with_other_parameters_still_matches_and_is_known_as_outdated() {
    let stored = made_elsewhere("correct horse");
    assert_eq!(verify_in(&mut Vec::new(), "correct horse", &stored).unwrap(), Verdict { matches: true, is_outdated: true });
    assert!(!verify_in(&mut Vec::new(), "battery staple", &stored).unwrap().matches);
}

#[test]
fn a_hash_beyond_the_bounds_is_refused_before_it_costs_anything() {
    let stored = made_elsewhere("correct horse");
    for (own, greedy) in [("m=9216", "m=4000000"), ("t=4", "t=100000"), ("p=1", "p=100"), ("argon2id", "argon2i"), ("v=19", "v=16")] {
        assert!(verify_in(&mut Vec::new(), "correct horse", &stored.replace(own, greedy)).is_err(), "{greedy}");
    }
    for nonsense in ["none", "", "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ"] {
        assert!(verify_in(&mut Vec::new(), "correct horse", nonsense).is_err(), "{nonsense}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hash_waits_at_most_ten_seconds_for_a_permit() {
    let passwords = Passwords::new(Entropy::test());
    let mut held = Vec::new();
    for _ in 0..permits() {
        held.push(passwords.turn(HERE).await.unwrap());
    }
    let began = Instant::now();
    assert!(matches!(passwords.turn(HERE).await, Err(InfraError::Busy)));
    assert_eq!(began.elapsed().as_secs(), 10);
    drop(held);
    assert!(passwords.turn(HERE).await.unwrap().hash("correct horse").await.is_ok());
    assert!(format!("{passwords:?}").contains("waiting: Mutex { data: {}"), "nobody is remembered as waiting: {passwords:?}");
}

#[tokio::test]
async fn a_permit_is_held_until_the_work_is_done_even_if_nobody_waits() {
    let passwords = Passwords::new(Entropy::test());
    let mut others = Vec::new();
    for _ in 1..permits() {
        others.push(passwords.turn(HERE).await.unwrap());
    }
    let (start, started) = tokio::sync::oneshot::channel();
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let work = tokio::spawn({
        let passwords = passwords.clone();
        async move {
            let turn = passwords.turn(HERE).await?;
            turn.spend(move || {
                start.send(()).unwrap();
                finished.recv()
            })
            .await
        }
    });
    started.await.unwrap();
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    assert!(passwords.turn(HERE).now_or_never().is_none(), "the permit is still held");
    finish.send(()).unwrap();
    passwords.turn(HERE).await.unwrap();
}
