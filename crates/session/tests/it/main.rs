//! What a log accepts, refuses and gives back.

mod closing;
mod enclosure;
mod generate;
mod properties;
mod store;
