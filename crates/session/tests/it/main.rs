//! What a log accepts, refuses and gives back.

mod closing;
mod delete;
mod disk;
mod enclosure;
mod follow;
mod generate;
mod index;
mod list;
mod migrate;
mod properties;
mod records;
#[cfg(unix)]
mod special;
mod store;
mod syncing;
mod transfer;
mod verify;
