//! What a log accepts, refuses and gives back.

mod closing;
mod delete;
mod disk;
mod enclosure;
mod generate;
mod index;
mod list;
mod properties;
mod store;
