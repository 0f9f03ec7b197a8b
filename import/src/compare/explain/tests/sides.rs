//! What only one server has: releases, rollbacks, and the release that a device is on.

use super::super::super::reason::Rollback;
use super::*;

/// What is told of this check with the old server's history, in which these labels are rollbacks.
fn sentences(query: &str, histories: [&[HistoryRelease]; 2], rollbacks: &[u32], imported: u32) -> String {
    causes(query, histories, rollbacks, imported).iter().map(Cause::sentence).collect::<Vec<_>>().join(" ")
}

fn causes(query: &str, [there, here]: [&[HistoryRelease]; 2], rollbacks: &[u32], imported: u32) -> Vec<Cause> {
    let deployment = Deployment::new("a".to_owned(), "key-of-production".try_into().unwrap(), here.to_vec(), Some(imported));
    let answer = |releases: &[_]| Answer::Info(Model::new(releases.to_vec()).answer(None, &request(query), &[]).unwrap());
    let mut entries = entries(there);
    for entry in &mut entries {
        let is_rollback = rollbacks.iter().any(|number| entry.label == Some(format!("v{number}")));
        entry.release_method = Some(if is_rollback { "Rollback" } else { "Upload" }.to_owned());
    }
    let check = Check { deployment: 0, path: NEW, query: format!("deployment_key=key-of-production&{query}") };
    Explainer::new(&deployment, Some(&entries), &deployment).explain(&check, &answer(there), &answer(here))
}

/// Packages by their numbers, oldest first, under the labels from v1 on; newest first.
fn packages(numbers: &[u32]) -> Vec<HistoryRelease> {
    (1..=9).zip(numbers).map(|(label, package)| packed(label, *package)).collect::<Vec<_>>().into_iter().rev().collect()
}

fn mandatory(mut releases: Vec<HistoryRelease>, label: u32) -> Vec<HistoryRelease> {
    releases.iter_mut().filter(|release| release.label.number() == label).for_each(|release| release.is_mandatory = true);
    releases
}

fn on(package: u32) -> String {
    format!("{FRESH}&package_hash={}", PackageHash::of(package.to_string().as_bytes()))
}

#[test]
fn a_device_on_a_release_of_one_server_only_is_given_as_the_reason() {
    // v1 is mandatory on both, the package 3 is here only and not mandatory, and 4 is the newest on both.
    let (there, here) = (mandatory(packages(&[1, 2, 4]), 1), mandatory(packages(&[1, 2, 3, 4]), 1));
    let unknown = |side: &str| {
        format!(
            "{side} does not know the device's release, so older mandatory releases count there, and the update is mandatory there only. Both servers \
             offer the same package: there is nothing to do."
        )
    };
    assert_eq!(sentences(&on(3), [&there, &here], &[], 2), unknown("The old server"));
    assert_eq!(sentences(&on(3), [&here, &there], &[], 2), unknown("The new server"));
    // The same of a device that sends only a label.
    let labeled = format!("{FRESH}&label=v4");
    assert_eq!(sentences(&labeled, [&there, &here], &[], 2), unknown("The old server"));
    assert_eq!(sentences(&labeled, [&here, &there], &[], 2), unknown("The new server"));
    // What is mandatory on one server only is still the reason then.
    let flagged = mandatory(there.clone(), 3);
    let told = sentences(&on(3), [&flagged, &here], &[], 2);
    assert_eq!(told, "v4 (v3 on the old server) is mandatory on the old server only.");
    // Of a device before the package 3, nothing differs but the labels.
    assert!(sentences(&on(2), [&there, &here], &[], 2).starts_with("Both servers offer the same package"));
    // The label v3 is the package 4 there and 3 here; 4 is mandatory, and 5 the newest on both.
    let (there, here) = (mandatory(packages(&[1, 2, 4, 5]), 3), mandatory(packages(&[1, 2, 3, 4, 5]), 4));
    let told = sentences(&format!("{FRESH}&label=v3"), [&there, &here], &[], 2);
    assert!(told.starts_with("The device's label stands for another release on each server"), "{told}");
}

#[test]
fn several_releases_are_more_than_one_and_named_by_where_they_are() {
    // 3 is here only, 5 there only and disabled. Of those on both, 4 is disabled there, and 2 has another description there.
    let (mut there, mut here) = (packages(&[1, 2, 4, 5, 6]), packages(&[1, 2, 3, 4, 6]));
    (there[0].range, here[0].range) = ("^2.0.0".into(), "^2.0.0".into());
    (there[1].is_disabled, there[2].is_disabled) = (true, true);
    there[3].description = Some("other".into());
    assert_eq!(
        sentences(FRESH, [&there, &here], &[], 2),
        "Several releases differ between the servers: v4 (v3 on the old server), v3 (here only), v2, v4 (on the old server only)."
    );
    // Two things about one release.
    let (mut there, here) = (packages(&[1, 2]), packages(&[1, 2]));
    there[0].description = Some("other".into());
    there[0].is_mandatory = true;
    assert_eq!(
        sentences(FRESH, [&there, &here], &[], 2),
        "Several things about v2 differ between the servers: mandatory flag, description."
    );
}

#[test]
fn another_release_on_each_server_is_named_with_both() {
    // 3 is here only. Then the package 5 was released here, and 6 there.
    let (there, here) = (packages(&[1, 2, 4, 6]), packages(&[1, 2, 3, 4, 5]));
    let told = "v5 here has no counterpart on the old server, and v4 there has none here: each server has another package.";
    for query in [FRESH.to_owned(), on(2), on(4), on(5), on(6)] {
        assert_eq!(sentences(&query, [&there, &here], &[], 2), told, "{query}");
    }
}

#[test]
fn a_rollback_on_the_old_server_is_called_one() {
    let both = packages(&[1, 2, 3]);
    let there = packages(&[1, 2, 3, 2]);
    let told = "v4 on the old server is a rollback, which was made there only.";
    assert_eq!(sentences(FRESH, [&there, &both], &[4], 3), format!("{told} Import again."));
    // A release of the same package is none.
    assert!(sentences(FRESH, [&there, &both], &[], 3).starts_with("v4 was released on the old server after the import."));
    // With releases here that imports leave alone: v3 was released on both.
    let command = format!("{told} Its package is that of v2 here: `updraft release rollback --to v2`.");
    assert_eq!(sentences(FRESH, [&there, &both], &[4], 2), command);
    // The package 3 is v4 here.
    let (there, here) = (packages(&[1, 2, 3, 4, 3]), packages(&[1, 2, 9, 3, 4]));
    let told = told.replace("v4", "v5");
    assert_eq!(
        sentences(FRESH, [&there, &here], &[5], 2),
        format!("{told} Its package is that of v4 here: `updraft release rollback --to v4`.")
    );
    // Also with another release here: both are named.
    let here = packages(&[1, 2, 9, 3, 4, 8]);
    assert_eq!(
        sentences(FRESH, [&there, &here], &[5], 2),
        format!(
            "{told} Its package is that of v4 here: `updraft release rollback --to v4`. v6 was released here after the import. The old server does not \
             have it."
        )
    );
    // The newest release here is for other app versions: a rollback would be refused.
    let mut here = packages(&[1, 2, 3, 4]);
    here[0].range = "^2.0.0".into();
    let there = [vec![packed(5, 2)], here.clone()].concat();
    assert_eq!(
        sentences(FRESH, [&there, &here], &[5], 2),
        format!(
            "{told} Its package is that of v2 here: release that one again, because the newest release here is for other app versions."
        )
    );
    // The package is not here.
    let (there, here) = (packages(&[1, 7, 3, 7]), packages(&[1, 3]));
    assert_eq!(
        sentences(FRESH, [&there, &here], &[4], 1),
        "v4 on the old server is a rollback, which was made there only. Its package is not here: release it here."
    );
}

/// Numbers of a fixed sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Both have v1 and v2. Later packages are on both, or on one only; some are mandatory, and some rollbacks.
fn random_histories(random: &mut Random) -> ([Vec<HistoryRelease>; 2], Vec<u32>) {
    let (mut histories, mut rollbacks) = ([packages(&[1, 2]), packages(&[1, 2])], Vec::new());
    for package in 3..=4 + u32::try_from(random.below(5)).unwrap() {
        let (place, is_mandatory, is_rollback) = (random.below(4), random.below(3) == 0, random.below(4) == 0);
        for (side, releases) in (0..).zip(&mut histories) {
            let next = releases[0].label.number() + 1;
            if place == side {
                continue;
            }
            let package = if is_rollback { 2 } else { package };
            releases.insert(0, HistoryRelease { is_mandatory, ..packed(next, package) });
            if side == 0 && is_rollback {
                rollbacks.push(next);
            }
        }
    }
    (histories, rollbacks)
}

#[test]
fn what_is_named_is_where_it_is_said_to_be() {
    let mut random = Random(1);
    for round in 0..300 {
        let ([there, here], rollbacks) = random_histories(&mut random);
        let find = |side: Side, label: Label| {
            let releases = if side == Side::Old { &there } else { &here };
            releases.iter().find(|release| release.label == label)
        };
        let is_both = |named: &Named| find(Side::New, named.here).is_some() && find(Side::Old, named.there).is_some();
        let is_there = |release: &Differing| match release {
            Differing::Both(named) => is_both(named),
            Differing::Only(side, label) => find(*side, *label).is_some(),
        };
        let devices = (1..9).flat_map(|number| [on(number), format!("{FRESH}&label=v{number}")]).chain([FRESH.to_owned()]);
        for query in devices {
            for cause in causes(&query, [&there, &here], &rollbacks, 2) {
                let is_true = match &cause {
                    Cause::Newer(side, label) => find(*side, *label).is_some(),
                    Cause::Missing(side, label) => find(side.other(), *label).is_some(),
                    Cause::MandatoryBetween(side, label) => find(*side, *label).is_some_and(|release| release.is_mandatory),
                    Cause::RolledBack(label, Rollback::To(to)) => find(Side::Old, *label)
                        .zip(find(Side::New, *to))
                        .is_some_and(|(theirs, ours)| theirs.package_hash == ours.package_hash && rollbacks.contains(&label.number())),
                    Cause::OtherPackage(named) => find(Side::New, named.here)
                        .zip(find(Side::Old, named.there))
                        .is_some_and(|(ours, theirs)| ours.package_hash != theirs.package_hash),
                    Cause::Differs(_, named, _) | Cause::OtherLabel(named) | Cause::OtherOrder(named) => is_both(named),
                    Cause::Several(releases) => {
                        let has_twice = releases.iter().enumerate().any(|(at, release)| releases[..at].contains(release));
                        releases.len() > 1 && !has_twice && releases.iter().all(is_there)
                    }
                    Cause::SeveralOf(named, properties) => is_both(named) && properties.len() > 1,
                    Cause::DeviceUnknown(_) | Cause::DeviceLabel => query != FRESH,
                    _ => false,
                };
                let labels = |releases: &[HistoryRelease]| {
                    releases.iter().map(|release| (release.label.number(), release.size, release.is_mandatory)).collect::<Vec<_>>()
                };
                assert!(is_true, "round {round}, {query}: {}\n{:?}\n{:?}", cause.sentence(), labels(&there), labels(&here));
            }
        }
    }
}
