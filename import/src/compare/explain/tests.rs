//! Every known fault and every difference of histories is found, and nothing else is explained.

mod sides;

use super::super::check::NEW;
use super::super::model::tests::{release, request};
use super::super::reason::Differing;
use super::*;
use shared::snapshot::HistoryRelease;

/// v1, v2 mandatory, v3, v4 at 50 %: all for ^1.0.0.
fn history() -> Vec<HistoryRelease> {
    let mut releases: Vec<_> = [4, 3, 2, 1].map(|number| release(number, "^1.0.0")).into();
    releases[2].is_mandatory = true;
    releases[0].rollout = Some(50);
    releases
}

fn entries(releases: &[HistoryRelease]) -> Vec<Entry> {
    let entry = |release: &HistoryRelease| Entry {
        label: Some(release.label.to_string()),
        app_version: Some(release.range.clone()),
        description: release.description.clone(),
        is_disabled: release.is_disabled,
        is_mandatory: release.is_mandatory,
        rollout: release.rollout.map(u64::from),
        package_hash: Some(release.package_hash.to_string()),
        ..Entry::default()
    };
    releases.iter().rev().map(entry).collect()
}

const FRESH: &str = "app_version=1.0.0&client_unique_id=a";
const IN_ROLLOUT: &str = "app_version=1.0.0&client_unique_id=e";

/// What is told about the answers of an old server with another history, without and with that history.
fn told(query: &str, there: &[HistoryRelease], here: Vec<HistoryRelease>, imported: Option<u32>) -> [Vec<Cause>; 2] {
    let deployment = |releases| Deployment::new("a".to_owned(), "key-of-production".try_into().unwrap(), releases, imported);
    let answer = |releases: &[_]| Answer::Info(Model::new(releases.to_vec()).answer(None, &request(query), &[]).unwrap());
    let (old, new) = (answer(there), answer(&here));
    let check = Check { deployment: 0, path: NEW, query: format!("deployment_key=key-of-production&{query}") };
    let (known, here) = (entries(there), deployment(here));
    [None, Some(known.as_slice())].map(|known| Explainer::new(&here, known, &here).explain(&check, &old, &new))
}

fn changed(change: impl FnOnce(&mut Vec<HistoryRelease>)) -> Vec<HistoryRelease> {
    let mut releases = history();
    change(&mut releases);
    releases
}

#[test]
fn each_difference_between_histories_has_its_reason() {
    let label = |number| Label::new(number).unwrap();
    let differs = |property, number, is_certain| vec![Cause::Differs(property, label(number).into(), is_certain)];
    let of = |query, there: Vec<_>| told(query, &there, history(), Some(4));
    assert_eq!(of(FRESH, history()), [vec![], vec![]]);
    let not_offered = vec![Cause::NotOffered(label(3))];
    assert_eq!(of(FRESH, changed(|releases| drop(releases.remove(1)))), [not_offered.clone(), vec![Cause::Missing(Side::Old, label(3))]]);
    assert_eq!(
        of(FRESH, changed(|releases| releases[1].is_disabled = true)),
        [not_offered.clone(), differs(Property::Disabled(Side::Old), 3, true)]
    );
    assert_eq!(of(FRESH, changed(|releases| releases[1].range = "2.0.0".into()))[1], differs(Property::Range, 3, true));
    let both = |property, number| [differs(property, number, property != Property::Mandatory(Side::Old)), differs(property, number, true)];
    assert_eq!(of(FRESH, changed(|releases| releases[0].rollout = None))[1], differs(Property::Rollout, 4, true));
    assert_eq!(of(FRESH, changed(|releases| releases[0].rollout = None))[0], differs(Property::Rollout, 4, false));
    let on_v2 = format!("app_version=1.0.0&client_unique_id=a&label=v2&package_hash={}", PackageHash::of(b"2"));
    assert_eq!(of(&on_v2, changed(|releases| releases[1].is_mandatory = true)), both(Property::Mandatory(Side::Old), 3));
    let text = changed(|releases| releases[1].description = Some("other".into()));
    assert_eq!(of(FRESH, text), [differs(Property::Description, 3, false), differs(Property::Description, 3, true)]);
    let package = changed(|releases| releases[1].package_hash = PackageHash::of(b"other"));
    assert_eq!(of(FRESH, package), [differs(Property::Package, 3, false), differs(Property::Package, 3, true)]);
    let newer = changed(|releases| releases.insert(0, release(5, "*")));
    assert_eq!(of(IN_ROLLOUT, newer), [vec![Cause::Newer(Side::Old, label(5))], vec![Cause::Newer(Side::Old, label(5))]]);
    let two = changed(|releases| releases.drain(..2).for_each(drop));
    let released_here = [vec![Cause::NewerNotOffered(label(3))], vec![Cause::Newer(Side::New, label(3))]];
    assert_eq!(told(IN_ROLLOUT, &two, history(), Some(2)), released_here);
    // Both servers got v4, and it was disabled on the old one: only its history tells.
    let stopped = changed(|releases| releases[0].is_disabled = true);
    let stopped_there = [vec![Cause::NewerNotOffered(label(4))], differs(Property::Disabled(Side::Old), 4, true)];
    assert_eq!(told(IN_ROLLOUT, &stopped, history(), Some(3)), stopped_there);
    let many = changed(|releases| {
        releases[1].is_disabled = true;
        releases[2].description = Some("other".into());
    });
    assert_eq!(
        of(FRESH, many),
        [
            vec![Cause::Unexplained(vec!["package hash", "label", "description"])],
            vec![Cause::Several([3, 2].map(|number| Differing::Both(label(number).into())).to_vec())]
        ]
    );
}

#[test]
fn known_faults_are_recognized_by_what_the_device_sent() {
    let here = history();
    let deployment = Deployment::new("a".to_owned(), "key-of-production".try_into().unwrap(), here.clone(), None);
    let explain = |query: &str, faults: &[KnownFault], change: fn(&mut Info)| {
        let asked = request(query);
        let mut model = Model::new(here.clone());
        let mut old = model.answer(None, &asked, faults).unwrap();
        change(&mut old);
        let new = model.answer(None, &asked, &[]).unwrap();
        let check = Check { deployment: 0, path: NEW, query: format!("deployment_key=key-of-production&{query}") };
        Explainer::new(&deployment, None, &deployment).explain(&check, &Answer::Info(old), &Answer::Info(new))
    };
    let on_v2 = format!("app_version=1.0.0&client_unique_id=a&package_hash={}", PackageHash::of(b"2"));
    let label = KnownFault::LabelUndefined;
    assert_eq!(explain(&on_v2, &[label], |_| {}), [Cause::Known(label)]);
    let both = explain(&on_v2.replace("client_unique_id=a&", ""), &[label, KnownFault::ClientUndefined], |_| {});
    assert_eq!(both, [Cause::Known(label), Cause::Known(KnownFault::ClientUndefined)]);
    // The same answer to a device that sent its label is no such fault.
    let labeled = explain(&format!("{on_v2}&label=v2"), &[label], |_| {});
    assert_eq!(labeled, [Cause::Differs(Property::Mandatory(Side::Old), Label::new(3).unwrap().into(), false)]);
    // Nor is one with anything else changed.
    assert!(matches!(explain(&on_v2, &[label], |info| info.target = "1".into())[..], [Cause::Unexplained(_)]));
    assert!(matches!(explain(&on_v2, &[], |info| info.size = 5)[..], [Cause::Diff(Side::Old)]));
    assert!(matches!(explain(&on_v2, &[], |info| info.size += 5)[..], [Cause::Unexplained(_)]));
    assert!(matches!(explain(FRESH, &[], |info| info.size = 5)[..], [Cause::Unexplained(_)]));
    assert!(matches!(explain(FRESH, &[], |info| info.has_address = false)[..], [Cause::Unexplained(_)]));
    let wrong = explain(FRESH, &[KnownFault::NewIsFound], |_| {});
    assert_eq!(wrong, [Cause::Known(KnownFault::NewIsFound)]);
}

#[test]
fn the_same_files_in_archives_of_different_sizes_are_explained_by_the_old_history() {
    let here = history();
    let mut there = entries(&here);
    for (entry, release) in there.iter_mut().zip(here.iter().rev()) {
        entry.size = Some(release.size + 9);
    }
    let deployment = Deployment::new("a".to_owned(), "key-of-production".try_into().unwrap(), here.clone(), None);
    let explain = |more: u64| {
        let check = Check { deployment: 0, path: NEW, query: format!("deployment_key=key-of-production&{FRESH}") };
        let new = Model::new(here.clone()).answer(None, &request(FRESH), &[]).unwrap();
        let old = Info { size: new.size + more, ..new.clone() };
        Explainer::new(&deployment, Some(&there), &deployment).explain(&check, &Answer::Info(old), &Answer::Info(new))
    };
    assert_eq!(explain(9), [Cause::PackedDifferently]);
    assert!(matches!(explain(8)[..], [Cause::Unexplained(_)]));
}

/// A package by its number, under this label.
fn packed(label: u32, package: u32) -> HistoryRelease {
    HistoryRelease { label: Label::new(label).unwrap(), ..release(package, "^1.0.0") }
}

/// Both have v1 to v3. The package 4 was released there only; then 5 to 7 on both, so that labels differ.
fn parted() -> [Vec<HistoryRelease>; 2] {
    let there = (1..=7).rev().map(|number| packed(number, number)).collect();
    let here = [(6, 7), (5, 6), (4, 5), (3, 3), (2, 2), (1, 1)].map(|(label, package)| packed(label, package));
    [there, here.to_vec()]
}

#[test]
fn labels_that_differ_for_the_same_package_are_no_reason_to_do_anything() {
    let [there, here] = parted();
    let named = |here, there| Named { here: Label::new(here).unwrap(), there: Label::new(there).unwrap() };
    for known in told(FRESH, &there, here.clone(), Some(3)) {
        assert_eq!(known, [Cause::OtherLabel(named(6, 7))]);
    }
    // Real differences are found among such labels, and named by both.
    let with_key = |change: &dyn Fn(&mut [HistoryRelease], &mut [HistoryRelease])| {
        let [mut there, mut here] = parted();
        change(&mut there, &mut here);
        told(FRESH, &there, here, Some(3))[1].clone()
    };
    assert_eq!(with_key(&|there, _| there[0].is_disabled = true), [Cause::Differs(Property::Disabled(Side::Old), named(6, 7), true)]);
    assert_eq!(with_key(&|_, here| here[0].is_disabled = true), [Cause::Differs(Property::Disabled(Side::New), named(6, 7), true)]);
    assert_eq!(with_key(&|_, here| here[0].is_mandatory = true), [Cause::Differs(Property::Mandatory(Side::New), named(6, 7), true)]);
    assert_eq!(with_key(&|there, _| there[0].range = "2.0.0".into()), [Cause::Differs(Property::Range, named(6, 7), true)]);
    // The label decides which devices are in a rollout.
    let mut staged = 0;
    for client in 'a'..='z' {
        let [mut there, mut here] = parted();
        (there[0].rollout, here[0].rollout) = (Some(50), Some(50));
        let causes = told(&FRESH.replace("=a", &format!("={client}")), &there, here, Some(3))[1].clone();
        staged += usize::from(causes == [Cause::Staged(named(6, 7))]);
        let in_both = [named(6, 7), named(5, 6)].map(|named| vec![Cause::OtherLabel(named)]);
        assert!(in_both.contains(&causes) || causes == [Cause::Staged(named(6, 7))], "{causes:?}");
    }
    assert!(staged > 0);
    let causes = with_key(&|_, here| here[0].package_hash = PackageHash::of(b"other"));
    assert_eq!(causes, [Cause::OtherPackage(named(6, 7))]);
    let newer = told(FRESH, &[vec![packed(8, 8)], parted()[0].clone()].concat(), parted()[1].clone(), Some(3));
    assert_eq!(newer[1], [Cause::Newer(Side::Old, Label::new(8).unwrap())]);
    let newer = told(FRESH, &parted()[0], [vec![packed(7, 8)], parted()[1].clone()].concat(), Some(3));
    assert_eq!(newer[1], [Cause::Newer(Side::New, Label::new(7).unwrap())]);
    let sentence = Cause::Differs(Property::Disabled(Side::Old), named(6, 7), true).sentence();
    assert_eq!(sentence, "v6 (v7 on the old server) is disabled on the old server only.");
}

#[test]
fn what_was_released_and_rolled_back_here_is_not_missing_there() {
    let there: Vec<_> = (1..=3).rev().map(|number| packed(number, number)).collect();
    let here = [vec![packed(5, 3), packed(4, 4)], there.clone()].concat();
    let named = Named { here: Label::new(5).unwrap(), there: Label::new(3).unwrap() };
    for causes in told(FRESH, &there, here.clone(), Some(3)) {
        assert_eq!(causes, [Cause::OtherLabel(named)]);
    }
}

/// What is told with the old server's history when both have v1 to v3, and these releases after them: there, and here.
fn after(query: &str, there: Vec<HistoryRelease>, here: Vec<HistoryRelease>) -> Vec<Cause> {
    let both: Vec<_> = (1..=3).rev().map(|number| packed(number, number)).collect();
    told(query, &[there, both.clone()].concat(), [here, both].concat(), Some(3))[1].clone()
}

#[test]
fn a_release_on_one_server_only_is_found_behind_a_newer_one_of_both() {
    let label = |number| Label::new(number).unwrap();
    let for_2 = |release: HistoryRelease| HistoryRelease { range: "^2.0.0".into(), ..release };
    let mandatory = |release: HistoryRelease| HistoryRelease { is_mandatory: true, ..release };
    // The package 4 on one server only, then 5 on both for other app versions.
    let (two, one) = (vec![for_2(packed(5, 5)), packed(4, 4)], vec![for_2(packed(4, 5))]);
    assert_eq!(after(FRESH, two.clone(), one.clone()), [Cause::Missing(Side::New, label(4))]);
    assert_eq!(after(FRESH, one, two), [Cause::Newer(Side::New, label(4))]);
    // The same with a rollback.
    let rolled_back = vec![for_2(packed(5, 5)), packed(4, 2)];
    assert_eq!(after(FRESH, rolled_back, vec![for_2(packed(4, 5))]), [Cause::Missing(Side::New, label(4))]);
    // A mandatory one that a newer one of both has replaced: nothing to release.
    let on_v2 = format!("app_version=1.0.0&client_unique_id=a&label=v2&package_hash={}", PackageHash::of(b"2"));
    let (two, one) = (vec![packed(5, 5), mandatory(packed(4, 4))], vec![packed(4, 5)]);
    let causes = after(&on_v2, two.clone(), one.clone());
    assert!(causes.contains(&Cause::MandatoryBetween(Side::Old, label(4))), "{causes:?}");
    let causes = after(&on_v2, one, two);
    assert!(causes.contains(&Cause::MandatoryBetween(Side::New, label(4))), "{causes:?}");
    // Both have the packages 4 and 5, in another order.
    let causes = after(FRESH, vec![packed(5, 5), packed(4, 4)], vec![packed(5, 4), packed(4, 5)]);
    assert!(matches!(causes[..], [Cause::OtherOrder(_)]), "{causes:?}");
    // One on the old server only, then a staged one on both: always explained.
    let staged = |label| HistoryRelease { rollout: Some(30), ..packed(label, 5) };
    for client in 'a'..='z' {
        let causes = after(&FRESH.replace("=a", &format!("={client}")), vec![staged(5), packed(4, 4)], vec![staged(4)]);
        assert!(!matches!(causes[..], [Cause::Unexplained(_)]), "{client}: {causes:?}");
    }
}

#[test]
fn checks_are_also_generated_from_what_only_the_old_server_has() {
    let deployment = Deployment::new("a".to_owned(), "key-of-production".try_into().unwrap(), history(), None);
    let there = entries(&[vec![release(9, "3.7.5")], history()].concat());
    let has = |deployment: &Deployment| {
        let checks = super::super::generate(std::slice::from_ref(deployment), 10_000, 1).checks;
        checks.iter().any(|check| check.target().contains("=3.7.5&"))
    };
    assert!(has(&deployment.with(Some(&there))));
    assert!(!has(&deployment.with(None)) && !has(&deployment.with(Some(&entries(&history())))));
}
