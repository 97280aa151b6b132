//! What the file tools share: where a path leads, how a file is opened, what its bytes are.
//!
//! A path is resolved once, with all its links ([`Place`]). From then on it is walked folder by folder
//! without following any link, so that one that appears meanwhile is an error and not a way out.

mod buffers;
mod caution;
mod config;
mod fence;
mod folders;
mod job;
mod known;
mod looking;
mod missing;
mod open;
mod picture;
mod place;
mod replace;
#[cfg(test)]
pub(crate) mod stage;
mod text;

pub(crate) use buffers::Buffers;
pub use config::FilesConfig;
use fence::fenced;
pub(crate) use folders::Folders;
pub(crate) use job::{arguments, blocking, check_cancel, outcome};
pub(crate) use known::{Knowledge, Known};
pub(crate) use looking::{access_to_change, access_to_read, as_it_is, with_notes};
pub(crate) use missing::describe_missing;
pub(crate) use open::{Found, Opened, find, head_of, names_in, open_regular};
pub(crate) use picture::Format;
pub use picture::{NoPicture, picture_type};
pub(crate) use place::Place;
pub(crate) use replace::replace;
pub(crate) use text::{Encoding, TextFile, Unreadable};
