//! The maximum number of connections that the operating system allows.

use control::testing::server::fitting;

#[test]
fn connections_leave_file_descriptors_for_other_uses() {
    for (most, available, expected) in [(8_192, 20_000, 8_192), (8_192, 1_024, 768), (8_192, 300, 150), (100, 1_024, 100), (8, 1, 1)] {
        assert_eq!(fitting(most, available), expected, "{most} in {available}");
    }
}
