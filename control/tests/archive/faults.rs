//! Archives that are broken, or that two readers would interpret differently.

use crate::refusal;
use crate::writer::{Archive, Entry, FILE, archive, deflate, deflated, directory, extra_field, stored, streamed, zip};

fn good() -> Entry {
    deflated("CodePush/main.jsbundle", b"A")
}

/// Refusals of an archive with one good entry and `entry`, which is to blame.
#[track_caller]
fn assert_blamed(entry: Entry, why: &str) {
    let name = String::from_utf8(entry.central.name.clone()).unwrap();
    assert_eq!(refusal(&zip([good(), entry.clone()])), format!("entry {name:?}: {why}"));
    assert_eq!(refusal(&zip([entry, good()])), format!("entry {name:?}: {why}"));
}

#[test]
fn an_encrypted_entry_is_refused() {
    for bit in [0, 6, 13] {
        assert_blamed(
            deflated("a", b"x").with(|header| header.flags |= 1 << bit),
            "it is encrypted: create the archive without a password",
        );
    }
}

#[test]
fn unknown_flags_are_refused() {
    for bit in [4, 5, 7, 8, 9, 10, 12, 14, 15] {
        assert_blamed(deflated("a", b"x").with(|header| header.flags |= 1 << bit), "it has flags that devices do not support");
    }
}

#[test]
fn another_compression_method_is_refused() {
    for method in [1, 9, 12, 14, 93, 95, 99] {
        let entry = stored("a", b"x").with(|header| header.method = method);
        assert_blamed(entry, "devices do not support its compression method: use deflate, or none");
    }
}

#[test]
fn a_stored_entry_with_a_data_descriptor_is_refused() {
    let mut entry = stored("a", b"x").with(|header| header.flags |= 8);
    entry.descriptor = streamed("a", b"x").descriptor;
    assert_blamed(entry, "it is stored with a data descriptor, which devices cannot read: use deflate");
}

#[test]
fn links_and_special_files_are_refused() {
    for made_by in [0x033f, 0x0014, 0x133f] {
        let link = Entry { made_by, ..stored("a", b"/etc/passwd").attributes(0o120_777 << 16) };
        assert_blamed(link, "it is a symbolic link: replace it with the file");
        for kind in [0o010_000, 0o020_000, 0o060_000, 0o140_000, 0o150_000] {
            let special = Entry { made_by, ..stored("a", b"").attributes((kind | 0o644) << 16) };
            assert_blamed(special, "it is not a regular file");
        }
    }
}

#[test]
fn a_directory_with_data_is_refused() {
    let entry = Entry { attributes: 0, ..deflated("a/", b"x") };
    assert_blamed(entry, "it is a directory but has data");
}

#[test]
fn an_entry_whose_name_and_attributes_disagree_about_directories_is_refused() {
    let why = "its name and its attributes disagree on whether it is a directory";
    assert_blamed(deflated("a", b"x").attributes(0o040_755 << 16), why);
    assert_blamed(deflated("a", b"x").attributes(0x10), why);
    assert_blamed(directory("a/").attributes(FILE), why);
}

#[test]
fn a_local_header_that_differs_from_the_directory_is_refused() {
    assert_blamed(deflated("a", b"x").local(|header| header.name = b"b".to_vec()), "its local header has a different name");
    let why = "its local header has different flags or a different method";
    assert_blamed(deflated("a", b"x").local(|header| header.flags |= 1), why);
    assert_blamed(deflated("a", b"x").local(|header| header.flags |= 8), why);
    assert_blamed(deflated("a", b"x").local(|header| header.flags |= 0x800), why);
    assert_blamed(streamed("a", b"x").local(|header| header.flags &= !8), why);
    assert_blamed(deflated("a", b"x").local(|header| header.method = 0), why);
    let why = "its local header has a different checksum or different sizes";
    for entry in [deflated("a", b"x"), streamed("a", b"x")] {
        assert_blamed(entry.clone().local(|header| header.crc32 = 1), why);
        assert_blamed(entry.clone().local(|header| header.compressed = 100), why);
        assert_blamed(entry.local(|header| header.uncompressed = 100), why);
    }
    assert_blamed(deflated("a", b"x").local(|header| header.crc32 = 0), why);
}

#[test]
fn a_data_descriptor_that_differs_from_the_directory_is_refused() {
    let why = "its data descriptor differs from the central directory";
    for index in 0..16 {
        let mut entry = streamed("a", b"x");
        entry.descriptor[index] ^= 1;
        assert_blamed(entry, why);
        let mut unsigned = streamed("a", b"x");
        unsigned.descriptor.drain(..4);
        if let Some(byte) = unsigned.descriptor.get_mut(index) {
            *byte ^= 1;
            assert_blamed(unsigned, why);
        }
    }
}

#[test]
fn a_missing_or_large_data_descriptor_is_refused() {
    let mut entry = streamed("a", b"x");
    entry.descriptor.clear();
    assert_blamed(entry, "its data descriptor is missing");
    let mut zip64 = streamed("a", b"x");
    zip64.descriptor = [&zip64.descriptor[..8], &3_u64.to_le_bytes(), &1_u64.to_le_bytes()].concat();
    assert_blamed(zip64, "bytes after it belong to no entry");
}

#[test]
fn a_checksum_that_could_be_a_signature_is_refused() {
    let data = [0xac, 0x0a, 0x7a, 0xd5];
    assert_eq!(crc32fast::hash(&data), u32::from_le_bytes(*b"PK\x07\x08"));
    let mut entry = streamed("a", &data);
    entry.descriptor.drain(..4);
    assert_blamed(entry, "its data descriptor differs from the central directory");
}

#[test]
fn damaged_data_is_refused() {
    assert_blamed(deflated("a", b"x").with(|header| header.crc32 ^= 1), "its checksum is wrong");
    let mut damaged = deflated("a", b"x");
    damaged.body[0] = 0b111;
    assert_blamed(damaged, "its compressed data is damaged");
}

#[test]
fn compressed_data_must_have_exactly_the_declared_length() {
    let data = b"some text, some text";
    let with_body = |body: Vec<u8>| {
        let compressed = u32::try_from(body.len()).unwrap();
        Entry { body, ..deflated("a", data).with(|header| header.compressed = compressed) }
    };
    let mut short = deflate(data);
    short.pop();
    assert_blamed(with_body(short), "its compressed data ends too early");
    assert_blamed(with_body(Vec::new()), "its compressed data ends too early");
    assert_blamed(with_body([deflate(data), vec![0]].concat()), "bytes follow the end of its compressed data");
    assert_blamed(with_body([deflate(data), deflate(data)].concat()), "bytes follow the end of its compressed data");
}

#[test]
fn a_wrong_uncompressed_size_is_refused() {
    assert_blamed(deflated("a", b"xyz").with(|header| header.uncompressed = 2), "it is longer than it declares");
    assert_blamed(deflated("a", b"xyz").with(|header| header.uncompressed = 4), "it is shorter than it declares");
    assert_blamed(stored("a", b"xyz").with(|header| header.uncompressed = 4), "it is stored, but its two sizes differ");
}

#[test]
fn zip64_is_refused() {
    let why = "it uses zip64 fields, which are for more than 4 GiB";
    assert_blamed(deflated("a", b"x").with(|header| header.compressed = u32::MAX), why);
    assert_blamed(deflated("a", b"x").with(|header| header.uncompressed = u32::MAX), why);
    assert_blamed(deflated("a", b"x").with(|header| header.extra = extra_field(1, &[0; 16])), why);
    assert_blamed(deflated("a", b"x").local(|header| header.extra = extra_field(1, &[0; 16])), why);
    let records = [b"PK\x06\x06".to_vec(), vec![0; 52], b"PK\x06\x07".to_vec(), vec![0; 16]].concat();
    let ends: [fn(&mut [u32; 6]); 5] = [
        |_| {},
        |end| (end[2], end[3]) = (65_535, 65_535),
        |end| end[4] = u32::MAX,
        |end| end[5] = u32::MAX,
        |end| *end = [0, 0, 65_535, 65_535, u32::MAX, u32::MAX],
    ];
    for end in ends {
        let bytes = Archive { before_end: records.clone(), end: Some(end), ..archive([good()]) }.bytes();
        assert_eq!(refusal(&bytes), "the archive uses zip64 records, which are for more than 65,534 entries or 4 GiB");
    }
}

#[test]
fn a_damaged_extra_field_is_refused() {
    for extra in [vec![1, 2, 3], vec![0x55, 0x54, 9, 0, 1], vec![0, 0, 1, 0]] {
        assert_blamed(deflated("a", b"x").with(|header| header.extra = extra.clone()), "its extra field is damaged");
    }
}
