//! Size limits of archives, and read errors.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

use shared::archive::{ArchiveFault, ArchiveLimits, inspect};
use shared::hash::Sha256Hex;

use crate::writer::{Archive, deflated, stored, streamed, zip};
use crate::{inspect_bytes, inspect_within, refusal, usual};

#[track_caller]
fn refusal_within(bytes: &[u8], limits: &ArchiveLimits) -> String {
    match inspect_within(bytes, limits) {
        Err(ArchiveFault::Refused(message)) => message,
        other => panic!("was not refused: {other:?}"),
    }
}

#[test]
fn the_defaults_match_the_service() {
    assert_eq!(usual(), ArchiveLimits { entries: 20_000, uncompressed_bytes: 1_073_741_824, ratio: 200 });
}

#[test]
fn too_many_entries_are_refused() {
    let of = |count: usize| Archive { entries: (0..count).map(|index| stored(&format!("a/{index}"), b"")).collect(), ..Archive::default() };
    assert!(inspect_bytes(&of(20_000).bytes()).is_ok());
    assert_eq!(refusal(&of(20_001).bytes()), "the archive has 20001 entries, more than the limit of 20000");
}

#[test]
fn names_that_take_too_much_memory_are_refused() {
    let name = |index: usize| format!("{index:0>200}/{}", vec!["a".repeat(200); 3].join("/"));
    let entries = (0..11_000).map(|index| stored(&name(index), b"")).collect();
    let message = refusal(&Archive { entries, ..Archive::default() }.bytes());
    assert_eq!(message, "the names in the archive exceed 8388608 bytes in total");
}

#[test]
fn too_many_bytes_are_refused() {
    let bytes = zip([stored("a", &[1; 600]), stored("b", &[2; 401])]);
    let limits = ArchiveLimits { uncompressed_bytes: 1_000, ..usual() };
    assert_eq!(refusal_within(&bytes, &limits), "entry \"b\": it takes the archive over 1000 bytes uncompressed");
    assert!(inspect_within(&bytes, &ArchiveLimits { uncompressed_bytes: 1_001, ..usual() }).is_ok());
}

#[test]
fn a_compression_bomb_is_refused() {
    let bytes = zip([deflated("CodePush/main.jsbundle", b"A"), streamed("bomb", &vec![0; 4 << 20])]);
    assert_eq!(refusal(&bytes), "entry \"bomb\": it takes the archive over a compression ratio of 200:1");
}

#[test]
fn a_compression_bomb_with_a_false_size_is_refused() {
    let bomb = |declared| zip([deflated("bomb", &vec![0; 64 << 20]).with(|header| header.uncompressed = declared)]);
    assert_eq!(refusal(&bomb(60_000)), "entry \"bomb\": it is longer than it declares");
    let filled_up =
        "entry \"bomb\": its compressed data is much larger than its content; create the archive again, for example with zip -r";
    assert_eq!(refusal(&bomb(1_000)), filled_up);
}

#[test]
fn declared_sizes_are_not_trusted() {
    let limits = ArchiveLimits { uncompressed_bytes: u64::MAX, ratio: u64::MAX, ..usual() };
    let bytes = zip([deflated("a", b"x").with(|header| header.uncompressed = u32::MAX - 1)]);
    assert_eq!(refusal_within(&bytes, &limits), "entry \"a\": it is shorter than it declares");
}

/// Returns a few bytes at a time, and one error.
struct Failing {
    bytes: Cursor<Vec<u8>>,
    reads: usize,
    fails_at: usize,
    with: io::ErrorKind,
}

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads == self.fails_at {
            return Err(self.with.into());
        }
        let at_most = buffer.len().min(1 + self.reads % 7);
        self.bytes.read(&mut buffer[..at_most])
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// Also returns the number of reads.
fn inspect_failing(bytes: &[u8], fails_at: usize, with: io::ErrorKind) -> (Result<(), ArchiveFault>, usize) {
    let mut file = Failing { bytes: Cursor::new(bytes.to_vec()), reads: 0, fails_at, with };
    let result = inspect(&mut file, bytes.len() as u64, Sha256Hex::of(bytes), &usual()).map(drop);
    (result, file.reads)
}

#[test]
fn a_disk_error_is_not_a_refusal() {
    let bytes = zip([streamed("a", b"some text"), stored("b", b"more")]);
    let (result, reads) = inspect_failing(&bytes, usize::MAX, io::ErrorKind::Other);
    result.unwrap();
    for fails_at in 1..=reads {
        let (result, _) = inspect_failing(&bytes, fails_at, io::ErrorKind::Other);
        assert!(matches!(result, Err(ArchiveFault::Read(_))), "{fails_at}: {result:?}");
        inspect_failing(&bytes, fails_at, io::ErrorKind::Interrupted).0.unwrap();
    }
}

#[test]
fn a_file_that_became_shorter_is_not_a_refusal() {
    let bytes = zip([streamed("a", b"some text")]);
    let fault = inspect(&mut Cursor::new(&bytes), bytes.len() as u64 + 1, Sha256Hex::of(&bytes), &usual());
    assert!(matches!(fault, Err(ArchiveFault::Read(_))), "{fault:?}");
}
