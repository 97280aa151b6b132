//! The `weft` command.
mod config;
fn main() {}
