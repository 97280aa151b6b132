//! `weft sessions`, the real program on real folders.

mod list;
mod moving;
mod show;
mod support;
mod verify;
