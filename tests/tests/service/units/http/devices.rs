//! What devices are refused with.

use shared::wire::problem::{UNKNOWN_DEPLOYMENT, WRONG_METHOD};
use tests::AppError;

#[test]
fn errors_have_the_texts_of_the_edge() {
    assert_eq!(AppError::NotFound("deployment").to_string(), UNKNOWN_DEPLOYMENT);
    assert_eq!(AppError::WrongMethod.to_string(), WRONG_METHOD);
}
