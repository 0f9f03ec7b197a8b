//! Random and damaged bytes: no panic, and damage never changes a package's hash.

use proptest::prelude::*;

use crate::inspect_bytes;
use crate::writer::{Archive, archive, deflated, directory, extra_field, stored, streamed};

fn good() -> Archive {
    let timestamps = extra_field(0x5455, &[1, 0, 0, 0, 0]);
    Archive {
        comment: b"comment".to_vec(),
        ..archive([
            streamed("CodePush/main.jsbundle", b"console.log('some text, some text, some text')"),
            directory("CodePush/assets/"),
            stored("CodePush/assets/ü.png", b"PNGDATA"),
            deflated("CodePush/assets/b.png", &[7; 300]).with(|header| header.extra.clone_from(&timestamps)),
            streamed("CodePush/.codepushrelease", b"signature"),
        ])
    }
}

/// Whether the archive is still the same package. Otherwise it must be refused, or no longer be an archive.
fn assert_same_or_refused(bytes: &[u8]) -> bool {
    let Ok(contents) = inspect_bytes(bytes) else { return false };
    let Some(manifest) = contents.manifest else {
        assert!(!bytes.starts_with(b"PK\x03\x04"));
        return false;
    };
    let original = inspect_bytes(&good().bytes()).unwrap();
    assert_eq!(contents.package_hash, original.package_hash);
    assert_eq!(manifest.to_json(), original.manifest.unwrap().to_json());
    true
}

#[test]
fn no_flipped_bit_changes_the_package() {
    let good = good().bytes();
    let mut harmless = 0;
    for index in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[index] ^= 1 << bit;
            harmless += u32::from(assert_same_or_refused(&bytes));
        }
    }
    // Times, versions, permissions and similar fields.
    assert!((1..=2_000).contains(&harmless), "{harmless}");
}

proptest! {
    /// At most 32 bits in a row, which a checksum always detects.
    #[test]
    fn no_overwritten_bytes_change_the_package(at in any::<prop::sample::Index>(), with in prop::array::uniform4(any::<u8>()), count in 1..=4_usize) {
        let mut bytes = good().bytes();
        let at = at.index(bytes.len());
        for (byte, with) in bytes[at..].iter_mut().zip(with).take(count) {
            *byte = with;
        }
        assert_same_or_refused(&bytes);
    }

    #[test]
    fn no_removed_bytes_change_the_package(at in any::<prop::sample::Index>(), count in 1..200_usize) {
        let mut bytes = good().bytes();
        let at = at.index(bytes.len());
        bytes.drain(at..(at + count).min(bytes.len()));
        assert_same_or_refused(&bytes);
    }

    #[test]
    fn no_inserted_bytes_change_the_package(at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 1..50)) {
        let mut bytes = good().bytes();
        let at = at.index(bytes.len() + 1);
        bytes.splice(at..at, with);
        assert_same_or_refused(&bytes);
    }

    #[test]
    fn random_changes_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = good().bytes();
        for (at, with) in changes {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        drop(inspect_bytes(&bytes));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500), front in 0..3_usize, end in any::<bool>()) {
        let front: &[u8] = [&b""[..], b"PK\x03\x04", b"PK\x03\x04\x14\0\x08\x08\x08\0"][front];
        let mut bytes = [front, &bytes].concat();
        if end {
            // An end record for one entry, with the bytes before it as the directory.
            let length = u32::try_from(bytes.len()).unwrap();
            let size = length.min(60);
            bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
            bytes.extend(size.to_le_bytes());
            bytes.extend((length - size).to_le_bytes());
            bytes.extend([0, 0]);
        }
        drop(inspect_bytes(&bytes));
    }

    /// An archive of any files is accepted, and its hash does not depend on the compression.
    #[test]
    fn archives_of_any_files_are_accepted(files in prop::collection::btree_map("[a-c]{1,2}(/[d-f]{3}){0,2}", prop::collection::vec(any::<u8>(), 0..2_000), 1..8)) {
        let is_inside = |name: &String| files.keys().any(|other| name.starts_with(&format!("{other}/")));
        let files: Vec<_> = files.iter().filter(|(name, _)| !is_inside(name)).collect();
        let of = |make: fn(&str, &[u8]) -> crate::writer::Entry| {
            let entries = files.iter().map(|(name, data)| make(name, data)).collect();
            inspect_bytes(&Archive { entries, ..Archive::default() }.bytes()).unwrap().package_hash
        };
        prop_assert_eq!(of(streamed), of(stored));
        prop_assert_eq!(of(streamed), of(deflated));
    }
}
