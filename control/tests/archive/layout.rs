//! The layout of an archive: no gaps, no overlaps, no second interpretation.

use crate::refusal;
use crate::writer::{Archive, Entry, archive, deflated, directory, stored, streamed, zip};

fn good() -> Entry {
    deflated("CodePush/main.jsbundle", b"A")
}

#[test]
fn bytes_between_entries_are_refused() {
    let gap = Entry { before: b"gap".to_vec(), ..deflated("a", b"x") };
    assert_eq!(refusal(&zip([good(), gap])), "entry \"CodePush/main.jsbundle\": bytes after it belong to no entry");
}

#[test]
fn an_entry_that_the_directory_does_not_list_is_refused() {
    let mut hidden = Vec::new();
    hidden.extend(&zip([deflated("CodePush/hidden", b"x")])[..30 + 15 + 3]);
    let first = Entry { before: hidden.clone(), ..deflated("a", b"x") };
    assert_eq!(refusal(&zip([first])), "entry \"a\": bytes before it belong to no entry");
    let last = Archive { before_directory: hidden, ..archive([deflated("a", b"x")]) };
    assert_eq!(refusal(&last.bytes()), "entry \"a\": bytes after it belong to no entry");
}

#[test]
fn overlapping_entries_are_refused() {
    let twice = Entry { offset: Some(0), ..good() };
    let renamed = Entry { offset: Some(0), ..deflated("a", b"x") };
    let message = refusal(&zip([good(), renamed]));
    assert!(message.contains("overlap") || message.contains("different name"), "{message}");
    let message = refusal(&zip([good(), twice.with(|header| header.name = b"b".to_vec())]));
    assert!(message.contains("overlap") || message.contains("different name"), "{message}");

    // The second local header is inside the first entry's data.
    let inner = zip([stored("b", b"1")]);
    let outer = stored("a", &inner[..32]);
    let inside = Entry { offset: Some(31), body: Vec::new(), ..stored("b", b"1") };
    let bytes = zip([outer, inside]);
    assert_eq!(refusal(&bytes), "entry \"a\": it overlaps what follows it");
}

#[test]
fn data_that_runs_into_the_central_directory_is_refused() {
    let mut entry = stored("a", &[b'x'; 100]);
    entry.body.truncate(60);
    assert_eq!(refusal(&zip([entry])), "entry \"a\": it overlaps what follows it");
}

#[test]
fn a_wrong_offset_is_refused() {
    for offset in [1, 5_000, u32::MAX - 1] {
        let message = refusal(&zip([Entry { offset: Some(offset), ..good() }]));
        assert_eq!(message, "entry \"CodePush/main.jsbundle\": bytes before it belong to no entry");
        let message = refusal(&zip([good(), Entry { offset: Some(offset), ..stored("b", b"x") }]));
        assert!(message.starts_with("entry "), "{message}");
    }
}

#[test]
fn a_split_archive_is_refused() {
    let message = "the archive is split over several files";
    let ends: [fn(&mut [u32; 6]); 3] = [|end| end[0] = 1, |end| end[1] = 1, |end| end[2] = 7];
    for end in ends {
        assert_eq!(refusal(&Archive { end: Some(end), ..archive([good()]) }.bytes()), message);
    }
    assert_eq!(refusal(&[b"PK\x07\x08".to_vec(), zip([good()])].concat()), message);
    let elsewhere = Entry { disk: 1, ..deflated("a", b"x") };
    assert_eq!(refusal(&zip([good(), elsewhere])), "entry \"a\": it is in another part of a split archive");
}

#[test]
fn bytes_around_the_records_are_refused() {
    let no_end = "the archive has no end record at the end of the file: it is truncated, or bytes follow it";
    for after in [b"x".to_vec(), b"PK".to_vec(), vec![0; 70_000]] {
        assert_eq!(refusal(&Archive { after, ..archive([good()]) }.bytes()), no_end);
    }
    let before_end = Archive { before_end: b"x".to_vec(), ..archive([good()]) }.bytes();
    assert_eq!(refusal(&before_end), "the central directory does not end where the end record begins");
    // A digital signature of the directory, included in its size.
    let signed = Archive { before_end: b"PK\x05\x05\0\0".to_vec(), end: Some(|end| end[4] += 6), ..archive([good()]) };
    assert_eq!(refusal(&signed.bytes()), "the central directory is longer than its entries");
}

#[test]
fn a_directory_that_does_not_match_its_counts_is_refused() {
    let more = Archive { end: Some(|end| (end[2], end[3]) = (3, 3)), ..archive([good(), deflated("a", b"x")]) };
    assert_eq!(refusal(&more.bytes()), "the central directory ends within an entry");
    let fewer = Archive { end: Some(|end| (end[2], end[3]) = (1, 1)), ..archive([good(), deflated("a", b"x")]) };
    assert_eq!(refusal(&fewer.bytes()), "the central directory is longer than its entries");
    let elsewhere = Archive { end: Some(|end| (end[4], end[5]) = (end[4] - 1, end[5] + 1)), ..archive([good()]) };
    assert_eq!(refusal(&elsewhere.bytes()), "the central directory is damaged");
}

#[test]
fn several_end_records_are_refused() {
    let several = "the archive has several end records";
    let inner = zip([good()]);
    let end_record = inner[inner.len() - 22..].to_vec();
    let in_comment = Archive { comment: end_record.clone(), ..archive([good()]) };
    assert_eq!(refusal(&in_comment.bytes()), several);
    let start_in_comment = Archive { comment: b"PK\x05\x06".to_vec(), ..archive([good()]) };
    assert_eq!(refusal(&start_in_comment.bytes()), several);
    // Before the real one, with a comment that also reaches the end of the file.
    let mut fitting = end_record;
    fitting[20] = 22;
    let before = Archive { before_end: fitting, end: Some(|end| end[4] += 22), ..archive([good()]) };
    assert_eq!(refusal(&before.bytes()), several);
}

#[test]
fn a_truncated_archive_is_refused() {
    let bytes = zip([good(), streamed("a", b"xyz"), directory("b/")]);
    for length in 4..bytes.len() {
        refusal(&bytes[..length]);
    }
}

#[test]
fn an_archive_without_files_is_refused() {
    let message = "the archive has no files";
    assert_eq!(refusal(&zip([])), message);
    assert_eq!(refusal(&zip([directory("CodePush/")])), message);
    assert_eq!(refusal(&zip([deflated("CodePush/.DS_Store", b"x"), deflated("__MACOSX/._x", b"x")])), message);
    assert_eq!(refusal(&zip([deflated("CodePush/.codepushrelease", b"x")])), message);
}

#[test]
fn an_empty_file_is_refused() {
    assert_eq!(refusal(b""), "the file is empty");
}
