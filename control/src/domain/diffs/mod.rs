//! Diffs: small updates for devices that have an earlier package. They are made after a release is committed, and offered once they are there; until then, and
//! if anything is wrong with one, devices get the whole bundle.
//!
//! - `choice`: from which packages a release needs a diff (pure).
//! - `packages`: reads packages from storage, which is not trusted.
//! - `history`: what of the app's newest packages prevents diffs.
//! - `making`: makes one diff, and applies it as a device would before anybody is offered it.
//! - `throttle`: rests between diffs, for the sake of requests.
//! - `trial`: work that may fail again and again, or end the process.
//! - `surplus`: what is forgotten, so that rows are bounded (pure).
//! - `lost`: diffs whose stored object is missing or altered.
//! - `given`: diffs of an app that moves to another account.
//! - `turn`: the work for one app, a few seconds at a time; [`crate::jobs::diffs`] repeats it. It shares diffs between releases of equal bundles.
//! - `listing`: what became of a release's diffs, for people.
//!
//! A diff is for a pair of bundles, byte for byte, and the package hash says which devices are offered it. Start reading at [`turn::take`].

pub mod choice;
pub mod given;
mod history;
pub mod listing;
pub mod lost;
mod making;
mod packages;
mod problem;
pub mod repo;
mod surplus;
pub mod throttle;
pub mod trial;
pub mod turn;

pub use problem::{Problem, Reason, UnsafeFile};
