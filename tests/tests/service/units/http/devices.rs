//! What devices are refused with.

use shared::wire::problem::{UNKNOWN_DEPLOYMENT, WRONG_TYPE};
use tests::{AppError, Thing};

#[test]
fn errors_have_the_texts_of_the_edge() {
    assert_eq!(AppError::NotFound(Thing::Deployment).to_string(), UNKNOWN_DEPLOYMENT);
    assert_eq!(AppError::WrongType("application/json").to_string(), WRONG_TYPE);
}
