//! Refusals of device requests.

use shared::wire::problem::{UNKNOWN_DEPLOYMENT, WRONG_TYPE};
use tests::{Error, Thing};

#[test]
fn errors_have_the_same_texts_as_at_the_edge() {
    assert_eq!(Error::NotFound(Thing::Deployment).to_string(), UNKNOWN_DEPLOYMENT);
    assert_eq!(Error::WrongType("application/json").to_string(), WRONG_TYPE);
}
