//! What a log accepts, refuses and gives back.

mod closing;
mod delete;
mod disk;
mod enclosure;
mod generate;
mod index;
mod list;
mod migrate;
mod properties;
mod store;
mod transfer;
mod verify;
