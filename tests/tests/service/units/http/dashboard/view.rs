//! Texts shared by pages.

use control::testing::dashboard::{sentence, wait};

#[test]
fn waits_are_formatted_with_units_and_errors_as_sentences() {
    let waits = [(0, "1 second"), (90, "90 seconds"), (91, "2 minutes"), (3_600, "60 minutes"), (5_401, "2 hours")];
    for (seconds, words) in waits {
        assert_eq!(wait(seconds), words);
    }
    assert_eq!(sentence("is ünfit"), "Is ünfit.");
    assert_eq!(sentence("What?"), "What?");
}
