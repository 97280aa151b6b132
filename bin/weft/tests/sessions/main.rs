//! `weft sessions`, the real program on real folders.

mod list;
mod moving;
mod running;
mod show;
mod support;
mod verify;
