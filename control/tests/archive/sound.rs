//! Accepted uploads, and the package hashes that devices compute themselves.

use shared::hash::Sha256Hex;

use crate::writer::{Archive, Entry, UNIX, archive, deflated, descriptor, directory, extra_field, stored, streamed, zip};
use crate::{inspect_bytes, package_hash};

const BUNDLE: &str = "CodePush/main.jsbundle";
const V1: &[u8] = b"console.log(\"v1\");\n";
const V2: &[u8] = b"console.log(\"v2\");\n";
const V1_HASH: &str = "e969abcffffbdb76a4136e96f7eec3d7051ee65f86d8d762bfb6caf044247cd5";
const V2_HASH: &str = "c30e7b33d7e96775f8fa19604daac949e03e5134d5287f21571f6ba178931893";
const ONE_FILE_HASH: &str = "a3c3d6949602b2e600dd10ef44e3b042ff095bfd5b589b2cc221180abd215a6d";

fn package(bundle: &[u8]) -> [Entry; 2] {
    [streamed(BUNDLE, bundle), streamed("CodePush/assets/a.png", b"PNGDATA")]
}

#[test]
fn a_package_from_the_cli_has_the_hash_that_devices_compute() {
    assert_eq!(package_hash(&zip(package(V1))), V1_HASH);
    assert_eq!(package_hash(&zip(package(V2))), V2_HASH);
}

#[test]
fn added_files_change_the_hash() {
    let [bundle, image] = package(V1);
    let hash = package_hash(&zip([bundle, image, streamed("CodePush/assets/gone.png", b"OLD")]));
    assert_eq!(hash, "6f6a1a81e5d6dcfb0517bb67e75a05502db3af884eb114b23ee8fe2ecd9cd032");
    let [bundle, image] = package(V2);
    let hash = package_hash(&zip([bundle, image, streamed("CodePush/assets/new.png", b"NEW")]));
    assert_eq!(hash, "9c9506dab906c8a4d79749e81cb479d29e7aab1723154ceb0f62408fddc18df2");
}

#[test]
fn the_signature_is_in_the_manifest_but_not_in_the_hash() {
    let [bundle, image] = package(V2);
    let contents = inspect_bytes(&zip([bundle, image, streamed("CodePush/.codepushrelease", b"jwt")])).unwrap();
    assert_eq!(contents.package_hash.to_string(), V2_HASH);
    assert!(contents.manifest.unwrap().to_json().contains("CodePush/.codepushrelease"));
}

#[test]
fn macos_files_are_in_neither() {
    let [bundle, image] = package(V2);
    let junk = ["CodePush/.DS_Store", ".DS_Store", "__MACOSX/._CodePush"].map(|name| streamed(name, b"junk"));
    let [first, second, third] = junk;
    let contents = inspect_bytes(&zip([bundle, first, image, second, third])).unwrap();
    assert_eq!(contents.package_hash.to_string(), V2_HASH);
    let json = contents.manifest.unwrap().to_json();
    assert!(!json.contains("DS_Store") && !json.contains("MACOSX"), "{json}");
}

#[test]
fn directory_entries_are_in_neither() {
    let plain = zip([streamed("CodePush/main.jsbundle", b"A\n")]);
    assert_eq!(package_hash(&plain), ONE_FILE_HASH);
    let with_directory = zip([directory("CodePush/"), streamed("CodePush/main.jsbundle", b"A\n")]);
    assert_eq!(package_hash(&with_directory), ONE_FILE_HASH);
}

#[test]
fn names_may_contain_unicode_and_quotes() {
    let bytes = zip([streamed("CodePush/assets/ü 图.png", b"X"), streamed("CodePush/a\"b", b"Y")]);
    assert_eq!(package_hash(&bytes), "9bc6462b9734ede878056c647ca3d41750e803ef5e3dcc6d92a80723916a16af");
}

#[test]
fn the_order_of_entries_does_not_change_the_hash() {
    let [bundle, image] = package(V1);
    assert_eq!(package_hash(&zip([image, bundle])), V1_HASH);
}

#[test]
fn the_directory_may_list_entries_in_a_different_order_than_the_file() {
    let [bundle, image] = package(V1);
    let ordered = archive([bundle.clone(), image.clone()]).bytes();
    let (bundle_length, image_length) = (local_length(&bundle), local_length(&image));
    let directory = &ordered[bundle_length + image_length..ordered.len() - 22];
    let split = 46 + bundle.central.name.len();
    let swapped = [&ordered[..bundle_length + image_length], &directory[split..], &directory[..split], &ordered[ordered.len() - 22..]];
    assert_eq!(package_hash(&swapped.concat()), V1_HASH);
}

fn local_length(entry: &Entry) -> usize {
    30 + entry.local.name.len() + entry.body.len() + entry.descriptor.len()
}

#[test]
fn backslashes_are_slashes() {
    assert_eq!(package_hash(&zip([deflated("CodePush\\main.jsbundle", b"A\n")])), ONE_FILE_HASH);
}

#[test]
fn every_common_encoding_of_an_entry_gives_the_same_hash() {
    let data: &[u8] = b"A\n";
    let mut unsigned_descriptor = streamed(BUNDLE, data);
    unsigned_descriptor.descriptor = descriptor(&unsigned_descriptor.central);
    let filled_in = {
        let entry = streamed(BUNDLE, data);
        Entry { local: entry.central.clone(), ..entry }
    };
    let timestamps = extra_field(0x5455, &[3, 0, 0, 0, 0, 0, 0, 0, 0]);
    let ways = [
        deflated(BUNDLE, data),
        stored(BUNDLE, data),
        unsigned_descriptor,
        filled_in,
        // Not created on Unix: no mode.
        Entry { made_by: 20, ..deflated(BUNDLE, data).attributes(0x20) },
        // As Python writes it: a mode without a file type.
        deflated(BUNDLE, data).attributes(0o600 << 16),
        Entry { made_by: UNIX, ..deflated(BUNDLE, data).attributes(0o100_755 << 16 | 1) },
        deflated(BUNDLE, data).with(|header| header.extra = timestamps.clone()),
        deflated(BUNDLE, data).local(|header| header.extra = timestamps.clone()),
        // Padding for alignment.
        stored(BUNDLE, data).local(|header| header.extra = vec![0; 7]),
        deflated(BUNDLE, data).local(|header| header.flags |= 0b10),
        Entry { comment: b"made by hand".to_vec(), ..deflated(BUNDLE, data) },
        // The name repeated in an extra field, as some tools do to mark it as Unicode.
        deflated(BUNDLE, data).with(|header| header.extra = extra_field(0x7075, &[&[1, 0, 0, 0, 0], BUNDLE.as_bytes()].concat())),
    ];
    for entry in ways {
        assert_eq!(package_hash(&zip([entry.clone()])), ONE_FILE_HASH, "{entry:?}");
    }
}

#[test]
fn directories_may_be_deflated_and_without_attributes() {
    let bytes = zip([streamed("CodePush/", b"").attributes(0), directory("CodePush/assets/"), deflated(BUNDLE, b"A\n")]);
    assert_eq!(package_hash(&bytes), ONE_FILE_HASH);
}

#[test]
fn an_archive_may_have_a_comment() {
    let with_comment = Archive { comment: vec![b'c'; 65_535], ..archive([deflated(BUNDLE, b"A\n")]) };
    assert_eq!(package_hash(&with_comment.bytes()), ONE_FILE_HASH);
}

#[test]
fn an_archive_may_contain_an_archive() {
    let inner = zip([stored("inner", b"1")]);
    assert_eq!(inspect_bytes(&zip([stored("CodePush/assets/a.zip", &inner)])).unwrap().manifest.unwrap().to_json().matches(':').count(), 1);
}

#[test]
fn files_may_be_empty_and_larger_than_every_buffer() {
    let data: Vec<u8> = (0..700_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (empty, hash) = (Sha256Hex::of(b""), Sha256Hex::of(&data));
    for large in [streamed("large", &data), stored("large", &data)] {
        for empty_file in [streamed("empty", b""), stored("empty", b"")] {
            let contents = inspect_bytes(&zip([large.clone(), empty_file])).unwrap();
            assert_eq!(contents.manifest.unwrap().to_json(), format!("{{\"empty\":\"{empty}\",\"large\":\"{hash}\"}}"));
        }
    }
}

#[test]
fn any_other_file_is_a_package_of_one_file() {
    for bytes in [&b"v4\n"[..], b"P", b"PK\x03", b"PK\x03\x05 no archive", b"\xc6\x1f\xbc\x03 hermes"] {
        let contents = inspect_bytes(bytes).unwrap();
        assert_eq!(contents.package_hash, Sha256Hex::of(bytes));
        assert!(contents.manifest.is_none());
    }
    assert_eq!(package_hash(b"v4\n"), "e37ea1753db1b5df392e1cd344303873a97bc863d7371ad5f388e01ec5071e6a");
}
