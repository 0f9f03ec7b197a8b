//! Diffs give a device exactly the target, and nothing else is taken for a diff.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod archive;
mod device;
mod pairs;

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom};

use archive::{Form, Item, Uploaded, zip};
use pairs::{KINDS, Pair, Random};
use shared::archive::{ArchiveFault, MIN_TAIL};
use shared::diff::{self, Layout, LayoutRead, NameFault, NoDiff, Plan, UnsafeName, WriteFault};
use shared::package::{Manifest, is_signature};

const MAIN: (&str, &str) = ("CodePush/main.jsbundle", "console.log(\"v1\");\n");
const MAIN_2: (&str, &str) = ("CodePush/main.jsbundle", "console.log(\"v2\");\n");
const IMAGE: (&str, &str) = ("CodePush/assets/a.png", "PNGDATA");

fn plan(base: &Uploaded, target: &Uploaded) -> Result<Plan, NoDiff> {
    diff::plan(&base.package(), &target.package())
}

fn write(target: &Uploaded, plan: &Plan, limit: u64) -> Result<Vec<u8>, WriteFault> {
    let mut diff = Cursor::new(Vec::new());
    let bytes = diff::write(&mut Cursor::new(&target.bytes), target.bytes.len() as u64, plan, limit, &mut diff)?;
    assert_eq!(bytes, diff.get_ref().len() as u64);
    Ok(diff.into_inner())
}

fn check(diff: &[u8], base: &Manifest, target: &Manifest) -> Result<(), ArchiveFault> {
    diff::check(&mut Cursor::new(diff), diff.len() as u64, base, target)
}

fn created(base: &Uploaded, target: &Uploaded) -> Vec<u8> {
    let diff = write(target, &plan(base, target).unwrap(), u64::MAX).unwrap();
    check(&diff, &base.manifest, &target.manifest).unwrap();
    diff
}

/// Applies the diff on devices that have the base, and compares their folders with the target.
fn apply(pair: &Pair, base: &Uploaded, target: &Uploaded, diff: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    device::install(&base.bytes, &at("base"));
    if let Some(name) = &pair.other_signature {
        std::fs::write(at("base").join(name), "another").unwrap();
    }
    let expected: BTreeMap<String, Vec<u8>> =
        device::entries(&target.bytes).into_iter().filter(|(name, _)| target.manifest.get(name).is_some()).collect();
    let hash = target.manifest.package_hash();

    device::update_react_native(diff, &at("base"), &at("react-native"), &at("unzipped"));
    assert_eq!(device::hash_of_react_native(&at("react-native")), hash);
    assert_eq!(device::files(&at("react-native")), expected);

    device::update_cordova(diff, &at("base"), &at("cordova"), &at("unzipped for cordova"));
    assert_eq!(device::files(&at("cordova")), expected);
    if at("cordova").join("www").exists() {
        assert_eq!(device::hash_of_cordova(&at("cordova")), hash);
    }
}

#[test]
fn a_device_that_applies_a_diff_has_the_target() {
    let mut random = Random(20_240_601);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for number in 0..100 {
        let pair = pairs::pair(&mut random, number);
        for kind in &pair.kinds {
            *counts.entry(kind).or_default() += 1;
        }
        let (base, target) = (Uploaded::of(&pair.base), Uploaded::of(&pair.target));
        if pair.is_unsafe {
            assert_eq!(plan(&base, &target), Err(NoDiff::UnsafeNames), "pair {number}: {:?}", pair.kinds);
        } else {
            apply(&pair, &base, &target, &created(&base, &target));
        }
    }
    for kind in KINDS {
        assert!(counts.get(kind).is_some_and(|count| *count > 1), "{kind} hardly occurs: {counts:?}");
    }
}

#[test]
fn a_diff_has_only_what_is_new_or_changed_in_the_targets_order() {
    let base = Uploaded::with(&[MAIN, IMAGE, ("CodePush/assets/gone.png", "OLD")]);
    let target = Uploaded::with(&[IMAGE, ("CodePush/assets/new.png", "NEW"), MAIN_2]);
    assert_eq!(base.manifest.package_hash().as_str(), "6f6a1a81e5d6dcfb0517bb67e75a05502db3af884eb114b23ee8fe2ecd9cd032");
    assert_eq!(target.manifest.package_hash().as_str(), "9c9506dab906c8a4d79749e81cb479d29e7aab1723154ceb0f62408fddc18df2");
    let plan = plan(&base, &target).unwrap();
    assert_eq!(plan.deleted(), [".codepushrelease", "CodePush/.codepushrelease", "CodePush/assets/gone.png"]);
    assert_eq!(plan.written(), ["CodePush/assets/new.png", "CodePush/main.jsbundle"]);
    let diff = created(&base, &target);
    assert!(diff.starts_with(b"PK\x03\x04"));
    let marker = r#"{"deletedFiles":[".codepushrelease","CodePush/.codepushrelease","CodePush/assets/gone.png"]}"#;
    let expected = [("hotcodepush.json", marker), ("CodePush/assets/new.png", "NEW"), MAIN_2];
    let expected: Vec<_> = expected.iter().map(|(name, data)| ((*name).to_owned(), data.as_bytes().to_vec())).collect();
    assert_eq!(device::entries(&diff), expected);
    let pair = Pair { base: Vec::new(), target: Vec::new(), other_signature: None, kinds: [].into(), is_unsafe: false };
    apply(&pair, &base, &target, &diff);
}

#[test]
fn entries_are_copied_as_they_are_compressed() {
    let items = [Form::Stored, Form::Deflated, Form::Streamed].map(|form| {
        let data = "compressible ".repeat(500);
        Item { form, ..Item::new(format!("CodePush/{form:?}.txt"), data) }
    });
    let (base, target) = (Uploaded::with(&[MAIN]), Uploaded::of(&[&items[..], &[Item::new(MAIN.0, MAIN.1)]].concat()));
    let diff = created(&base, &target);
    let read = |bytes: &[u8], name: &str| {
        let mut archive = ::zip::ZipArchive::new(Cursor::new(bytes.to_vec())).unwrap();
        let index = archive.index_for_name(name).unwrap();
        let mut entry = archive.by_index_raw(index).unwrap();
        let mut raw = Vec::new();
        entry.read_to_end(&mut raw).unwrap();
        (raw, entry.compression(), entry.crc32(), entry.size(), entry.last_modified())
    };
    for item in &items {
        assert_eq!(read(&diff, &item.name), read(&target.bytes, &item.name), "{}", item.name);
    }
    // Local headers have the sizes: streaming readers reject stored data with a descriptor.
    assert!(!diff.windows(4).any(|window| window == b"PK\x07\x08"));
}

#[test]
fn all_signatures_of_the_target_are_written_and_all_others_deleted() {
    let sign = |name, text| (name, text);
    let base = Uploaded::with(&[MAIN, sign("CodePush/.codepushrelease", "1"), sign("CodePush/a/.codepushrelease", "1"), ("b/c", "")]);
    let target = Uploaded::with(&[MAIN_2, sign("CodePush/.codepushrelease", "1"), sign("b/.codepushrelease", "1"), ("b/c", "")]);
    let plan_there = plan(&base, &target).unwrap();
    assert_eq!(plan_there.deleted(), [".codepushrelease", "CodePush/a/.codepushrelease"]);
    assert_eq!(plan_there.written(), ["CodePush/main.jsbundle", "CodePush/.codepushrelease", "b/.codepushrelease"]);
    created(&base, &target);
    let plan_back = plan(&target, &base).unwrap();
    assert_eq!(plan_back.deleted(), [".codepushrelease", "b/.codepushrelease"]);
    assert_eq!(plan_back.written(), ["CodePush/main.jsbundle", "CodePush/.codepushrelease", "CodePush/a/.codepushrelease"]);
    assert!(plan_back.written().iter().filter(|name| is_signature(name)).count() == 2);
}

#[test]
fn packages_of_one_hash_get_no_diff() {
    let base = Uploaded::with(&[MAIN]);
    for same in [Uploaded::with(&[MAIN]), Uploaded::with(&[MAIN, ("CodePush/.codepushrelease", "1"), (".DS_Store", "")])] {
        assert_eq!(plan(&base, &same), Err(NoDiff::SameFiles));
    }
}

#[test]
fn an_archive_must_have_the_files_of_its_manifest() {
    let (base, target) = (Uploaded::with(&[MAIN]), Uploaded::with(&[MAIN_2, IMAGE]));
    let mixed = Uploaded { layout: base.layout.clone(), ..Uploaded::with(&[MAIN_2, IMAGE]) };
    assert_eq!(plan(&base, &mixed), Err(NoDiff::OtherArchive));
    assert_eq!(plan(&mixed, &base), Err(NoDiff::OtherArchive));
    let more = Uploaded { layout: target.layout.clone(), ..Uploaded::with(&[MAIN]) };
    assert_eq!(plan(&more, &target), Err(NoDiff::OtherArchive));
    let other_plan = plan(&base, &target).unwrap();
    assert!(matches!(write(&base, &other_plan, u64::MAX), Err(WriteFault::Target(ArchiveFault::Refused(_)))));
}

#[test]
fn names_that_some_device_gets_wrong_get_no_diff() {
    // Each in the base, and in the target.
    let cases: &[(&[&str], &[&str])] = &[
        (&["CodePush\\a"], &[]),
        (&[], &["CodePush\\a"]),
        (&["__MACOSX\\a"], &[]),
        (&["__MACOSX/main.jsbundle"], &[]),
        (&[], &["__MACOSX/CodePush/a"]),
        (&["__MACOSX/._a/b"], &["__MACOSX/._a/b"]),
        (&["CodePush/é"], &[]),
        (&[], &["CodePush/图"]),
        (&["CodePush/é"], &["CodePush/é"]),
        (&[], &["CodePush/a\n"]),
        (&["CodePush/a:b"], &[]),
        (&[], &["CodePush/100%"]),
        (&[], &["CodePush/a#b"]),
        (&[], &["CodePush/a?b"]),
        (&["CodePush/a;b"], &[]),
        (&[], &["app.json"]),
        (&[], &["App.json"]),
        (&["app.json/a"], &[]),
        (&[], &["HotCodePush.json"]),
        (&[], &["CodePush/.DS_Store/a"]),
        (&["CodePush/.codepushrelease/a"], &[]),
        (&["CodePush/.codepushrelease/"], &[]),
        (&["a/.CodePushRelease/"], &[]),
        (&["CodePush/.codepushrelease/.DS_Store"], &[]),
        (&[], &["CodePush/.codepushrelease/"]),
        (&[], &["CodePush/__MACOSX/a"]),
        (&[], &["CodePush/a/__MACOSX"]),
        (&[], &["www/index.html"]),
        (&["public/index.html"], &["public/index.html"]),
        (&["CodePush/a"], &["CodePush/A"]),
        (&["CodePush/a/b"], &["CodePush/A/c"]),
        (&["CodePush/a/b"], &["CodePush/a"]),
        (&["CodePush/a/b"], &["CodePush/A"]),
        (&["CodePush/a/"], &["CodePush/a"]),
        (&["CodePush/a/b/"], &["CodePush/a"]),
        (&["CodePush/a"], &["CodePush/a/b"]),
        (&["CodePush/a/.DS_Store"], &["CodePush/a"]),
        (&["__MACOSX/._a"], &["__macosx"]),
        (&["codepush/a"], &[]),
        (&[], &["CodePush/a/b", "CodePush/A/c"]),
        (&["CodePush/\u{212a}/"], &["CodePush/k/a"]),
        (&[], &["CodePush/.CodePushRelease"]),
    ];
    let package = |main, names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| (*name, "")).collect();
        Uploaded::earlier(&[&[main], &files[..]].concat())
    };
    for (base, target) in cases {
        let packages = (package(MAIN, base), package(MAIN_2, target));
        assert_eq!(plan(&packages.0, &packages.1), Err(NoDiff::UnsafeNames), "{base:?} {target:?}");
        let found = unsafe_name(&packages.0, &packages.1).unwrap();
        let names = if found.is_in_target { target } else { base };
        let is_there = [MAIN.0].iter().chain(*names).any(|name| name.starts_with(&found.path));
        assert!(is_there, "{base:?} {target:?}: {found:?}");
    }
    let allowed: &[(&[&str], &[&str])] = &[
        (&["CodePush/app.json"], &["CodePush/app.json"]),
        (&["__MACOSX/._é"], &["__MACOSX/._É"]),
        (&["__MACOSX/.DS_Store", "__MACOSX/a/"], &["__MACOSX/CodePush/._a"]),
        (&["CodePush/a/"], &["CodePush/A/", "CodePush/a b/c"]),
        (&["CodePush/a/b"], &["CodePush/ab"]),
        (&["www/index.html"], &[]),
        (&["CodePush/$a'(b)[c]&d=e+f,g-h!~^`{}|\"<>*"], &["CodePush/$a'(b)[c]&d=e+f,g-h!~^`{}|\"<>*"]),
    ];
    for (base, target) in allowed {
        let packages = (package(MAIN, base), package(MAIN_2, target));
        created(&packages.0, &packages.1);
        assert_eq!(unsafe_name(&packages.0, &packages.1), None);
        assert_eq!(diff::unsafe_target_name(&packages.1.package()), None);
    }
}

fn unsafe_name(base: &Uploaded, target: &Uploaded) -> Option<UnsafeName> {
    diff::unsafe_name(&base.package(), &target.package())
}

#[test]
fn a_new_file_in_the_place_of_a_folder_of_another_package_is_found() {
    let package = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| (*name, "")).collect();
        Uploaded::with(&[&[MAIN], &files[..]].concat())
    };
    let target = package(&["CodePush/x", "CodePush/y"]);
    let (without, with) = (package(&[]), package(&["CodePush/x"]));
    for (other, found) in [
        (&["CodePush/x/f"][..], Some("CodePush/x")),
        (&["CodePush/y/"], Some("CodePush/y")),
        (&["CodePush/X/a/b"], Some("CodePush/x")),
        (&["CodePush\\x\\f"], Some("CodePush/x")),
        (&["CodePush/x/.DS_Store"], Some("CodePush/x")),
        (&["CodePush/x", "CodePush/yes/f"], None),
    ] {
        let mut buried = diff::Buried::new(&target.manifest);
        buried.look_at(&package(&["CodePush/z"]).layout);
        assert_eq!(buried.prevented(&without.manifest), None);
        buried.look_at(&package(other).layout);
        assert_eq!(buried.prevented(&without.manifest), found, "{other:?}");
        // Its devices have the file.
        assert_eq!(buried.prevented(&with.manifest), found.filter(|file| *file != "CodePush/x"), "{other:?}");
    }
}

#[test]
fn another_package_with_files_that_devices_do_not_verify_prevents_every_diff() {
    let target = Uploaded::with(&[MAIN, ("CodePush/x", "")]);
    for (name, found) in [
        ("__MACOSX/main.jsbundle", true),
        ("__MACOSX\\main.jsbundle", true),
        ("CodePush/.DS_Store/main.jsbundle", true),
        ("__MACOSX/._main.jsbundle", false),
    ] {
        let mut buried = diff::Buried::new(&target.manifest);
        buried.look_at(&Uploaded::earlier(&[MAIN, (name, "")]).layout);
        // Also the diff from a package with all of the files.
        assert_eq!(buried.prevented(&target.manifest), found.then_some(name));
    }
}

#[test]
fn another_package_with_too_long_paths_prevents_every_diff() {
    let target = Uploaded::with(&[MAIN]);
    for separator in ["/", "\\"] {
        for (count, is_too_long) in [(700, false), (900, true)] {
            // The paths of a file and its folders have 30,000 bytes, and 24 MiB are allowed.
            let folders = format!("folder-of-15-by{separator}").repeat(60);
            let items: Vec<Item> = (0..count).map(|number| Item::new(format!("{folders}{number}"), "")).collect();
            let mut buried = diff::Buried::new(&target.manifest);
            buried.look_at(&Uploaded::of(&items).layout);
            assert_eq!(buried.prevented(&target.manifest).is_some(), is_too_long, "{count} {separator}");
        }
    }
}

/// Names that are one on some disk. Some begin with a combining character.
const SPELLINGS: [&[&str]; 6] = [
    &["a", "A"],
    &["\u{e9}", "e\u{301}", "\u{c9}"],
    &["stra\u{df}e", "STRASSE"],
    &["\u{338}x", "\u{338}X"],
    &["\u{1100}\u{1161}", "\u{ac00}"],
    &["aa"],
];

/// A path of random folders, which of the spellings it has, and the path itself.
fn spelled(random: &mut Random, separators: &[&str]) -> (Vec<usize>, String) {
    let kinds: Vec<usize> = (0..=random.below(4)).map(|_| random.below(SPELLINGS.len())).collect();
    let mut path = String::new();
    for kind in &kinds {
        if !path.is_empty() {
            path.push_str(separators[random.below(separators.len())]);
        }
        path.push_str(SPELLINGS[*kind][random.below(SPELLINGS[*kind].len())]);
    }
    (kinds, path)
}

#[test]
fn files_in_the_place_of_folders_are_those_with_the_path_of_a_folder_in_some_spelling() {
    let mut random = Random(28);
    let (mut buried_files, mut free_files) = (0, 0);
    for _ in 0..300 {
        let mut packages = Vec::new();
        let mut folders = Vec::new();
        for _ in 0..3 {
            let mut items = Vec::new();
            for number in 0..2 {
                let (kinds, path) = spelled(&mut random, &["/", "\\"]);
                let is_empty_folder = random.below(2) == 0;
                // Each in a folder of its own, so that no two clash.
                let top = format!("{number}");
                items.push(Item::new(format!("{top}/{path}{}", if is_empty_folder { "/" } else { "" }), ""));
                let count = kinds.len() - usize::from(!is_empty_folder);
                folders.extend((1..=count).map(|end| (top.clone(), kinds[..end].to_vec())));
            }
            packages.push(Uploaded::of(&[&items[..], &[Item::new("main.jsbundle", "")]].concat()));
        }
        for number in 0..2 {
            let top = format!("{number}");
            let (kinds, path) = spelled(&mut random, &["/"]);
            let target = Uploaded::with(&[(&format!("{top}/{path}"), "")]);
            let mut buried = diff::Buried::new(&target.manifest);
            for package in &packages {
                buried.look_at(&package.layout);
            }
            let is_buried = folders.contains(&(top, kinds));
            assert_eq!(
                buried.prevented(&Manifest::new()).is_some(),
                is_buried,
                "{path} {:?}",
                packages.iter().map(|p| &p.layout).collect::<Vec<_>>()
            );
            if is_buried { buried_files += 1 } else { free_files += 1 }
        }
    }
    assert!(buried_files > 50 && free_files > 50, "{buried_files} {free_files}");
}

#[test]
fn the_first_unsafe_name_is_named_with_what_is_wrong() {
    let package = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| (*name, "")).collect();
        Uploaded::earlier(&[&[MAIN], &files[..]].concat())
    };
    let (image, more): (&[&str], &[&str]) = (&["CodePush/a.png"], &["CodePush/b.png"]);
    for (base, target, path, fault, is_in_target) in [
        (image, &["CodePush/ü", "CodePush/z:"][..], "CodePush/z:", NameFault::Characters, true),
        (&["CodePush/ü"], more, "CodePush/ü", NameFault::Characters, false),
        (&["CodePush/ü"], &["app.json"], "app.json", NameFault::Reserved, true),
        (image, &["CodePush/a\\b"], "CodePush/a\\b", NameFault::Backslash, true),
        (image, &["CodePush/__MACOSX/a"], "CodePush/__MACOSX/a", NameFault::Unhashed, true),
        (image, &["__MACOSX/a.js"], "__MACOSX/a.js", NameFault::Unhashed, true),
        (&["__MACOSX/a.js"], image, "__MACOSX/a.js", NameFault::Unhashed, false),
        (image, &["www/index.html"], MAIN.0, NameFault::Outside("www"), true),
        (image, &["CodePush/A.png"], "CodePush/A.png", NameFault::Clash, true),
        (&["CodePush/a/b", "CodePush/A/c"], image, "CodePush/A", NameFault::Clash, false),
        (image, &["CodePush/.CodePushRelease"], "CodePush/.CodePushRelease", NameFault::Clash, true),
    ] {
        let (base, target) = (package(base), package(target));
        let expected = UnsafeName { path: path.to_owned(), fault, is_in_target };
        assert_eq!(unsafe_name(&base, &target).as_ref(), Some(&expected));
        // A name that is wrong in itself is found without a base.
        let is_alone = is_in_target && fault != NameFault::Clash;
        assert_eq!(diff::unsafe_target_name(&target.package()), is_alone.then_some(expected));
    }
}

#[test]
fn a_diff_that_is_too_large_is_not_written() {
    let (base, target) = (Uploaded::with(&[MAIN]), Uploaded::with(&[MAIN_2, IMAGE]));
    let plan = plan(&base, &target).unwrap();
    let whole = write(&target, &plan, u64::MAX).unwrap();
    let length = whole.len() as u64;
    assert_eq!(write(&target, &plan, length).unwrap(), whole);
    for limit in [0, 100, length - 1] {
        let mut diff = Cursor::new(Vec::new());
        let written = diff::write(&mut Cursor::new(&target.bytes), target.bytes.len() as u64, &plan, limit, &mut diff);
        assert!(matches!(written, Err(WriteFault::TooLarge)));
        assert!(diff.get_ref().is_empty());
    }
}

/// Counts what is read.
struct Counted<'b> {
    file: Cursor<&'b [u8]>,
    bytes: usize,
    largest: usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.largest = self.largest.max(into.len());
        let count = self.file.read(into)?;
        self.bytes += count;
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn writing_reads_little_at_a_time_and_no_unchanged_files() {
    let large = |name: &str, byte: u8| Item { form: Form::Stored, ..Item::new(format!("CodePush/{name}"), vec![byte; 3 << 20]) };
    let base = Uploaded::of(&[large("same", 0), large("new", 1)]);
    let target = Uploaded::of(&[large("same", 0), large("new", 2)]);
    let mut file = Counted { file: Cursor::new(&target.bytes), bytes: 0, largest: 0 };
    let plan = plan(&base, &target).unwrap();
    diff::write(&mut file, target.bytes.len() as u64, &plan, u64::MAX, &mut Cursor::new(Vec::new())).unwrap();
    assert!(file.largest <= 64 << 10, "{}", file.largest);
    assert!((3 << 20..4 << 20).contains(&file.bytes), "{}", file.bytes);
}

#[test]
fn a_layout_is_read_from_the_end_of_an_archive() {
    let items: Vec<Item> = (0..1_000).map(|number| Item::new(format!("CodePush/{number:0100}"), "")).collect();
    let whole = Uploaded::of(&[&items[..], &[Item::new(MAIN.0, MAIN.1)]].concat());
    let (bytes, length) = (&whole.bytes, whole.bytes.len());
    let tail = |start: usize| Layout::read(&bytes[start..], length as u64).unwrap();
    let LayoutRead::From(offset) = tail(length - usize::try_from(MIN_TAIL).unwrap()) else { unreachable!("the directory is longer") };
    let offset = usize::try_from(offset).unwrap();
    assert_eq!(tail(offset), LayoutRead::Known(whole.layout.clone()));
    assert!(matches!(tail(offset + 1), LayoutRead::From(_)));
    assert!(Layout::read(b"PK", 2).is_err());
}

fn refusal(items: &[Item], base: &Uploaded, target: &Uploaded) -> String {
    match check(&zip(items), &base.manifest, &target.manifest) {
        Err(ArchiveFault::Refused(why)) => why,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_diff_with_another_result_is_refused() {
    let base = Uploaded::with(&[MAIN, IMAGE, ("CodePush/gone", "1"), ("CodePush/.codepushrelease", "1")]);
    let target = Uploaded::with(&[MAIN_2, IMAGE, ("CodePush/new", "2"), ("CodePush/.codepushrelease", "1")]);
    let marker = |json: &str| Item::new("hotcodepush.json", json);
    let good = marker(r#"{"deletedFiles":["CodePush/gone"]}"#);
    let (main, new) = (Item::new(MAIN_2.0, MAIN_2.1), Item::new("CodePush/new", "2"));
    let signature = Item::new("CodePush/.codepushrelease", "1");
    let all = [good.clone(), main.clone(), new.clone(), signature.clone()];
    check(&zip(&all), &base.manifest, &target.manifest).unwrap();

    let first = "the first entry of a diff, and no other, is hotcodepush.json";
    let with = |item: Item| [&all[..], &[item]].concat();
    let listing = |json: &str| [&[marker(json)], &all[1..]].concat();
    let cases = [
        (all[1..].to_vec(), first),
        ([&all[1..], std::slice::from_ref(&good)].concat(), first),
        (vec![good.clone(), good.clone()], "cannot tell its name"),
        (with(Item::new("HotCodePush.json", "")), "cannot tell its name"),
        (with(Item::new("CodePush/", "")), "entries that are no files"),
        (with(Item::new("CodePush/.DS_Store", "")), "entries that are no files"),
        (with(Item::new("CodePush\\x", "")), "backslash"),
        (with(Item::new("CodePush/extra", "")), "the target does not have it"),
        (vec![good.clone(), new.clone(), signature.clone()], "it is not the target's file after the diff"),
        (vec![good.clone(), main.clone(), signature.clone()], "it is missing after the diff"),
        (vec![good.clone(), main.clone(), new], "does not write this signature"),
        (vec![good, main, Item::new("CodePush/new", "3"), signature], "it is not the target's file after the diff"),
        (listing(r#"{"deletedFiles":[]}"#), "\"CodePush/gone\": the target does not have it"),
        (listing(r#"{"deletedFiles":["CodePush/gone","CodePush/assets/a.png"]}"#), "a.png\": it is missing after the diff"),
        (listing(r#"{"deletedFiles":["CodePush/gone","CodePush/gone"]}"#), "but the base does not have it"),
        (listing(r#"{"deletedFiles":["CodePush/gone","CodePush"]}"#), "but the base does not have it"),
        (listing(r#"{"deletedFiles":["CodePush/gone","CodePush/main.jsbundle"]}"#), "deletes it and writes it"),
        (listing(r#"{"deletedFiles":["CodePush/gone","CodePush/.codepushrelease"]}"#), "deletes it and writes it"),
        (listing(r#"{"deletedFiles":["CodePush/gone"],"more":1}"#), "unknown field"),
        (listing("{}"), "missing field"),
        (listing(""), "EOF"),
    ];
    for (items, why) in cases {
        let told = refusal(&items, &base, &target);
        assert!(told.contains(why), "{told:?} does not say {why:?}");
    }
    // An upload is no diff.
    assert!(refusal(&[Item::new(MAIN.0, MAIN.1)], &base, &target).contains(first));
}

#[test]
fn a_damaged_diff_is_refused_or_does_the_same() {
    let base = Uploaded::with(&[MAIN, IMAGE]);
    let target = Uploaded::with(&[MAIN_2, ("CodePush/new", "2"), ("CodePush/.codepushrelease", "1")]);
    let diff = created(&base, &target);
    let entries = device::entries(&diff);
    let mut refused = 0;
    for position in 0..diff.len() {
        let mut damaged = diff.clone();
        damaged[position] ^= 1 << (position % 8);
        match check(&damaged, &base.manifest, &target.manifest) {
            Err(ArchiveFault::Refused(_)) => refused += 1,
            // Dates, versions and the like decide nothing.
            Ok(()) => assert_eq!(device::try_entries(&damaged).as_ref(), Some(&entries), "byte {position}"),
            Err(fault) => unreachable!("byte {position}: {fault}"),
        }
        assert!(check(&diff[..position], &base.manifest, &target.manifest).is_err());
    }
    assert!(refused > diff.len() / 4 * 3, "{refused} of {}", diff.len());
}
