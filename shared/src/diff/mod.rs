//! Diffs: archives that turn one package into another on a device, with the files that are new or changed.
//!
//! [`plan()`] decides what a diff does, or that none is possible; [`write()`] writes it from the target's archive; [`check()`] reads the result as
//! strictly as an upload is read; [`unsafe_name`] names the file that prevents one; [`Buried`] finds those in the place of another
//! package's folder. Not here: which packages get diffs, and where those are stored. Start reading at [`plan()`].
//!
//! A diff is a ZIP archive. Its first entry is `hotcodepush.json`, `{"deletedFiles":["CodePush/assets/gone.png"]}`; the others are files of the target
//! (wire facts, part 5.3). A device copies the folder of its package and applies the diff to the copy. React Native deletes the listed files first and
//! then copies the diff's files over the rest; Cordova and Capacitor copy first and delete afterwards. So a diff must give the same folder in both
//! orders. All of them ignore a listed file that does not exist. All of them verify the hash of the whole folder afterwards, also where they would
//! not verify that of a full package: a diff with a wrong result is an update that a device never gets.

mod buried;
mod check;
mod layout;
mod marker;
mod plan;
mod safety;
mod write;

pub use buried::Buried;
pub use check::check;
pub use layout::{Layout, LayoutRead, Package};
pub use plan::{NoDiff, Plan, plan, unsafe_name, unsafe_target_name};
pub use safety::{NameFault, UnsafeName};
pub use write::{WriteFault, write};
