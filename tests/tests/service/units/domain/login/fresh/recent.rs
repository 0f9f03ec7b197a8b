//! When a login is too old to approve a CLI.

use control::testing::credentials::RecentLogin;
use shared::time::UnixMillis;

#[test]
fn a_login_with_a_second_factor_goes_stale() {
    let (logged_in, window) = (UnixMillis(1_000), 900);
    for (now, is_too_old) in [(1_000, false), (1_900, false), (1_901, true), (i64::MAX, true)] {
        assert_eq!(RecentLogin::is_too_old(logged_in, window, UnixMillis(now)), is_too_old, "{now}");
    }
}
